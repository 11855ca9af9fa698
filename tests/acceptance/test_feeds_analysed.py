"""What export feeds add to an analysis: nothing wrong where they are too coarse, nothing twice beside a mirror."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowprism.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from tests.acceptance.cases import CASES, PRODUCTION, Analysed, case

FEEDS = ("sflow", "ipfix", "netflow5", "nf9", "ipfix-softflowd")


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("name", sorted(set(CASES) - {PRODUCTION}))
def test_nothing_is_claimed_of_what_a_feed_cannot_show(name: str, feed: str, shared: Path) -> None:
    """Samples of 1 in 32, and records that exporters cut by timeouts: no job, no finding, and the reason for it."""
    report = analyze([shared / "captures" / name / f"{feed}.pcap.gz"], None, AnalysisOptions()).report
    assert (report.jobs, report.findings) == ((), ())
    assert report.unassigned
    assert report.feed.records > 0


@pytest.mark.parametrize("name", ["s2-slow-nic", "s4-two-jobs"])
def test_a_mirror_is_not_spoilt_by_other_feeds(name: str, analysed: Analysed, shared: Path) -> None:
    """Beside five export feeds of the same window a mirror gives the jobs, findings and events it gives alone."""
    found = case(shared, name)
    feeds = [found.records, *(shared / "captures" / name / f"{feed}.pcap.gz" for feed in FEEDS)]
    together = analyze(feeds, load_inventory(found.inventory), AnalysisOptions()).report
    alone = analysed(name, True).report
    assert together.jobs == alone.jobs
    assert [f.model_dump(exclude={"end_ns"}) for f in together.findings] == [
        f.model_dump(exclude={"end_ns"}) for f in alone.findings
    ]
    assert together.feed.second_sightings > 0.9 * (together.feed.records - alone.feed.records)
