"""Records of wrong clocks are moved to their receipt; those of right ones stay as they are."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS
from flowprism.collector.exporter_clocks import ExporterClocks
from storage.lake.lake_writer import reached_ns

S, HOUR = 1_000_000_000, 3600 * 1_000_000_000
NOW = 1_780_000_000 * S
BOOK = ("10.0.0.1", "10.1.0.1", "10.1.0.2")

Row = tuple[int, int, int]


def records(*rows: Row) -> Frame:
    """Rows (domain, received, end), each of a second."""
    domain, received, end = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    ends = {"src_addr": np.full(len(rows), 1), "dst_addr": np.full(len(rows), 2)}
    times = {"time_received_ns": received, "time_flow_start_ns": end - S, "time_flow_end_ns": end}
    agents = {"sampler_address": np.zeros(len(rows), np.int64), "observation_domain_id": domain}
    return Frame(FLOWS, {**times, **ends, **agents, "bytes": np.ones(len(rows), np.int64)})


def feed(domain: int, off_ns: int, begin_ns: int = NOW, lags_s: tuple[int, ...] = (1, 2, 5)) -> list[Row]:
    """Records of one exporter whose clock is off, one a second."""
    return [(domain, begin_ns + n * S, begin_ns + n * S - lag * S + off_ns) for n, lag in enumerate(lags_s)]


def test_right_clocks_are_left_alone() -> None:
    """The very same frame, also for clocks half a minute ahead or records that come ten minutes later."""
    frame = records(*feed(1, 0), *feed(2, 30 * S), *feed(3, -600 * S))
    clocks = ExporterClocks()
    assert clocks.correct(frame, BOOK) is frame
    assert (clocks.moved, clocks.warnings()) == (0, [])


def test_a_wrong_clock_is_moved_as_a_whole() -> None:
    """By the least lag, so that what lies between its records stays; others are untouched."""
    for off_ns in (7 * HOUR, -5 * HOUR, -50 * 365 * 24 * HOUR, 70 * 365 * 24 * HOUR):
        frame, clocks = records(*feed(1, 0), *feed(2, off_ns)), ExporterClocks()
        found = clocks.correct(frame, BOOK)
        lag_s = (found["time_received_ns"] - found["time_flow_end_ns"]) // S
        assert lag_s.tolist() == [1, 2, 5, 0, 1, 4]
        assert (found["time_flow_end_ns"] - found["time_flow_start_ns"] == S).all()
        assert clocks.moved == 3
        assert clocks.warnings()[0].startswith("10.0.0.1 domain 2: 3 records of a clock that is ")


def test_the_same_clock_is_moved_by_the_same_time() -> None:
    """In the next commit too, although its least lag is another then; until the clock is set right."""
    clocks = ExporterClocks()
    clocks.correct(records(*feed(2, 7 * HOUR)), BOOK)
    later = clocks.correct(records(*feed(2, 7 * HOUR, NOW + 60 * S, (9, 4))), BOOK)
    assert ((later["time_received_ns"] - later["time_flow_end_ns"]) // S).tolist() == [8, 3]
    right = records(*feed(2, 0, NOW + 120 * S))
    assert clocks.correct(right, BOOK) is right


def test_a_forged_record_moves_no_other() -> None:
    """One that lies far off beside good ones is dated by its receipt; the good ones stay."""
    found = ExporterClocks().correct(records(*feed(1, 0), (1, NOW, NOW + 400 * HOUR), (1, NOW, NOW - 400 * HOUR)), BOOK)
    assert ((found["time_received_ns"] - found["time_flow_end_ns"]) // S).tolist() == [1, 2, 5, 0, 0]
    assert (found["time_uncertainty_ns"] // S).tolist() == [0, 0, 0, 60, 60]


def test_many_invented_clocks_are_few_warnings() -> None:
    """Sixty thousand exporters with clocks of all years take seconds at most, and twenty-one lines."""
    rows = [(n, NOW, NOW + (n % 90_000 - 45_000) * HOUR) for n in range(60_000)]
    clocks = ExporterClocks()
    found = clocks.correct(records(*rows), BOOK)
    assert np.abs(found["time_received_ns"] - found["time_flow_end_ns"]).max() <= 60 * 60 * S
    assert len(clocks.warnings()) == 21


def test_how_far_records_reach_is_for_the_many_to_say() -> None:
    """One exporter ahead, or one with most records, does not make a window look complete."""
    others = [row for domain in range(2, 6) for row in feed(domain, 0)]
    assert reached_ns(records(*others)) == NOW - S
    assert reached_ns(records(*others, *feed(1, 50 * S))) == NOW - S
    assert reached_ns(records(*others, *feed(1, 50 * S, lags_s=(1,) * 100))) == NOW - S
    assert reached_ns(records(*others, *((n, NOW, NOW + 50 * S) for n in range(10, 20)))) == NOW - S
