"""What a rate shows, by a simulated job and by thinning samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from datamodel.telemetry.flows import Flows
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.feed_plan.detectability_by_rate import shown_in_own_samples, shown_in_simulation, thinned_reading
from flowprism.feed_plan.goal import FeedGoal
from simulate.case import simulate_case, simulate_feeds
from simulate.export.feed_spec import FeedSpec
from simulate.export.wire.pcap import write_pcap
from simulate.scenarios.sweep import Cell, sweep

GOAL = FeedGoal(members=8)


def reading() -> IngestResult:
    """Samples of a small job."""
    cell = Cell(FeedSpec("sflow", 16_384), 400.0, 2.0, 8, iterations=8, samples=8_000)
    return simulate_case(sweep(cell), 1).readings["sflow"]


def rows(found: IngestResult) -> set[tuple[int, ...]]:
    """Its rows as a set."""
    names = ("time_received_ns", "psn_first", "src_addr", "dst_addr", "src_port")
    return set(zip(*(found.flows.frame[name].tolist() for name in names), strict=True))


def test_dense_rates_show_and_few_iterations_do_not() -> None:
    """Hundreds of samples an iteration show 5 %; five iterations have nothing to be compared with."""
    assert shown_in_simulation(GOAL, 400, 16_384, 12).shows(1.05)
    assert not shown_in_simulation(GOAL, 400, 16_384, 5).shows(2.0)


def test_sparse_rates_show_nothing() -> None:
    """Less than one sample in an iteration of a connection shows no job."""
    assert not shown_in_simulation(GOAL, 50, 1 << 24, 12).shows(2.0)


def test_thinning_keeps_one_in_so_many_and_says_so() -> None:
    """A quarter of the samples remains, at four times the rate."""
    whole, quarter = reading(), thinned_reading(reading(), 4)
    assert abs(quarter.records / len(whole.flows) - 0.25) < 0.03
    assert set(quarter.flows.frame["sampling_rate"].tolist()) == {4 * 16_384}


def test_thinning_does_not_depend_on_the_order_of_rows() -> None:
    """Samples are chosen by what they are, and those of 1 in 16 are among those of 1 in 4."""
    whole = reading()
    order = np.random.default_rng(1).permutation(len(whole.flows))
    turned = replace(whole, flows=Flows(whole.flows.frame.take(order), whole.flows.addresses))
    assert rows(thinned_reading(turned, 4)) == rows(thinned_reading(whole, 4))
    assert rows(thinned_reading(whole, 16)) <= rows(thinned_reading(whole, 4))


def test_own_samples_thinned_show_less(tmp_path: Path) -> None:
    """A capture of 1 in 16,384 shows 5 %; of one in 1,024 of its samples no job is left."""
    cell = Cell(FeedSpec("sflow", 16_384), 400.0, 2.0, 8, iterations=12, samples=10_000)
    write_pcap(tmp_path / "own.pcap.gz", simulate_feeds(sweep(cell), 3)[0].datagrams)
    found = shown_in_own_samples([tmp_path / "own.pcap.gz"], None, (1, 1024))
    assert [shown.shows(1.05) for _, shown in found[1]] == [True]
    assert not any(shown.shows(2.0) for _, shown in found[1024])
