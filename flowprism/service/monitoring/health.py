"""Health of the service: what it depends on, whether its components are alive, and whether scans run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from datamodel.errors import StorageError
from flowprism.service.config.settings import Settings
from flowprism.service.job_state import state_rules
from flowprism.service.stores import Stores
from storage.database.components import components
from storage.database.metric_queries import newest_scans
from storage.lake.object_store import is_address

SILENT_S = 30.0  # components speak every few seconds
GONE_S = 3600.0  # after this time a silent component counts as removed
LEAST_FREE_RATIO = 0.02


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what.
        well: whether it is as it should be.
        detail: what is wrong, in a sentence; "" where nothing is.
        needed: whether nothing can be answered without it.
    """

    name: str
    well: bool
    detail: str = ""
    needed: bool = False


def checks(stores: Stores, settings: Settings, now_ns: int) -> list[Check]:
    """Look at everything; what cannot be looked at, the database being away, is not well."""
    found = [Check("database", well=True, needed=True), *_lake(stores.flows)]
    looks: dict[str, Callable[[], str]] = {
        "components": lambda: _silent_components(stores, now_ns),
        "scans": lambda: _late_scans(stores, settings, now_ns),
    }
    for name, look in looks.items():
        try:
            problem = look()
        except StorageError as error:
            found[0] = Check("database", well=False, detail=str(error), needed=True)
            problem = "the database is away"
        found.append(Check(name, well=not problem, detail=problem))
    return found


def _lake(place: str | None) -> Iterator[Check]:
    """The lake of flow records, where it is a folder of this machine.

    Of a bucket, or a folder that is mounted read-only, its writers report.
    """
    if place is None or is_address(place):
        return
    problem = ""
    try:
        room = os.statvfs(place)
        if not os.access(place, os.W_OK) and not room.f_flag & os.ST_RDONLY:
            problem = f"{place}: cannot be written"
        elif room.f_bavail < LEAST_FREE_RATIO * room.f_blocks:
            problem = f"{place}: {100 * room.f_bavail / room.f_blocks:.1f} % of the disk is free"
    except OSError as error:
        problem = f"{place}: {error.strerror}"
    yield Check("lake", well=not problem, detail=problem)


def _silent_components(stores: Stores, now_ns: int) -> str:
    """Components that fell silent within the last hour, or say themselves that they are not well."""
    problems: list[str] = []
    for component in components(stores.database):
        age_s = (now_ns - component.seen_ns) / 1e9
        if age_s > GONE_S:
            continue
        if age_s > SILENT_S:
            problems.append(f"{component.name}: silent for {age_s:.0f} s")
        elif not component.healthy:
            problems.append(f"{component.name}: {component.detail or 'not well'}")
    return "; ".join(problems)


def _late_scans(stores: Stores, settings: Settings, now_ns: int) -> str:
    """Policies whose newest window is too old, or that a scanner could have scanned long ago and did not."""
    newest = {scan.policy: scan.window_end_ns for scan in newest_scans(stores.database)}
    begun_ns = min(
        (component.started_ns for component in components(stores.database) if component.kind == "scanner"),
        default=now_ns,
    )
    problems: list[str] = []
    for policy, most_ns in state_rules(settings).max_age_ns.items():
        age_ns = now_ns - newest.get(policy, begun_ns)
        if age_ns > most_ns:
            what = "the newest window ended" if policy in newest else "never scanned, the scanner began"
            problems.append(f"{policy}: {what} {age_ns / 1e9:.0f} s ago")
    return "; ".join(problems)
