"""A meter's records stay a meter's on their way through lakes and files: they merge messages, nothing more."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from capture.reader import read_flows
from capture.records.record_files import write_records
from datamodel.reports.report import Report, ShownKind
from flowprism.evaluation.scores import score_case
from flowprism.evaluation.suite import build_scenario, parse_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import Case, simulate_case
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.sweep import Cell, sweep
from storage.lake.lake_reader import read_lake
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders


@pytest.fixture(scope="module")
def metered() -> Case:
    """Two stages of sixteen, a straggler among them, timeouts of 1 s and 0.5 s."""
    cell = Cell(FeedSpec("ipfix"), 400.0, 2.0, 16, 2, 30)
    return simulate_case(sweep(cell, Fault("straggler", first=14, rank=5, size=1.4)), 1)


@pytest.fixture(scope="module")
def sent(metered: Case) -> Report:
    """What its datagrams show."""
    return analyze_reading(metered.readings["ipfix"], (), metered.inventory, AnalysisOptions()).report


def test_from_a_lake_no_more_is_told_than_from_the_datagrams(metered: Case, sent: Report, tmp_path: Path) -> None:
    """That the job became slower, and no place, for passes are merged; its two stages by the ends of bursts."""
    reading = metered.readings["ipfix"]
    make_folders(tmp_path)
    LakeWriter(tmp_path, Writer("20260101T000000000000Z", 0), 1).commit(
        CommitBatch(1, (reading.flows.frame,), reading.flows.addresses, b"")
    )
    kept = read_lake(tmp_path)
    assert kept.metered
    stored = analyze_reading(kept, (), metered.inventory, AnalysisOptions()).report
    assert stored.jobs == sent.jobs
    assert told(stored) == told(sent) == [("regression", "info")]
    assert [job.layout.pp for job in stored.jobs] == [2]


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_from_a_file_no_more_is_told_than_from_the_datagrams(
    metered: Case, sent: Report, tmp_path: Path, form: str
) -> None:
    """Nor less: that the meter's timeout cuts messages is told of whatever holds its records."""
    reading = metered.readings["ipfix"]
    write_records(reading.flows, tmp_path / f"flows.{form}")
    kept = read_flows(tmp_path / f"flows.{form}")
    stored = analyze_reading(kept, (), metered.inventory, AnalysisOptions()).report
    assert stored.jobs == sent.jobs
    assert [(f.kind, f.cause, f.subject) for f in stored.findings] == [
        (f.kind, f.cause, f.subject) for f in sent.findings
    ]


def test_ends_of_bursts_show_a_layout_whose_passes_lie_inside_records() -> None:
    """A pipeline of 3 s an iteration, timeouts of 5 s and 1 s: sizes, groups and stages, and no word on who is late."""
    case = simulate_case(build_scenario(parse_case("feeds-ipfix-5-1-010")), 10)
    report = analyze_reading(case.readings["ipfix"], (), case.inventory, AnalysisOptions()).report
    (job,) = report.jobs
    found = score_case(report, case.truth).jobs[0]
    assert (found.wrong_sizes, set(found.sizes), set(found.groups), set(found.stages)) == (0, {True}, {1.0}, {1.0})
    assert told(report) == []
    hidden = {item.what for item in job.detectability.shows if not item.shown}
    assert hidden == {"straggler", "hang"} == {kind for kind in get_args(ShownKind) if job.detectability.hides(kind)}
    late = "straggler: not shown, the passes of an iteration lie inside records; "
    assert any(reason.startswith(late) and "would" in reason for reason in job.detectability.reasons)


def test_records_that_go_on_into_the_next_iteration_show_no_sizes() -> None:
    """A pipeline of 10.6 s, timeouts of 15 s and 5 s: its iterations, and no layout; what would show it is said."""
    case = simulate_case(build_scenario(parse_case("feeds-ipfix-15-5-037")), 37)
    report = analyze_reading(case.readings["ipfix"], (), case.inventory, AnalysisOptions()).report
    (job,) = report.jobs
    found = score_case(report, case.truth).jobs[0]
    assert (found.wrong_sizes, any(found.sizes), found.iterations) == (0, False, (1.0,))
    (layout,) = [item for item in job.detectability.shows if item.what == "layout"]
    assert not layout.shown
    assert layout.why.startswith("process groups of whole bursts only")
    assert layout.remedy is not None
    assert layout.sentence() in job.detectability.reasons
    assert f"{layout.why}; {layout.remedy}" in layout.sentence()


def test_what_the_active_timeout_cuts_is_no_further_message() -> None:
    """Four GPUs behind a NIC send a message each, 1.03 s long, in records of 1 s: not eight, of which four at once."""
    case = simulate_case(build_scenario(parse_case("feeds-ipfix-1-1-1018")), 1018)
    report = analyze_reading(case.readings["ipfix"], (), case.inventory, AnalysisOptions()).report
    found = score_case(report, case.truth).jobs[0]
    assert (found.wrong_sizes, set(found.sizes), report.jobs[0].layout.tp) == (0, {True}, 4)


def test_iterations_of_unequal_volumes_are_said_not_to_be_shown() -> None:
    """Passes of 0.8 s through timeouts of 1 s: some ends are misplaced, so no iteration time claims to be exact."""
    case = simulate_case(build_scenario(parse_case("feeds-ipfix-1-1-063")), 63)
    report = analyze_reading(case.readings["ipfix"], (), case.inventory, AnalysisOptions()).report
    (job,) = report.jobs
    assert score_case(report, case.truth).jobs[0].iterations[0] < 0.8
    (iterations,) = [item for item in job.detectability.shows if item.what == "iterations"]
    assert (iterations.shown, job.detectability.timeline_error_ratio) == (False, None)
    assert iterations.why.endswith("some ends are misplaced")
    assert {iteration.duration_error_ns for iteration in job.iterations} == {None}


def told(report: Report) -> list[tuple[str, str]]:
    """What is found of jobs, and how grave."""
    return [(f.kind, f.severity) for f in report.findings if f.kind != "feed"]
