"""A meter's records stay a meter's on their way through lakes and files: they merge messages, nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

from capture.reading import read_flows
from capture.records import write_records
from datamodel.report import Report
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import Case, simulated
from simulate.export.feed import Feed
from simulate.faults import Fault
from simulate.sweep import Cell, sweep
from storage.layout import Writer, make_folders
from storage.reading import read
from storage.store import Batch, Store


@pytest.fixture(scope="module")
def metered() -> Case:
    """Two stages of sixteen, a straggler among them, timeouts of 1 s and 0.5 s."""
    cell = Cell(Feed("ipfix"), 400.0, 2.0, 16, 2, 30)
    return simulated(sweep(cell, Fault("straggler", first=14, rank=5, size=1.4)), 1)


def test_from_a_lake_no_more_is_told_than_from_the_datagrams(metered: Case, tmp_path: Path) -> None:
    """That the job became slower, and no place; no layout, for passes are merged."""
    reading = metered.readings["ipfix"]
    make_folders(tmp_path)
    Store(tmp_path, Writer("20260101T000000000000Z", 0), 1).commit(
        Batch(1, (reading.flows.frame,), reading.flows.addresses, b"")
    )
    kept = read(tmp_path)
    assert kept.metered
    sent, stored = (analyze_reading(each, (), metered.inventory, AnalysisOptions()).report for each in (reading, kept))
    assert stored.jobs == sent.jobs
    assert told(stored) == told(sent) == [("regression", "info")]
    assert [job.layout.pp for job in stored.jobs] == [None]


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_from_a_file_no_more_is_told_than_from_the_datagrams(metered: Case, tmp_path: Path, form: str) -> None:
    """Nor less: that the meter's timeout cuts messages is told of whatever holds its records."""
    reading = metered.readings["ipfix"]
    write_records(reading.flows, tmp_path / f"flows.{form}")
    kept = read_flows(tmp_path / f"flows.{form}")
    sent, stored = (analyze_reading(each, (), metered.inventory, AnalysisOptions()).report for each in (reading, kept))
    assert stored.jobs == sent.jobs
    assert [(f.kind, f.cause, f.subject) for f in stored.findings] == [
        (f.kind, f.cause, f.subject) for f in sent.findings
    ]


def told(report: Report) -> list[tuple[str, str]]:
    """What is found of jobs, and how grave."""
    return [(f.kind, f.severity) for f in report.findings if f.kind != "feed"]
