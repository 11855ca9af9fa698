from __future__ import annotations

import pytest

from capture.sflow.reasons import THINNED_SAMPLES
from datamodel.service.api_models import FeedRow
from flowprism.dashboard.feeds.feed_health import judged


def _row(name: str, *, silent: bool = False, lost: int = 0, thinned: int = 0) -> FeedRow:
    return FeedRow(
        exporter=name, newest_ns=1, datagrams=100, records=900, lost=lost, late=0, duplicates=0, silent=silent,
        step_ns=1, trend=(900,), rejected={THINNED_SAMPLES: thinned} if thinned else {},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "tone", "words"),
    [
        ([], "none", "No feed"),
        ([_row("a"), _row("b", lost=1)], "good", "Feeds well"),
        ([_row("a"), _row("b", lost=50)], "warning", "Feeds lose 20 %"),
        ([_row("a"), _row("b", lost=50, thinned=900)], "warning", "Feeds lose 20 %"),
        ([_row("a"), _row("b", thinned=900)], "warning", "Feeds thinned"),
        ([_row("a"), _row("b", thinned=9)], "good", "Feeds well"),
        ([_row("a", silent=True), _row("b", lost=50)], "warning", "1 of 2 feeds silent"),
        ([_row("a", silent=True)], "critical", "1 of 1 feed silent"),
    ],
)
def test_silence_is_told_before_loss(rows: list[FeedRow], tone: str, words: str) -> None:
    """A lost datagram in two hundred is no news; one in five is, and an exporter that says nothing more so."""
    health = judged(rows)
    assert (health.tone, health.words) == (tone, words)
