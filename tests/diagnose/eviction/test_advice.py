"""Evict now, at the next checkpoint or never, against a job that is run to its end in all three ways."""

from math import inf

import numpy as np
import pytest

from datamodel.reports.findings import Finding, Subject, Suspect
from diagnose.eviction.advice import PastChange, advise, expected_downtime, slow_host

HOSTS = {"10.0.0.1": "h0", "10.0.0.2": "h0", "10.0.1.1": "h1"}


def run(
    iterations: int, usual_s: float, slow_s: float, every: int, done: int, down_s: float, evict: int | None
) -> float:
    """Seconds until the last of some iterations ends, step by step.

    Args:
        iterations: that are left.
        usual_s: one without the slow host.
        slow_s: one with it.
        every: iterations between checkpoints.
        done: since the last one.
        down_s: of a change.
        evict: iterations that are waited for before it; None: it is never done.
    """
    time_s, pace_s, left, since = 0.0, slow_s, iterations, done
    for step in range(10**6):
        if step == evict:
            time_s, pace_s, left = time_s + down_s, usual_s, left + since
            since = 0
        if left == 0:
            return time_s
        time_s, left, since = time_s + pace_s, left - 1, since + 1
        if since == every:
            since = 0
    return inf


def test_the_advice_is_what_lets_the_job_end_first() -> None:
    """In 100 of 100 drawn cases within an iteration of the best of the three."""
    random = np.random.default_rng(2615)
    right, seen = 0, set()
    for _ in range(100):
        usual_s, slowdown = float(random.uniform(1, 60)), float(random.uniform(1.05, 2))
        every, down_s = int(random.integers(5, 400)), float(random.uniform(5, 600))
        done, iterations = int(random.integers(every)), int(random.integers(1, 3000))
        slow_s = usual_s * slowdown
        plans = {"now": 0, "next_checkpoint": every - done, "never": None}
        took = {what: run(iterations, usual_s, slow_s, every, done, down_s, at) for what, at in plans.items()}
        found = advise(slowdown, down_s, done * usual_s, (every - done) * slow_s, iterations * slow_s)
        assert found is not None
        seen.add(found.when)
        right += took[found.when] <= min(took.values()) + 1e-6
    assert right >= 95
    assert seen == {"now", "next_checkpoint", "never"}


def test_it_breaks_even_at_the_length_it_names() -> None:
    """A job that runs a little longer gains, one a little shorter does not."""
    found = advise(1.25, 60, 30, None, None)
    assert found is not None
    assert (found.when, found.cost_s, found.break_even_s) == ("now", 90, 450)
    for ends_in_s, when in ((451, "now"), (449, "never")):
        again = advise(1.25, 60, 30, None, ends_in_s)
        assert again is not None
        assert again.when == when
    assert advise(1.0, 60, 0, None, None) is None


def test_downtime_is_the_jobs_own_before_that_of_others_before_published() -> None:
    """Others count of the same kind and about the same size."""
    own = [PastChange("restart", 100, 64), PastChange("restart", 300, 64), PastChange("live_migration", 5, 64)]
    others = [PastChange("restart", 400, 100), PastChange("restart", 900, 1000), PastChange("restart", 1, None)]
    assert expected_downtime(own, others, "restart", 64) == (200, "job")
    assert expected_downtime(own[2:], others, "restart", 64) == (400, "cluster")
    assert expected_downtime((), others[1:], "restart", 64) == (388.0, "published")


def finding(**changed: object) -> Finding:
    """A straggler on one endpoint."""
    one = Finding(
        id="f", job="j", kind="straggler", severity="warning", start_ns=0, end_ns=None, confidence=1,
        slowdown_ratio=1.2, subject=Subject(type="endpoint", ids=("10.0.0.1",)), summary="", action="",
    )  # fmt: skip
    return one.model_copy(update=changed)


@pytest.mark.parametrize(
    ("found", "host"),
    [
        (finding(), "h0"),
        (finding(subject=Subject(type="link", ids=("leaf1", "10.0.1.1")), kind="slow_link"), "h1"),
        (finding(suspects=(Suspect(type="endpoint", ids=("10.0.0.2",), probability=0.5),)), "h0"),
        (finding(suspects=(Suspect(type="endpoint", ids=("10.0.1.1",), probability=0.5),)), None),
        (finding(subject=Subject(type="host", ids=("h1",))), "h1"),
        (finding(subject=Subject(type="job", ids=("j",))), None),
        (finding(subject=Subject(type="endpoint", ids=("10.9.9.9",))), None),
        (finding(severity="info"), None),
        (finding(kind="imbalance"), None),
        (finding(kind="contention"), None),
        (finding(kind="slow_uplink"), None),
    ],
)
def test_only_a_fault_of_one_host_names_one(found: Finding, host: str | None) -> None:
    """Never an info finding, uneven work, contention, or suspects on several hosts."""
    assert slow_host(found, HOSTS) == host
