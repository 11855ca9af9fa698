"""Sentences about where a job's time went."""

from diagnose.training_time.account import CausedInterval, JobIntervals, training_time
from flowprism.rendering import phrases

S = 10**9


def test_training_time_names_what_took_most_first() -> None:
    """The ratio with its bounds where something was not seen, then causes."""
    known = JobIntervals(iterations=[(0, 70 * S)], down=[CausedInterval(70 * S, 90 * S, "live_migration")])
    assert phrases.training_time(training_time(known, 0, 100 * S)) == [
        "70 % to 80 % effective training time of 100 s",
        "live migration 20.0 s",
        "not seen 10.0 s",
    ]
    assert phrases.training_time(training_time(known, 0, 70 * S)) == ["100 % effective training time of 70.0 s"]
    assert phrases.training_time(None) == []
