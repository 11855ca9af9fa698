"""Which windows of a policy are due: those that the lake holds whole, or whose records no longer come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datamodel.reports.report import Window
from flowprism.service.config.settings import Policy, ScanSettings
from storage.lake.object_names import Writer, parse_name
from storage.lake.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class LakeCoverage:
    """How far a lake's records reach, by their own times, UTC.

    Attributes:
        first_ns: the oldest record's begin.
        until_ns: what ended by then is committed by every writer that is at work.
    """

    first_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True)
class Due:
    """Windows that are to be scanned, in order of time, and how many before them are given up."""

    windows: tuple[Window, ...] = ()
    skipped: int = 0


def progress(lake: Snapshot, now_ns: int, patience_ns: int) -> LakeCoverage | None:
    """How far a lake's flow records reach; None while it has none.

    How far each writer's exporters reach counts, and the least of them: one that lags behind
    is waited for. A writer that has committed nothing for `patience_ns` is not at work. No record is newer than now,
    whatever an exporter's clock says.
    """
    segments = lake.of_kind("flows")
    if not segments:
        return None
    newest: dict[Writer, int] = {}
    for segment in segments:
        if (named := parse_name(segment.file)) is not None:
            newest[named[0]] = max(newest.get(named[0], 0), segment.end_ns)
    newest |= {writer: head.reached_ns for writer, head in lake.heads.items() if head.reached_ns}
    at_work = _at_work(lake, newest, now_ns - patience_ns)
    reached = min(at_work.values()) if at_work else max(newest.values())
    return LakeCoverage(min(segment.start_ns for segment in segments), min(reached, now_ns))


def _at_work(lake: Snapshot, newest: Mapping[Writer, int], since_ns: int) -> dict[Writer, int]:
    """Newest record of the writers that have committed since a time."""
    return {
        writer: end_ns
        for writer, end_ns in newest.items()
        if writer in lake.heads and lake.heads[writer].workers and lake.heads[writer].time_ns >= since_ns
    }


def due(policy: Policy, settings: ScanSettings, last_end_ns: int | None, reached: LakeCoverage, now_ns: int) -> Due:
    """Windows of a policy that can be scanned and were not.

    A window ends at a multiple of `every_s`, so that all replicas mean the same ones. It is due when the lake reaches
    beyond its end by `settle_s`, or the clock does by `patience_s`. A policy that has never been scanned begins with
    the newest window; after a stop the newest `most_missed` are caught up, and those before are counted.

    Args:
        policy: how often, and how long.
        settings: patience.
        last_end_ns: end of the policy's newest window that was scanned; None where there is none.
        reached: how far the lake is.
        now_ns: the clock, UTC.
    """
    every_ns, length_ns = round(policy.every_s * 1e9), round(policy.window_s * 1e9)
    ready_ns = max(reached.until_ns - round(settings.settle_s * 1e9), now_ns - round(settings.patience_s * 1e9))
    newest = ready_ns // every_ns
    if last_end_ns is None:
        first = newest if newest * every_ns > reached.first_ns else newest + 1
    else:
        first = last_end_ns // every_ns + 1
    least = max(first, newest - settings.most_missed)
    windows = (Window(start_ns=n * every_ns - length_ns, end_ns=n * every_ns) for n in range(least, newest + 1))
    return Due(tuple(windows), max(least - first, 0) if least <= newest else 0)
