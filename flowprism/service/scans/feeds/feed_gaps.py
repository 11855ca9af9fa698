"""Windows whose feed has holes: what they seem to show of the jobs that the holes touch is not trusted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from datamodel.reports.report import Window
from flowprism.service.scans.window_analysis import FeedGap, WindowResult
from storage.database.connection import Database
from storage.database.feed_statistics import losses
from storage.lake.lake_reader import read_kind
from storage.lake.selection import Selection

# Of what one exporter sent in a minute. A collector that was away for longer leaves iterations that lack some of their
# endpoints' traffic, and those look late; single datagrams lost do not.
MOST_LOST_RATIO = 0.1
_NO_CODE = -2  # no code of an address; -1 stands for an unknown one
_LONGEST_NS = 3_600_000_000_000  # of a stretch of statistics


def add_feed_gaps(database: Database, lake: str, sight: WindowResult, window: Window) -> WindowResult:
    """Add the feed gaps of a window: minutes in which an exporter lost too much.

    Findings about a job that a gap touches are left out. Findings about the feed rest on what was received, and stay.

    A loss is noticed with the exporter's next datagram: the gap may start as early as its previous one, and a window
    that ends between the two has the gap at its end.

    Args:
        database: the results, statistics of exporters among them.
        lake: of flow records; shows which endpoints an exporter observes.
        sight: result of the window.
        window: the time range that was analyzed.

    Raises:
        StorageError: the database cannot be reached.
        InputError: the lake cannot be read.
    """
    lost = _lost(database, window)
    if not lost or sight.analysis is None:
        return sight
    seen = _seen(lake, lost, window)
    largest_first = sorted(lost.items(), key=lambda one: (-one[1], one[0]))
    holes = tuple(FeedGap(_reason(exporter, ratio), seen[exporter]) for exporter, ratio in largest_first)
    found = replace(sight, holes=holes)
    doubts = found.doubts(sight.report)
    findings = tuple(f for f in sight.report.findings if f.job not in doubts)
    report = sight.report.model_copy(update={"findings": findings})
    return replace(found, analysis=replace(sight.analysis, report=report), report=report)


def _lost(database: Database, window: Window) -> dict[str, float]:
    """Exporters that lost more than is trusted -> the share, of the worst minute."""
    found: dict[str, float] = {}
    for one, since_ns in losses(database, window.start_ns - _LONGEST_NS):
        if since_ns < window.end_ns and one.start_ns + one.length_ns > window.start_ns:
            ratio = one.lost / (one.lost + one.datagrams)
            if ratio > MOST_LOST_RATIO:
                found[one.exporter] = max(ratio, found.get(one.exporter, 0.0))
    return found


def _reason(exporter: str, ratio: float) -> str:
    return f"{exporter} lost {100 * ratio:.0f} % of a minute: what the window shows is not trusted"


def _seen(lake: str, exporters: Collection[str], window: Window) -> dict[str, frozenset[str] | None]:
    """Addresses in the records that each exporter, `agent/domain`, sent of a window; None without any."""
    sources = {exporter: exporter.rpartition("/")[::2] for exporter in exporters}
    columns = ("src_addr", "dst_addr", "sampler_address", "observation_domain_id")
    agents = frozenset(agent for agent, _ in sources.values())
    frame, book = read_kind(lake, "flows", Selection(window.start_ns, window.end_ns, agents, columns=columns))
    code = {text: n for n, text in enumerate(book)}
    found: dict[str, frozenset[str] | None] = {}
    for exporter, (agent, domain) in sources.items():
        is_own = (frame["sampler_address"] == code.get(agent, _NO_CODE)) & (
            frame["observation_domain_id"] == int(domain)
        )
        own = frame.take(is_own)
        codes = np.union1d(own["src_addr"], own["dst_addr"]).tolist()
        found[exporter] = frozenset(book[n] for n in codes) if codes else None
    return found
