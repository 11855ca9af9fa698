"""Iteration times and where findings lie in them."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reports.report import Iteration, JobReport
from flowprism.rendering.facts import by_severity, compute_gain, inside, iteration_at, iteration_seconds
from tests.flowprism import sample

S = 1_000_000_000


@pytest.fixture
def job() -> JobReport:
    """Three iterations: the second overlaps the first, the third follows after a pause."""
    edges = [(0, 10), (8, 20), (50, 60)]
    iterations = tuple(Iteration(index=n, start_ns=s * S, end_ns=e * S) for n, (s, e) in enumerate(edges, 5))
    return sample.analysis(iterations=2, slow=False).report.jobs[1].model_copy(update={"iterations": iterations})


def test_neither_overlap_nor_pause_counts_as_iteration_time(job: JobReport) -> None:
    """The overlap belongs to the earlier iteration, the pause to none."""
    assert iteration_seconds(job).tolist() == [10, 10, 10]


@pytest.mark.parametrize(("second", "index"), [(0, 5), (9, 6), (15, 6), (30, 7), (60, None)])
def test_a_time_falls_into_an_iteration(job: JobReport, second: int, index: int | None) -> None:
    """The later one where two overlap, the next one in a pause, none after the last."""
    assert iteration_at(job, second * S) == index


def test_a_finding_covers_iterations_by_their_middle() -> None:
    """The iteration that ends just after a finding begins is not inside it."""
    report = sample.analysis().report
    assert inside(report.jobs[0], report.findings[0]).tolist() == [False] * sample.SLOW_FROM + [True] * 16


def test_gain_follows_from_the_slowdown_ratio() -> None:
    """Now is the median inside the finding; without is now divided by the ratio."""
    report = sample.analysis().report
    bought = compute_gain(report.jobs[0], report.findings[0])
    assert bought is not None
    assert bought.now_s == pytest.approx(1.64, abs=0.01)
    assert bought.without_s == pytest.approx(bought.now_s / report.findings[0].slowdown_ratio)
    assert bought.saved_ratio == pytest.approx(1 - 1 / report.findings[0].slowdown_ratio)


def test_gain_counts_no_iteration_that_has_recovered() -> None:
    """An incident whose time holds more healthy iterations than slow ones: "now" is slow, "without" is as before."""
    job = sample.analysis().report.jobs[0]
    lengths_s = [1.0] * 6 + [1.5] * 4 + [1.0] * 10
    ends = np.cumsum(lengths_s)
    iterations = tuple(
        Iteration(index=n, start_ns=round((end - took) * 1e9), end_ns=round(end * 1e9))
        for n, (end, took) in enumerate(zip(ends.tolist(), lengths_s, strict=True))
    )
    slow = sample.analysis().report.findings[0]
    finding = slow.model_copy(update={"start_ns": 6 * 10**9, "end_ns": None, "slowdown_ratio": 1.5})
    bought = compute_gain(job.model_copy(update={"iterations": iterations}), finding)
    assert bought is not None
    assert bought.now_s == pytest.approx(1.5)
    assert bought.without_s == pytest.approx(1.0)


def test_there_is_no_gain_to_state_without_a_slowdown() -> None:
    """A finding about the feed, a hang, an unknown ratio."""
    report = sample.analysis().report
    slow, feed = report.findings
    assert compute_gain(None, feed) is None
    assert compute_gain(report.jobs[0], slow.model_copy(update={"kind": "hang"})) is None
    assert compute_gain(report.jobs[0], slow.model_copy(update={"slowdown_ratio": float("inf")})) is None


def test_the_worst_finding_comes_first() -> None:
    """By severity, then by what it costs."""
    report = sample.analysis().report
    slow, feed = report.findings
    milder = slow.model_copy(update={"id": "m", "slowdown_ratio": 1.3})
    warning = slow.model_copy(update={"id": "w", "severity": "warning", "slowdown_ratio": 9.0})
    mixed = report.model_copy(update={"findings": (feed, warning, milder, slow)})
    assert [f.id for f in by_severity(mixed)] == [slow.id, "m", "w", feed.id]
