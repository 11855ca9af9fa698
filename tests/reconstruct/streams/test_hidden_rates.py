"""Exporters that scale sampled counts themselves and do not say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows, mark_metered
from flowprism.pipeline import AnalysisOptions, analyze_reading
from reconstruct.streams.hidden_rates import with_hidden_rates
from simulate.case import Case, simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.scenarios.sweep import Cell, sweep

RATE = 2048


@pytest.fixture(scope="module")
def sampled() -> Case:
    """A ring of eight, metered from 1 packet in 2,048, which its exporters announce."""
    return simulate_case(sweep(Cell(FeedSpec("ipfix", RATE), 200.0, 2.0, 8, 1, 20, samples=40_000)), 1)


def hidden(flows: Flows) -> Flows:
    """The same as exporters that scale by themselves would send it."""
    scaled = {name: flows.frame[name] * RATE for name in ("packets", "bytes")}
    return Flows(
        mark_metered(flows.frame.replace(**scaled, sampling_rate=np.ones(len(flows), np.int64))), flows.addresses
    )


def test_a_hidden_rate_is_read_from_the_counts(sampled: Case) -> None:
    """Each record has the counts and the rate that an exporter which announces it sends, and is counted."""
    announced = sampled.readings["ipfix"].flows
    found, rates = with_hidden_rates(hidden(announced))
    for name in ("packets", "bytes", "sampling_rate", "metered"):
        assert np.array_equal(found.frame[name], announced.frame[name])
    assert {rate.rate for rate in rates} == {RATE}
    assert sum(rate.records for rate in rates) == len(announced)


def test_the_report_is_that_of_announced_samples_with_a_warning(sampled: Case) -> None:
    """Not one of records that count every packet."""
    reading = sampled.readings["ipfix"]
    silent = replace(reading, flows=hidden(reading.flows))
    said, unsaid = (
        analyze_reading(each, (), sampled.inventory, AnalysisOptions()).report for each in (reading, silent)
    )
    assert (unsaid.jobs, unsaid.unassigned, unsaid.events) == (said.jobs, said.unassigned, said.events)
    new = [warning for warning in unsaid.feed.warnings if warning not in said.feed.warnings]
    assert new
    assert all("are multiples of 2,048" in warning for warning in new)


def test_records_that_count_every_packet_stay(sampled: Case) -> None:
    """Messages as a job sends them, and such whose sizes share a divisor: they are of a few sizes."""
    exact = sampled.readings["flows"].flows
    assert with_hidden_rates(exact) == (exact, ())
    rows = 400
    packets = np.tile([2048, 3072, 4096, 2048], rows // 4)
    columns = {name: np.zeros(rows, np.int64) for name in ("time_flow_start_ns", "time_flow_end_ns", "src_addr")}
    alike = Flows(
        mark_metered(Frame(FLOWS, {**columns, "dst_addr": np.ones(rows), "packets": packets, "bytes": packets * 4140})),
        ("10.0.0.1", "10.0.0.2"),
    )
    assert with_hidden_rates(alike)[1] == ()
