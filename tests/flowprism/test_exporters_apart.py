"""Exporters that are heard later than others, or fall silent: one job all the same, and nobody is blamed for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datamodel.reconstructed.streams import Bool
from datamodel.reports.report import Report
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.pipeline import AnalysisOptions, analyze_reading
from storage.lake.lake_reader import read_lake
from storage.lake.selection import Selection
from tests.flowprism.service.scans.feeding import Feed, fabric, parts

HEALTHY, FAULTY = "hhhhh", "hhhss"
SLOW = ("leaf2", "10.2.3.2")
S = 1_000_000_000


def _recorded(lake: Path, order: str) -> IngestResult:
    Feed(lake, S).write(order)
    return read_lake(lake, Selection())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> IngestResult:
    """The bundled job, healthy, as four leaves export it."""
    return _recorded(tmp_path_factory.mktemp("lake"), HEALTHY)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> IngestResult:
    """The same, a link slow in the second half."""
    return _recorded(tmp_path_factory.mktemp("lake"), FAULTY)


@pytest.mark.parametrize("late", [True, False], ids=["heard later", "silent earlier"])
@pytest.mark.parametrize("share", [0.3, 0.75])
@pytest.mark.parametrize("leaves", [(4,), (1, 2, 3)])
def test_what_an_exporter_does_not_see_is_no_fault(
    recorded: IngestResult, leaves: tuple[int, ...], share: float, late: bool
) -> None:
    """Without some leaves for a part of the time: the same sixteen endpoints, no hang and no late rank."""
    report = _report(_without(recorded, HEALTHY, leaves, share, late))
    assert [f.summary for f in report.findings if f.kind != "feed"] == []


@pytest.mark.parametrize("late", [True, False], ids=["heard later", "silent earlier"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
# The leaf of the slow link and one more; the others differ from that one in the ranks behind them only.
@pytest.mark.parametrize("leaf", [2, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))])
def test_of_a_fault_nobody_else_is_blamed(faulty: IngestResult, leaf: int, share: float, late: bool) -> None:
    """A link is slow while a leaf is not seen, or not seen yet: it is named, or nobody is; the job is known as slow."""
    found = _report(_without(faulty, FAULTY, (leaf,), share, late)).findings
    assert {f.subject.ids for f in found if f.severity != "info"} <= {SLOW}
    seen_before_and_after = share < 0.5
    assert not seen_before_and_after or any(f.subject.ids == SLOW for f in found)


def _report(reading: IngestResult) -> Report:
    report = analyze_reading(reading, ("lake",), fabric(), AnalysisOptions()).report
    (job,) = report.jobs
    assert len(job.endpoints) == 16
    return report


def _without(recorded: IngestResult, order: str, leaves: tuple[int, ...], share: float, late: bool) -> IngestResult:
    """A recording in which some leaves' exporters are missing for a share of the time, first or last."""
    frame = recorded.flows.frame
    length_ns = round(sum(parts()[name][1] for name in order) * S)
    begin_ns = int(frame["time_flow_start_ns"].min())
    of_others: Bool = ~np.isin(frame["observation_domain_id"], leaves)
    if late:
        seen = frame["time_flow_start_ns"] > begin_ns + share * length_ns
    else:
        seen = frame["time_flow_end_ns"] < begin_ns + (1 - share) * length_ns
    return replace(recorded, flows=recorded.flows.take(np.flatnonzero(of_others | seen)))
