"""Every nanosecond of a job is in the account once, whatever intervals there are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datamodel.reports.findings import Event, Membership
from datamodel.reports.training_time import TrainingTime
from diagnose.training_time.account import CausedInterval, JobIntervals, training_time
from diagnose.training_time.intervals import job_intervals

S = 10**9
TIMES = st.integers(-50, 1050)
SPANS = st.lists(st.tuples(TIMES, TIMES).map(lambda pair: (min(pair), max(pair))), max_size=6)
RATIOS = st.floats(0.5, 50)


def caused(causes: str) -> st.SearchStrategy[list[CausedInterval]]:
    """Intervals with one of some causes, findings' slowdown among them."""
    made = st.builds(CausedInterval, TIMES, TIMES, st.sampled_from(causes.split()), RATIOS)
    return st.lists(made.filter(lambda one: one.start_ns <= one.end_ns), max_size=6)


DRAWN = st.builds(
    JobIntervals, SPANS, caused("straggler slow_link"), caused("checkpoint pause"), caused("restart elastic"), SPANS,
    SPANS,
)  # fmt: skip


def parts(found: TrainingTime) -> list[int]:
    """The five that share out the time."""
    return [found.productive_ns, found.slowed_ns, found.paused_ns, found.down_ns, found.unknown_ns]


@given(DRAWN, st.integers(0, 500), st.integers(500, 1000), st.integers(500, 900))
def test_sums_to_the_wall_time_however_it_is_cut(known: JobIntervals, start: int, end: int, middle: int) -> None:
    """To the nanosecond, each part and each cause; days next to one another add up but for rounding."""
    found = training_time(known, start, end, 8)
    assert sum(parts(found)) == end - start
    assert min(parts(found)) >= 0
    assert sum(found.slowed_by_ns.values()) == found.slowed_ns
    assert sum(found.paused_by_ns.values()) == found.paused_ns
    assert sum(found.down_by_ns.values()) == found.down_ns
    assert 0 <= found.repeated_ns[0] <= found.repeated_ns[1] <= found.productive_ns
    if end > start:
        assert found.effective_ratio is not None
        assert 0 <= found.effective_ratio[0] <= found.effective_ratio[1] <= 1
    if middle < end:
        days = [training_time(known, start, middle), training_time(known, middle, end)]
        for whole, one, other in zip(parts(found), *map(parts, days), strict=True):
            assert abs(whole - one - other) <= len(known.slowed)


def test_each_moment_goes_to_what_took_it() -> None:
    """A hole in an interruption is unknown, a pause in a slow iteration a pause, time without iterations unknown."""
    found = training_time(
        JobIntervals(
            iterations=[(0, 40 * S), (60 * S, 90 * S)],
            slowed=[CausedInterval(20 * S, 40 * S, "straggler", 2.0), CausedInterval(0, 90 * S, "slow_link", 1.25)],
            paused=[CausedInterval(30 * S, 35 * S, "checkpoint")],
            down=[CausedInterval(40 * S, 60 * S, "restart")],
            unknown=[(50 * S, 55 * S)],
        ),
        0,
        100 * S,
        gpus=36,
    )
    assert found.slowed_by_ns == {"straggler": 7_500_000_000, "slow_link": 10 * S}
    assert (found.paused_by_ns, found.down_by_ns) == ({"checkpoint": 5 * S}, {"restart": 15 * S})
    assert (found.productive_ns, found.unknown_ns) == (47_500_000_000, 15 * S)
    assert found.effective_ratio == (0.475, 0.625)
    assert found.lost_gpu_hours is not None
    assert found.lost_gpu_hours["restart"] == 0.15


def test_a_restart_may_repeat_what_no_checkpoint_seen_holds() -> None:
    """Two of three iterations, the first was saved."""
    change = Membership(kind="restart")
    events = [
        Event(job="j", kind="checkpoint", start_ns=10 * S, end_ns=11 * S, detail=""),
        Event(job="j", kind="restart", start_ns=31 * S, end_ns=50 * S, detail="", change=change),
    ]
    steps = np.array([(0, 10), (11, 21), (21, 31), (50, 60), (60, 70), (70, 80)], np.int64) * S
    known = job_intervals(steps, events, (), 80 * S)
    assert known.iterations == [(0, 10 * S), (11 * S, 31 * S), (50 * S, 80 * S)]
    assert known.repeated == [(50 * S, 70 * S)]
    found = training_time(known, 0, 80 * S)
    assert (found.down_ns, found.paused_ns, found.productive_ns) == (19 * S, 1 * S, 60 * S)
    assert found.effective_ratio == (round(40 / 80, 6), round(60 / 80, 6))
    # what was done again counts where it was, so that days add up
    assert [training_time(known, *cut).repeated_ns for cut in ((0, 55 * S), (55 * S, 80 * S))] == [
        (0, 5 * S),
        (0, 15 * S),
    ]
    empty = np.zeros((0, 2), np.int64)
    assert job_intervals(empty, events, (), 80 * S).iterations == []
