"""What export feeds add to an analysis: what samples show, what timeouts hide, nothing twice."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from capture.ingest_log import IngestLog
from capture.piecewise_reader import iter_flows
from capture.records.record_writer import write_pieces
from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from flowprism.evaluation.scores import compute_scores
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from tests.acceptance.cases import CAPTURES, Analysed, case

FEEDS = ("sflow", "ipfix", "netflow5", "nf9", "ipfix-softflowd")


FAULTY = ("s2-slow-nic", "s3-straggler")


@cache
def reported(inventory: Path, capture: Path) -> Report:
    """The report of one export feed, which several tests look at."""
    return analyze([capture], load_inventory(inventory), AnalysisOptions()).report


def marked(shared: Path, name: str, feed: str) -> tuple[dict[str, float], Report]:
    """The marks of one export feed of a recorded case, and its report."""
    found = case(shared, name)
    report = reported(found.inventory, found.records.parent / f"{feed}.pcap.gz")
    return compute_scores(report, Truth.model_validate_json(found.truth.read_bytes())), report


@pytest.mark.parametrize("name", CAPTURES)
def test_sampled_packets_show_jobs_layouts_and_iterations(name: str, shared: Path) -> None:
    """1 packet in 32: who trains together, the layout, iteration times within 2 % in the mean, and what is wrong."""
    found, report = marked(shared, name, "sflow")
    assert {mark: found[mark] for mark in ("jobs", "wrong_sizes", "false")} == {"jobs": 1, "wrong_sizes": 0, "false": 0}
    assert found["iterations"] >= 0.97
    assert found["timeline"] <= (0.04 if name == "s4-two-jobs" else 0.02)
    assert (found["faults"], found["sizes"]) == (1, 1)
    assert len(report.findings) == (1 if name in FAULTY else 0)
    for job in report.jobs:
        assert job.detectability.smallest_slowdown_ratio is not None
        assert job.detectability.timeline_error_ratio is not None


@pytest.mark.parametrize("feed", sorted(set(FEEDS) - {"sflow"}))
@pytest.mark.parametrize("name", CAPTURES)
def test_records_cut_by_timeouts_show_who_trains_together(name: str, feed: str, shared: Path) -> None:
    """Jobs by equal volumes; of layout, iterations and faults nothing is claimed, and the reason is told."""
    found, report = marked(shared, name, feed)
    assert {mark: found[mark] for mark in ("jobs", "wrong_sizes", "false")} == {"jobs": 1, "wrong_sizes": 0, "false": 0}
    for job in report.jobs:
        assert (job.iterations, job.period_s, job.layout.dp) == ((), None, None)
        assert "no iterations, no layout, no findings" in job.detectability.reasons[0]


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("name", ["s1-healthy", "s4-two-jobs"])
def test_decoded_records_tell_what_their_datagrams_do(name: str, feed: str, shared: Path, tmp_path: Path) -> None:
    """Through `decode` to a file and back: the same jobs, and the same findings but for what datagrams counted."""
    found = case(shared, name)
    capture, inventory = found.records.parent / f"{feed}.pcap.gz", load_inventory(found.inventory)
    write_pieces(iter_flows([capture], IngestLog()), tmp_path / "flows.csv")
    sent = reported(found.inventory, capture)
    stored = analyze([tmp_path / "flows.csv"], inventory, AnalysisOptions()).report
    assert (stored.jobs, stored.events, stored.unassigned) == (sent.jobs, sent.events, sent.unassigned)
    assert [(f.kind, f.cause, f.subject) for f in stored.findings] == [
        (f.kind, f.cause, f.subject) for f in sent.findings
    ]


@pytest.mark.parametrize("feed", FEEDS)
def test_without_an_inventory_nothing_wrong_is_claimed(feed: str, shared: Path) -> None:
    """Rails may stay apart; no size is wrong, and no finding is."""
    found = case(shared, "s2-slow-nic")
    report = analyze([found.records.parent / f"{feed}.pcap.gz"], None, AnalysisOptions()).report
    seen = compute_scores(report, Truth.model_validate_json(found.truth.read_bytes()))
    assert (seen["wrong_sizes"], seen["false"]) == (0, 0)


@pytest.mark.parametrize(
    "name",
    [name if name in {*FAULTY, "s4-two-jobs"} else pytest.param(name, marks=pytest.mark.slow) for name in CAPTURES],
)
def test_export_feeds_together_are_no_worse_than_the_best_of_them(name: str, shared: Path) -> None:
    """Records that timeouts cut, some sampled, some of a rate nobody tells, some of other switches: samples tell."""
    found = case(shared, name)
    feeds = [found.records.parent / f"{feed}.pcap.gz" for feed in FEEDS]
    together = analyze(feeds, load_inventory(found.inventory), AnalysisOptions()).report
    truth = Truth.model_validate_json(found.truth.read_bytes())
    assert compute_scores(together, truth) == marked(shared, name, "sflow")[0]


@pytest.mark.parametrize("name", ["s2-slow-nic", "s4-two-jobs"])
def test_meters_together_claim_nothing_wrong(name: str, shared: Path) -> None:
    """One ends before the other: the hole between what the two saw is no pause of the training's."""
    found = case(shared, name)
    feeds = [found.records.parent / f"{feed}.pcap.gz" for feed in ("ipfix", "nf9")]
    report = analyze(feeds, load_inventory(found.inventory), AnalysisOptions()).report
    seen = compute_scores(report, Truth.model_validate_json(found.truth.read_bytes()))
    assert (seen["jobs"], seen["wrong_sizes"], seen["false"]) == (1, 0, 0)


@pytest.mark.parametrize("name", ["s2-slow-nic", "s4-two-jobs"])
def test_a_mirror_is_not_spoilt_by_other_feeds(name: str, analysed: Analysed, shared: Path) -> None:
    """With five export feeds of the same window a mirror gives the jobs and findings it gives alone.

    Only interface numbers, which a mirror has none of, show how unevenly uplinks are used.
    """
    found = case(shared, name)
    feeds = [found.records, *(shared / "captures" / name / f"{feed}.pcap.gz" for feed in FEEDS)]
    together = analyze(feeds, load_inventory(found.inventory), AnalysisOptions()).report
    alone = analysed(name, True).report
    jobs = tuple(job.model_copy(update={"uplink_imbalance": None}) for job in together.jobs)
    assert jobs == alone.jobs
    assert [f.model_dump(exclude={"end_ns"}) for f in together.findings] == [
        f.model_dump(exclude={"end_ns"}) for f in alone.findings
    ]
    assert together.feed.duplicate_observations > 0.9 * (together.feed.records - alone.feed.records)
