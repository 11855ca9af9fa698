"""Whether what exporters send arrives: one word for the bar of every page."""

from __future__ import annotations

from dataclasses import dataclass

from capture.sflow.reasons import THINNED_SAMPLES
from datamodel.service.api_models import FeedRow
from flowprism.rendering.units import plural, share
from flowprism.service.queries.feeds.feed_queries import feeds
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

_MUCH = 0.01  # of the datagrams: less is made up for, and says so where it is not


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """How feeds are: a mark, a few words, and a sentence."""

    tone: str
    words: str
    detail: str


def feed_health(stores: Stores, viewer: Viewer, now_ns: int) -> FeedHealth | None:
    """Judge the feeds; None for a viewer who is limited to one tenant, because tenants share feeds.

    Raises:
        StorageError: the database cannot be reached.
    """
    return None if viewer.tenant is not None else judged(feeds(stores, now_ns))


def judged(rows: list[FeedRow]) -> FeedHealth:
    """Silent exporters first, then losses, then what a collector had to leave out."""
    if not rows:
        return FeedHealth("none", "No feed", "No exporter has sent anything yet")
    silent = [row.exporter for row in rows if row.silent]
    if silent:
        some = ", ".join(silent[:3]) + (f" and {len(silent) - 3} more" if len(silent) > 3 else "")
        worst = "critical" if len(silent) == len(rows) else "warning"
        return FeedHealth(
            worst, f"{len(silent)} of {plural(len(rows), 'feed')} silent", f"Nothing received from {some}"
        )
    lost, came = sum(row.lost for row in rows), sum(row.datagrams for row in rows)
    part = lost / (lost + came) if lost else 0.0
    if part >= _MUCH:
        words = f"{plural(lost, 'datagram')} of the newest hour did not arrive"
        return FeedHealth("warning", f"Feeds lose {share(part)}", words)
    thinned, stored = sum(row.rejected.get(THINNED_SAMPLES, 0) for row in rows), sum(row.records for row in rows)
    part = thinned / (thinned + stored) if thinned else 0.0
    if part >= _MUCH:
        left_out = f"A collector that could not keep up left out {share(part)} of the newest hour's records"
        words = f"{left_out}; rates of the others make up for them"
        return FeedHealth("warning", "Feeds thinned", words)
    return FeedHealth("good", "Feeds well", f"{plural(len(rows), 'exporter')} sending")
