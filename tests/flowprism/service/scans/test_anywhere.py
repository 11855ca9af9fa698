"""Windows that begin and end in the middle of anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from datamodel.findings import Finding
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.worker_pool import WorkerPool
from storage.lake.lake_reader import read_lake
from storage.lake.selection import Selection
from tests.flowprism.service.scans.feeding import Feed, fabric

BEGIN_NS = 1_795_000_000 * 10**9
ORDER = "hhsss" + "h" * 15 + "sss"
# Seconds from the feed's begin at which a window of a minute ends: those at which other pauses than the one between two
# iterations were once taken for it, and every few seconds.
ENDS_S = (27.787, 29.496, 77.714, 80.245, 150.093, *(8 + 3.7 * n for n in range(40)))


def findings(lake: Path) -> Iterator[tuple[float, Finding]]:
    """All findings of all windows, with each one's end."""
    for end_s in ENDS_S:
        end_ns = BEGIN_NS + round(end_s * 1e9)
        reading = read_lake(lake, Selection(start_ns=end_ns - 60 * 10**9, end_ns=end_ns))
        analysis = analyze_reading(reading, ("flows",), fabric(), AnalysisOptions(crew=WorkerPool()))
        yield from ((end_s, finding) for finding in analysis.report.findings)


@pytest.mark.slow
def test_what_a_window_cuts_off_is_nobodys_fault(tmp_path: Path) -> None:
    """Whatever of an iteration is missing at a window's ends, the only critical finding is the link that is slow."""
    feed = Feed(tmp_path / "flows", BEGIN_NS)
    feed.write(ORDER)
    critical = [(end_s, one) for end_s, one in findings(tmp_path / "flows") if one.severity == "critical"]
    elsewhere = [(end_s, one.kind, one.subject.ids) for end_s, one in critical if one.kind != "slow_link"]
    assert elsewhere == []
    assert {one.subject.ids for _, one in critical} == {("leaf2", "10.2.3.2")}
