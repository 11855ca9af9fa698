"""Windows that begin and end in the middle of anything, and lack what was sent for seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datamodel.reports.findings import Finding
from datamodel.telemetry.flows import Flows
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.worker_pool import WorkerPool
from storage.lake.lake_reader import read_lake
from storage.lake.selection import Selection
from tests.flowprism.service.scans.feeding import Feed, fabric

BEGIN_NS = 1_795_000_000 * 10**9
# What is played, and the seconds from its begin at which a window of a minute ends: those at which another pause than
# that between two iterations was once taken for it, and every few seconds.
ENDS_S = {
    "hhsss" + "h" * 15 + "sss": (27.787, 29.496, 77.714, 80.245, 150.093, *(8 + 3.7 * n for n in range(40))),
    "h" * 6 + "sss" + "h" * 5: (76.19, 76.52, 79.16, 80.15, 90.05),
}
# Seconds of which records of some leaves are missing, and ends of windows in which a rank was once taken for late.
FAULT_ENDS = "h" * 6 + "sss" + "h" * 10
Hole = tuple[float, float, Sequence[int]]
HOLES: tuple[tuple[Hole, tuple[float, ...]], ...] = (
    ((63.64, 64.4, (1, 2, 3)), (70.59, 80.59, 90.59, 100.59, 110.59)),
    ((61.45, 62.29, (1, 2, 3)), (91.29, 101.29, 111.29)),
    ((60.38, 65.22, (1, 2, 3)), (75.74, 95.74, 105.74)),
    ((67.54, 72.58, (1, 2, 3, 4)), (84.02, 104.02)),
)


def critical(lake: Path, ends_s: Sequence[float], hole: Hole = (0.0, 0.0, ())) -> Iterator[tuple[float, Finding]]:
    """All critical findings of some windows without what leaves sent in a hole, with each one's end."""
    for end_s in ends_s:
        end_ns = BEGIN_NS + round(end_s * 1e9)
        reading = read_lake(lake, Selection(start_ns=end_ns - 60 * 10**9, end_ns=end_ns))
        reading = replace(reading, flows=without(reading.flows, hole))
        analysis = analyze_reading(reading, ("flows",), fabric(), AnalysisOptions(crew=WorkerPool()))
        yield from ((end_s, finding) for finding in analysis.report.findings if finding.severity == "critical")


def without(flows: Flows, hole: Hole) -> Flows:
    """Records but for those of some leaves that ended from one second to another."""
    from_s, until_s, leaves = hole
    at_s = (flows.frame["time_flow_end_ns"] - BEGIN_NS) / 1e9
    missing = (at_s >= from_s) & (at_s < until_s) & np.isin(flows.frame["observation_domain_id"], leaves)
    return Flows(flows.frame.take(np.flatnonzero(~missing)), flows.addresses)


@pytest.mark.slow
@pytest.mark.parametrize("order", ENDS_S)
def test_what_a_window_cuts_off_is_no_fault(order: str, tmp_path: Path) -> None:
    """Whatever of an iteration is missing at a window's ends, the only critical finding is the link that is slow."""
    Feed(tmp_path / "flows", BEGIN_NS).write(order)
    found = list(critical(tmp_path / "flows", ENDS_S[order]))
    assert [(end_s, one.kind, one.subject.ids) for end_s, one in found if one.kind != "slow_link"] == []
    assert {one.subject.ids for _, one in found} == {("leaf2", "10.2.3.2")}


@pytest.mark.slow
def test_seconds_of_lost_records_are_no_fault(tmp_path: Path) -> None:
    """An iteration looks long, and some ranks late, where a part of it was not received."""
    Feed(tmp_path / "flows", BEGIN_NS).write(FAULT_ENDS)
    found = [(hole, *one) for hole, ends_s in HOLES for one in critical(tmp_path / "flows", ends_s, hole)]
    elsewhere = [(hole, end_s, one.kind, one.subject.ids) for hole, end_s, one in found if one.kind != "slow_link"]
    assert elsewhere == []
    assert {one.subject.ids for *_, one in found} == {("leaf2", "10.2.3.2")}
