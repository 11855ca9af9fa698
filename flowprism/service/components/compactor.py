"""The compactor: packs both lakes, and removes what is kept no longer from lakes and database."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

import structlog

from datamodel.durations import DAY_NS, HOUR_NS
from datamodel.errors import FlowprismError
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.components.heartbeat import Heartbeat, send_heartbeats
from flowprism.service.config.settings import Settings, StoreSettings
from flowprism.service.scans.leases import Leases
from storage.database.access import forget_audit
from storage.database.components import forget_components
from storage.database.connection import Database
from storage.database.feed_statistics import forget_feed_statistics
from storage.database.incidents.incident_records import forget_incidents
from storage.database.scans.scan_records import forget_scans
from storage.database.scans.scan_requests import forget_requests
from storage.lake.compactor import CompactionRound, Compactor
from storage.lake.object_names import is_store
from storage.lake.object_store import is_address, open_store
from storage.lake.retention import DEFAULT_LIMITS, Limit

_GIB = 1 << 30
_LEASE = "compactor"
_LOG = structlog.get_logger(__name__)


@dataclass(slots=True)
class Rounds:
    """What a compactor has done."""

    done: Counter[str] = field(default_factory=Counter)
    problem: str = ""
    forgotten_ns: int = 0


def limits(store: StoreSettings) -> dict[str, Limit]:
    """How long each kind of records is kept: as the settings say, and as usual where they say nothing."""
    said: dict[str, Limit] = {
        kind: Limit(
            None if keep.age_h is None else round(keep.age_h * HOUR_NS),
            None if keep.size_gib is None else round(keep.size_gib * _GIB),
        )
        for kind, keep in store.keep.items()
    }
    return {**DEFAULT_LIMITS, **said}


def run(context: ComponentContext) -> None:
    """Keep until the component is to end.

    Raises:
        InputError: the database cannot be used.
    """
    settings = context.settings
    database, rounds = Database(settings.store.database), Rounds()
    leases = Leases(database, context.instance, settings.scans.lease_s)
    with closing(database), send_heartbeats(context, database, lambda: _word(rounds)):
        while not context.stop.is_set():
            _round(settings, database, leases, rounds)
            context.stop.wait(settings.store.keep_every_s)


def _round(settings: Settings, database: Database, leases: Leases, rounds: Rounds) -> None:
    """Tend what there is, unless another replica does; what cannot be written now is tried again."""
    try:
        with leases.held(_LEASE) as mine:
            if not mine:
                return
            for lake in dict.fromkeys((settings.store.flow_lake, settings.store.analysis_lake)):
                _tend(lake, limits(settings.store), rounds)
            _forget(database, settings.store, rounds)
        rounds.problem = ""
    except (FlowprismError, OSError) as error:
        if rounds.problem != str(error):
            _LOG.warning("keeping waits", reason=str(error))
        rounds.problem = str(error)


def _tend(lake: str, kept: dict[str, Limit], rounds: Rounds) -> None:
    place = open_store(lake)
    if not is_address(lake) and not is_store(place):
        return  # nothing has been written yet
    with closing(Compactor(place, kept)) as compactor:
        done = compactor.run_round()
    _count(rounds, done)
    for warning in done.warnings:
        _LOG.warning("a segment stays as it is", reason=warning)


def _count(rounds: Rounds, done: CompactionRound) -> None:
    rounds.done["rounds_total"] += 1
    rounds.done["packed_rows_total"] += done.packed_rows
    rounds.done["packed_segments_total"] += done.packed_segments
    rounds.done["expired_rows_total"] += sum(done.expired_rows.values())
    rounds.done["removed_files_total"] += done.removed_files


def _forget(database: Database, store: StoreSettings, rounds: Rounds) -> None:
    """Once an hour remove results of long ago."""
    now_ns = time.time_ns()
    if now_ns - rounds.forgotten_ns < HOUR_NS:
        return
    rounds.forgotten_ns = now_ns
    before_ns = now_ns - round(store.keep_results_days * DAY_NS)
    forget: tuple[Callable[[Database, int], int], ...] = (
        forget_scans, forget_incidents, forget_feed_statistics, forget_requests, forget_audit,
    )  # fmt: skip
    rounds.done["forgotten_rows_total"] += sum(one(database, before_ns) for one in forget)
    forget_components(database, now_ns - DAY_NS)


def _word(rounds: Rounds) -> Heartbeat:
    figures = {name: float(value) for name, value in rounds.done.items()}
    return Heartbeat(healthy=not rounds.problem, detail=rounds.problem, figures=figures)
