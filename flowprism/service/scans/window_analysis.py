"""One window of the lake, analysed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from datamodel.cluster.inventory import Inventory
from datamodel.reports.analysis import Analysis
from datamodel.reports.report import Report, Window
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.service.config.settings import Settings
from flowprism.worker_pool import WorkerPool
from storage.database.connection import Database
from storage.database.feed_statistics import inventory
from storage.database.scans.scan_records import former_layouts
from storage.lake.lake_reader import read_lake
from storage.lake.object_store import is_address
from storage.lake.selection import Selection


@dataclass(frozen=True, slots=True)
class FeedGap:
    """The loss of one exporter in a window.

    Attributes:
        reason: the exporter and the share it lost, as text.
        seen: addresses in the records that did arrive; None where none did, and any endpoint may be affected.
    """

    reason: str
    seen: frozenset[str] | None

    def touches(self, endpoints: Sequence[str]) -> bool:
        """Whether traffic of some of these endpoints may be missing."""
        return self.seen is None or not self.seen.isdisjoint(endpoints)


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The analysis of one window.

    Attributes:
        analysis: of the window; None where it failed.
        report: of the analysis; an empty one where it failed.
        problem: why it failed.
        holes: gaps of the feed, the largest first; findings about jobs that they touch are left out.
    """

    analysis: Analysis | None
    report: Report
    problem: str = ""
    holes: tuple[FeedGap, ...] = ()

    def doubts(self, report: Report) -> dict[str, str]:
        """Job -> why what the window shows of it is not trusted, of those of a report with whatever names."""
        found = ((job.id, _first_touching(self.holes, job.endpoints)) for job in report.jobs)
        return {name: hole.reason for name, hole in found if hole is not None}


def _first_touching(holes: Sequence[FeedGap], endpoints: Sequence[str]) -> FeedGap | None:
    return next((hole for hole in holes if hole.touches(endpoints)), None)


def analyze_window(
    settings: Settings, database: Database, window: Window, endpoints: frozenset[str] | None = None
) -> WindowResult:
    """Analyse the records of a window; the report's window is the one asked for, whatever records there were.

    Args:
        settings: of the lake, the inventory and who analyses.
        database: the results.
        window: what is looked at.
        endpoints: addresses whose records are enough; the feed is known to reach the window's end then. None for all.

    Raises:
        FlowprismError: lake, inventory or database cannot be read.
    """
    crew = WorkerPool.asked(settings.scans.workers, settings.scans.scheduler)
    fabric = inventory_of(settings.scans.inventory, database, window.end_ns)
    lake = settings.store.flow_lake
    location = lake if is_address(lake) else Path(lake)
    selection = Selection(start_ns=window.start_ns, end_ns=window.end_ns, endpoints=endpoints)
    # the reading has no name here, so that `analyze_reading` can let go of it
    analysis = analyze_reading(
        _read(location, selection),
        (lake.partition("?")[0],),
        fabric,
        AnalysisOptions(crew=crew, former=former_layouts(database, window)),
    )
    analysis = replace(analysis, report=analysis.report.model_copy(update={"window": window}))
    return WindowResult(analysis, analysis.report)


def _read(location: Path | str, selection: Selection) -> IngestResult:
    """The records of a window; of some endpoints, the feed is known to reach its end."""
    reading = read_lake(location, selection)
    return reading if selection.endpoints is None else replace(reading, heard_ns=selection.end_ns)


def inventory_of(path: Path | None, database: Database, at_ns: int) -> Inventory | None:
    """The inventory's file where one is set, otherwise the one that was uploaded and in force at a time.

    Raises:
        FlowprismError: it cannot be read.
    """
    return inventory(database, at_ns) or inventory(database) if path is None else load_inventory(path)
