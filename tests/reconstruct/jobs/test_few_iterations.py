"""Windows that hold few iterations: these are found, or nothing is said of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reports.report import Report
from flowprism.pipeline import AnalysisOptions, analyze_reading
from reconstruct.jobs.loose_streams import JobExtent, find_unexplained_pairs
from reconstruct.jobs.microbatch_count import find_answered, may_be_microbatches
from reconstruct.periods.byte_period import StreamPeriods
from reconstruct.periods.cycles import cut_cycles
from simulate.case import simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams


def analyzed(name: str, iterations: int) -> tuple[Report, float, dict[str, int]]:
    """The report of a job from its first byte to its last, its iteration time in s, and its true sizes."""
    case = simulate_case(scenario(name, ScenarioOptions(iterations=iterations)), 1)
    (job,) = case.truth.jobs
    period_s = float(np.median(np.diff(np.array(job.iterations), axis=1))) / 1e9
    report = analyze_reading(case.readings["flows"], ("flows",), case.inventory, AnalysisOptions(tables=False)).report
    return report, period_s, job.layout


@pytest.mark.parametrize(("name", "iterations"), [
    ("dense", 3), ("dense", 4), ("dense", 5), ("dense-interleaved", 3), ("dense-interleaved", 4), ("dense-zero", 4),
])  # fmt: skip
def test_micro_batches_are_no_iterations(name: str, iterations: int) -> None:
    """One job of right sizes or none, and nothing false, however few the bursts of gradients between them are."""
    report, period_s, sizes = analyzed(name, iterations)
    (job,) = report.jobs
    assert job.period_s == pytest.approx(period_s, rel=0.05)
    assert {s: getattr(job.layout, s) for s in sizes if getattr(job.layout, s) is not None}.items() <= sizes.items()
    assert not report.findings


def life(*edges_s: int) -> JobExtent:
    """Of a job of two ranks whose streams carry 1,000 bytes each."""
    edges_ns = np.array(edges_s, np.int64) * SECOND
    return JobExtent(np.array([0, 1]), edges_ns, 0, int(edges_ns[-1]), 1000, may_be_cut_short=True)


@pytest.mark.parametrize(("size", "second_s", "goes_on"), [(5000, 9, True), (5000, 5, False), (500, 9, False)])
def test_more_than_training_sends_twice_needs_a_reason(size: int, second_s: int, goes_on: bool) -> None:
    """Not parameters that are sent once, in two messages, nor little."""
    own = [(4, 4.5, size), (second_s, second_s + 0.5, size)]
    made = streams([(0, 1, 5, own), (1, 0, 5, own)])
    (pairs,) = find_unexplained_pairs(made, np.arange(2), [life(*range(1, 25))])
    assert pairs.tolist() == ([[0, 1], [1, 0]] if goes_on else [])


@pytest.mark.parametrize(("pairs", "places", "may_be"), [
    ([(0, 1), (1, 0), (1, 2), (2, 1)], 1, True), ([(0, 1), (1, 2), (2, 3), (3, 0)], 1, False),
    ([(0, 1), (1, 0), (1, 2), (2, 1)], 5, False),
], ids=["stages that answer", "a ring of gradients", "several messages a cycle"])  # fmt: skip
def test_a_cycle_of_gradients_is_no_micro_batch(pairs: list[tuple[int, int]], places: int, may_be: bool) -> None:
    """Copies of checkpoints between ranks, every few iterations, do not make one of these."""
    message = [(second, second + 0.5, 1000) for second in range(12)]
    made = streams([(src, dst, 5, message) for src, dst in pairs])
    each = np.full(len(pairs), 1000.0)
    cut = cut_cycles(made, np.arange(len(pairs)), StreamPeriods(each * places, each, np.ones(len(pairs))))
    offsets = np.arange(len(pairs) + 1) * places
    cut = replace(cut, place_offsets=offsets, places=np.zeros(offsets[-1]), pause_ns=np.zeros(offsets[-1]))
    assert may_be_microbatches(find_answered(made), cut) is may_be
