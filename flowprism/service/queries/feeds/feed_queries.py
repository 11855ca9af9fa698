"""What exporters send, what of it is lost, and which components of the service are running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from datamodel.durations import HOUR_NS, MINUTE_NS
from datamodel.reports.report import Window
from datamodel.service.api_models import ComponentStatus, ExporterSampling, FeedRow
from datamodel.service.result_rows import FeedStatistics
from flowprism.service.job_state import ExporterHeard
from flowprism.service.stores import Stores
from storage.database import components as kept
from storage.database.feed_statistics import LastReport, feed_statistics, newest_stretch
from storage.database.feed_statistics import last_reports as stored_reports
from storage.database.scans.scan_records import scans

_MOST_STEPS = 60
_SILENT_NS = 2 * MINUTE_NS
_REMEMBERED_NS = 6 * HOUR_NS
_SCANS = 4  # are searched for one with clocks: policies analyze different jobs


def last_reports(stores: Stores, now_ns: int) -> list[ExporterHeard]:
    """List exporters of the hours before the newest records: last records of each, and whether it is silent now.

    The clock decides, not other exporters: one is silent when it has sent nothing for twice its own mean interval, and
    not for less than two minutes.

    Raises:
        StorageError: the database cannot be reached.
    """
    newest = newest_stretch(stores.database)
    if newest is None:
        return []
    return [
        _last_report(one, now_ns) for one in stored_reports(stores.database, min(newest[0], now_ns) - _REMEMBERED_NS)
    ]


def _last_report(one: LastReport, now_ns: int) -> ExporterHeard:
    interval_ns = (one.last_ns - one.first_ns) / (one.stretches - 1) if one.stretches > 1 else one.length_ns
    end_ns = min(one.last_ns + one.length_ns, now_ns)
    return ExporterHeard(one.exporter, end_ns, silent=now_ns - end_ns > max(_SILENT_NS, 2 * interval_ns))


def feeds(stores: Stores, now_ns: int) -> list[FeedRow]:
    """Exporters by name: sums and trend of the hour, or the longer stretch, that ends with the newest records.

    One that fell silent before it is in the list for some hours more, with nothing in that hour.

    They belong to all tenants: routes show them only to viewers of all tenants.

    Args:
        stores: where answers are read from.
        now_ns: the clock, UTC; later records are ignored.

    Raises:
        StorageError: the database cannot be reached.
    """
    newest = newest_stretch(stores.database)
    if newest is None:
        return []
    newest_ns, step_ns = min(newest[0], now_ns), newest[1]
    begin_ns = newest_ns - max(HOUR_NS // step_ns, 1) * step_ns + step_ns
    by_exporter = _by_exporter(stores, begin_ns, newest_ns + 1, step_ns)
    span = _Steps(newest_ns, step_ns, min((newest_ns - begin_ns) // step_ns + 1, _MOST_STEPS))
    sampling = _sampling(stores)
    reports = last_reports(stores, now_ns)
    return [_row(one, by_exporter.get(one.exporter, []), span, sampling.get(one.exporter)) for one in reports]


def exporters(stores: Stores, now_ns: int, during: Window | None = None) -> list[FeedRow]:
    """Add each exporter's clock, by the newest scan that has any; with `during` all of that time.

    Raises:
        StorageError: the database cannot be reached.
    """
    rows = feeds(stores, now_ns) if during is None else _feeds_during(stores, now_ns, during)
    before_ns = None if during is None else during.end_ns + 1
    clocks_of_scans = (one.scan.feed.clocks for one in scans(stores.database, before_ns=before_ns, most=_SCANS))
    clocks = {clock.exporter: clock for clock in next(filter(None, clocks_of_scans), ())}
    return [row.model_copy(update={"clock": clocks.get(row.exporter.rpartition("/")[0])}) for row in rows]


def _feeds_during(stores: Stores, now_ns: int, during: Window) -> list[FeedRow]:
    """Exporters of a time by name: sums of the minutes that touch it; rates as they are now."""
    found = _by_exporter(stores, during.start_ns // MINUTE_NS * MINUTE_NS, during.end_ns, MINUTE_NS)
    newest_ns = max((rows[-1].start_ns for rows in found.values()), default=0)
    begin_ns = min((rows[0].start_ns for rows in found.values()), default=0)
    span = _Steps(newest_ns, MINUTE_NS, min((newest_ns - begin_ns) // MINUTE_NS + 1, _MOST_STEPS))
    sampling, silent = _sampling(stores), {one.exporter: one.silent for one in last_reports(stores, now_ns)}
    received = [
        ExporterHeard(name, min(rows[-1].start_ns + MINUTE_NS, now_ns), silent=silent.get(name, True))
        for name, rows in found.items()
    ]
    return [_row(one, found[one.exporter], span, sampling.get(one.exporter)) for one in received]


def _by_exporter(stores: Stores, start_ns: int, end_ns: int, length_ns: int) -> dict[str, list[FeedStatistics]]:
    """Stretches of one length that begin in [start_ns, end_ns), in order of time, by exporter."""
    some = [one for one in feed_statistics(stores.database, start_ns, end_ns) if one.length_ns == length_ns]
    return {exporter: list(rows) for exporter, rows in groupby(some, key=lambda one: one.exporter)}


def _sampling(stores: Stores) -> dict[str, ExporterSampling]:
    """Sampling rates by exporter, as collectors report them now."""
    return {one.exporter: one for component in kept.components(stores.database) for one in component.sampling}


def components(stores: Stores) -> list[ComponentStatus]:
    """Components of the service by name, each by its own last word."""
    return kept.components(stores.database)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Equal stretches of time: begin of the newest, UTC, the length of each, and how many."""

    newest_ns: int
    length_ns: int
    count: int


def _row(
    one: ExporterHeard, rows: Sequence[FeedStatistics], span: _Steps, sampling: ExporterSampling | None
) -> FeedRow:
    trend = [0] * span.count
    rejected: Counter[str] = Counter()
    for row in rows:
        rejected.update(row.rejected)
        at = span.count - 1 - (span.newest_ns - row.start_ns) // span.length_ns
        if at >= 0:
            trend[at] += row.records
    return FeedRow(
        exporter=one.exporter,
        newest_ns=one.heard_ns,
        datagrams=sum(row.datagrams for row in rows),
        records=sum(row.records for row in rows),
        lost=sum(row.lost for row in rows),
        late=sum(row.late for row in rows),
        duplicates=sum(row.duplicates for row in rows),
        rejected=dict(sorted(rejected.items())),
        silent=one.silent,
        step_ns=span.length_ns,
        trend=tuple(trend),
        sampling=sampling,
    )
