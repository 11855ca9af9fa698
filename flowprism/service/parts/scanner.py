"""The scanner: APScheduler's clock wakes it, and it makes what scans are due."""

from __future__ import annotations

import logging
import queue
from importlib.resources import as_file, files
from types import FrameType

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from datamodel.errors import FlowprismError
from flowprism.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from flowprism.service.parts.birth import Birth
from flowprism.service.parts.telling import Word, telling
from flowprism.service.scanning.leases import Leases
from flowprism.service.scanning.scanner import Scanner
from flowprism.service.scanning.tally import Tally
from flowprism.workers import Crew
from storage.database.engine import Database

_LOOKS = 5  # in the time between two windows
_SHORTEST_S, _LONGEST_S = 0.5, 15.0
_REQUESTS_S = 2.0
_LOG = structlog.get_logger(__name__)


class Interrupted(BaseException):
    """The part is to end at once. What a scan has not kept yet is caught up by whoever scans next."""


def run(birth: Birth) -> None:
    """Scan until the part is to end.

    Raises:
        InputError: the database cannot be used.
    """
    settings = birth.settings
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a look that takes long is no news
    database = Database(settings.store.database)
    tally = Tally(waiting="getting ready")
    scanner = Scanner(settings, database, Leases(database, birth.instance, settings.scans.lease_s), tally)
    wakes: queue.SimpleQueue[str] = queue.SimpleQueue()
    clock = BackgroundScheduler(timezone="UTC")
    for policy in settings.scans.policies:
        every_s = min(max(policy.every_s / _LOOKS, _SHORTEST_S), _LONGEST_S)
        clock.add_job(wakes.put, IntervalTrigger(seconds=every_s), args=[policy.name], coalesce=True)
    clock.add_job(wakes.put, IntervalTrigger(seconds=_REQUESTS_S), args=["requests"], coalesce=True)
    try:
        with telling(birth, database, lambda: _word(tally)):
            warm_up()
            clock.start()
            while not birth.stop.is_set():
                _wait(wakes)
                _look(scanner)
    except Interrupted:
        pass
    finally:
        if clock.running:
            clock.shutdown(wait=False)
        database.close()


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """Handler of the signal that ends a scanner, also in the middle of a scan."""
    raise Interrupted


def warm_up() -> None:
    """Analyse the bundled capture once: what is compiled at first use is compiled before the first window is due."""
    bundled = files("flowprism.demo")
    with as_file(bundled / "mirror.pcap.gz") as mirror, as_file(bundled / "inventory.yaml") as fabric:
        analyze([mirror], load_inventory(fabric), AnalysisOptions(crew=Crew()))


def _wait(wakes: queue.SimpleQueue[str]) -> None:
    """Until the clock wakes; wakes that came during a scan are one."""
    wakes.get()
    while not wakes.empty():
        wakes.get()


def _look(scanner: Scanner) -> None:
    """Make what is due; what stands in the way now is tried again at the next look."""
    try:
        scanner.look()
    except (FlowprismError, OSError) as error:
        if scanner.tally.problem != str(error):
            _LOG.warning("scans wait", reason=str(error))
        scanner.tally.problem = str(error)


def _word(tally: Tally) -> Word:
    return Word(healthy=not tally.problem, detail=tally.problem or tally.waiting, figures=tally.figures())
