"""Export feeds too coarse to rebuild iterations from lead to no job, not to a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowprism.pipeline import AnalysisOptions, analyze
from tests.acceptance.cases import CASES, PRODUCTION

FEEDS = ("sflow", "ipfix", "netflow5", "nf9", "ipfix-softflowd")


@pytest.mark.parametrize("feed", FEEDS)
@pytest.mark.parametrize("name", sorted(set(CASES) - {PRODUCTION}))
def test_nothing_is_claimed_of_what_a_feed_cannot_show(name: str, feed: str, shared: Path) -> None:
    """Samples of 1 in 32, and records that exporters cut by timeouts: no job, no finding, and the reason for it."""
    report = analyze([shared / "captures" / name / f"{feed}.pcap.gz"], None, AnalysisOptions()).report
    assert (report.jobs, report.findings) == ((), ())
    assert report.unassigned
    assert report.feed.records > 0
