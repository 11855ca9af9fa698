"""What exporters send, what of it is lost, and which parts of the service are running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from datamodel.answers import ExporterSampling, FeedRow, Part
from datamodel.results import FeedStatistics
from flowprism.service.answers.moments import HOUR_NS
from flowprism.service.shelf import Shelf
from storage.database import parts as kept
from storage.database.feeds import feed_statistics, newest_stretch
from storage.database.scans import scans

_MOST_STEPS = 60
_SCANS = 4  # are looked through for one that tells of clocks: policies look at different jobs


def feeds(shelf: Shelf, now_ns: int) -> list[FeedRow]:
    """Exporters by name: sums and trend of the hour, or the longer stretch, that ends with the newest records.

    They are everybody's: routes tell them to whoever sees all tenants only.

    Args:
        shelf: where answers are read from.
        now_ns: the clock, UTC; what claims to be later is not told.

    Raises:
        StorageError: the database cannot be reached.
    """
    newest = newest_stretch(shelf.database)
    if newest is None:
        return []
    newest_ns, step_ns = min(newest[0], now_ns), newest[1]
    begin_ns = newest_ns - max(HOUR_NS // step_ns, 1) * step_ns + step_ns
    told = [one for one in feed_statistics(shelf.database, begin_ns, newest_ns + 1) if one.length_ns == step_ns]
    steps = min((newest_ns - begin_ns) // step_ns + 1, _MOST_STEPS)
    sampling = {one.exporter: one for part in kept.parts(shelf.database) for one in part.sampling}
    by_exporter = groupby(told, key=lambda one: one.exporter)
    return [_row(exporter, list(rows), newest_ns, steps, sampling.get(exporter)) for exporter, rows in by_exporter]


def exporters(shelf: Shelf, now_ns: int) -> list[FeedRow]:
    """The same with each exporter's clock, by the newest scan that tells of any.

    Raises:
        StorageError: the database cannot be reached.
    """
    told = (one.scan.feed.clocks for one in scans(shelf.database, most=_SCANS))
    clocks = {clock.exporter: clock for clock in next(filter(None, told), ())}
    rows = feeds(shelf, now_ns)
    return [row.model_copy(update={"clock": clocks.get(row.exporter.rpartition("/")[0])}) for row in rows]


def parts(shelf: Shelf) -> list[Part]:
    """Parts of the service by name, each by its own last word."""
    return kept.parts(shelf.database)


def _row(
    exporter: str, rows: Sequence[FeedStatistics], newest_ns: int, steps: int, sampling: ExporterSampling | None
) -> FeedRow:
    step_ns = rows[0].length_ns
    trend = [0] * steps
    rejected: Counter[str] = Counter()
    for row in rows:
        rejected.update(row.rejected)
        at = steps - 1 - (newest_ns - row.start_ns) // step_ns
        if at >= 0:
            trend[at] += row.records
    last = max(row.start_ns for row in rows if row.records or row.datagrams) if any(trend) else rows[-1].start_ns
    return FeedRow(
        exporter=exporter,
        newest_ns=last + step_ns,
        datagrams=sum(row.datagrams for row in rows),
        records=sum(row.records for row in rows),
        lost=sum(row.lost for row in rows),
        late=sum(row.late for row in rows),
        duplicates=sum(row.duplicates for row in rows),
        rejected=dict(sorted(rejected.items())),
        silent=not any(row.records or row.datagrams for row in rows if row.start_ns == newest_ns),
        step_ns=step_ns,
        trend=tuple(trend),
        sampling=sampling,
    )
