"""The scanner: APScheduler's clock wakes it, and it makes what scans are due."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from contextlib import closing, suppress
from importlib.resources import as_file, files

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from datamodel.errors import FlowprismError
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.components.heartbeat import GETTING_READY, Heartbeat, send_heartbeats
from flowprism.service.host_metrics.host_watch import HostWatch
from flowprism.service.scans.hang_watch import HangWatch
from flowprism.service.scans.leases import Leases
from flowprism.service.scans.scanner import Scanner
from flowprism.service.scans.scanner_stats import Tally
from flowprism.worker_pool import WorkerPool
from storage.database.connection import Database

_LOOKS = 5  # in the time between two windows
_SHORTEST_S, _LONGEST_S = 0.5, 15.0
_REQUESTS_S = 2.0
_HOSTS_S = 1.0  # an alert waits for ten, and is to say what hosts export
_LEAVE_S = 3.0  # that a scan has to come to its end by itself
_LOG = structlog.get_logger(__name__)


def run(context: ComponentContext) -> None:
    """Scan until the component is to end.

    Raises:
        InputError: the database cannot be used.
    """
    settings = context.settings
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a look that takes long is no news
    database = Database(settings.store.database)
    tally = Tally(waiting=GETTING_READY)
    scanner = Scanner(settings, database, Leases(database, context.instance, settings.scans.lease_s), tally)
    wakes: queue.SimpleQueue[str] = queue.SimpleQueue()
    clock = BackgroundScheduler(timezone="UTC")
    for policy in settings.scans.policies:
        every_s = min(max(policy.every_s / _LOOKS, _SHORTEST_S), _LONGEST_S)
        clock.add_job(wakes.put, IntervalTrigger(seconds=every_s), args=[policy.name], coalesce=True)
    clock.add_job(wakes.put, IntervalTrigger(seconds=_REQUESTS_S), args=["requests"], coalesce=True)
    watch = HangWatch(settings, database, scanner.leases)
    hosts = HostWatch(settings, database, scanner.leases)
    threading.Thread(target=_leave, args=(context.stop, scanner.leases), daemon=True).start()
    with closing(database), send_heartbeats(context, database, lambda: _word(tally, watch, hosts)):
        warm_up()
        clock.start()
        threading.Thread(target=_keep_watch, args=(watch, context.stop), daemon=True).start()
        threading.Thread(target=_ask_hosts, args=(hosts, context.stop), daemon=True).start()
        while not context.stop.is_set():
            _wait(wakes, context.stop)
            _look(scanner)
        clock.shutdown(wait=False)


def warm_up() -> None:
    """Analyse the bundled records once: what is compiled at first use is compiled before the first window is due."""
    bundled = files("flowprism.demo")
    with as_file(bundled / "bursts.parquet") as records, as_file(bundled / "inventory.yaml") as fabric:
        analyze([records], load_inventory(fabric), AnalysisOptions(crew=WorkerPool()))


def _leave(stop: threading.Event, leases: Leases) -> None:
    """End the process soon after it was asked to, also in the middle of a scan.

    A scan counts wholly or not at all, and the next scanner catches up on it; but analyzing a large window takes a
    minute, and compiled code cannot be interrupted.
    """
    stop.wait()
    time.sleep(_LEAVE_S)
    leases.release_all()
    os._exit(0)


def _wait(wakes: queue.SimpleQueue[str], stop: threading.Event) -> None:
    """Until the clock wakes, or the component is to end; wakes that came during a scan are one."""
    while not stop.is_set():
        with suppress(queue.Empty):
            wakes.get(timeout=_SHORTEST_S)
            break
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


def _keep_watch(watch: HangWatch, stop: threading.Event) -> None:
    """Look for hangs every few seconds, whatever window is being scanned; what fails is tried again."""
    while not stop.wait(watch.settings.scans.watch_every_s):
        try:
            watch.tick()
            watch.problem = ""
        except (FlowprismError, OSError) as error:
            if watch.problem != str(error):
                _LOG.warning("the hang watch waits", reason=str(error))
            watch.problem = str(error)


def _ask_hosts(hosts: HostWatch, stop: threading.Event) -> None:
    """Ask for the hosts of new incidents every second; scans and alerts do not wait for it."""
    while not stop.wait(_HOSTS_S):
        try:
            hosts.tick(time.time_ns())
        except FlowprismError as error:
            hosts.complain(str(error))


def _word(tally: Tally, watch: HangWatch, hosts: HostWatch) -> Heartbeat:
    problem = tally.problem or watch.problem
    figures = tally.figures() | watch.figures() | hosts.figures()
    return Heartbeat(healthy=not problem, detail=problem or tally.waiting or hosts.problem, figures=figures)
