"""One window of the lake, analysed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from datamodel.analysis import Analysis
from datamodel.inventory import Inventory
from datamodel.report import Report, Window
from flowprism.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.service.settings import Settings
from flowprism.workers import Crew
from storage.database.engine import Database
from storage.database.feeds import inventory
from storage.place import is_address
from storage.reading import read
from storage.selecting import Selection


@dataclass(frozen=True, slots=True)
class Sight:
    """What a window shows.

    Attributes:
        analysis: all of it; None where it could not be analysed.
        report: of it; an empty one then.
        problem: why it could not be.
        doubt: why what it shows is not trusted; its findings are left out then.
    """

    analysis: Analysis | None
    report: Report
    problem: str = ""
    doubt: str = ""


def looked(settings: Settings, database: Database, window: Window) -> Sight:
    """Analyse the records of a window; the report's window is the one asked for, whatever records there were.

    Raises:
        FlowprismError: lake, inventory or database cannot be read.
    """
    crew = Crew.asked(settings.scans.workers, settings.scans.scheduler)
    fabric = inventory_of(settings.scans.inventory, database, window.end_ns)
    lake = settings.store.flow_lake
    location = lake if is_address(lake) else Path(lake)
    analysis = analyze_reading(
        read(location, Selection(start_ns=window.start_ns, end_ns=window.end_ns)),
        (lake.partition("?")[0],),
        fabric,
        AnalysisOptions(crew=crew),
    )
    analysis = replace(analysis, report=analysis.report.model_copy(update={"window": window}))
    return Sight(analysis, analysis.report)


def inventory_of(path: Path | None, database: Database, at_ns: int) -> Inventory | None:
    """The inventory's file where one is set, otherwise the one that was uploaded and in force at a time.

    Raises:
        FlowprismError: it cannot be read.
    """
    return inventory(database, at_ns) or inventory(database) if path is None else load_inventory(path)
