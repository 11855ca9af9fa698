"""Changes since the last query, and their visibility."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from flowprism.service.queries.jobs.job_states import situation
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database import changes
from storage.database.changes import ScanKey, TouchedIncident
from storage.database.components import components
from storage.database.feed_statistics import newest_stretch

_AGING_S = 5.0
ChangeKind = Literal["incident", "scan", "feed"]


@dataclass(frozen=True, slots=True)
class Change:
    """Something new.

    Attributes:
        kind: of what.
        about: what it is, by name.
        tenants: their tenants; viewers of all tenants get all changes.
    """

    kind: ChangeKind
    about: dict[str, str | int | None]
    tenants: frozenset[str] = frozenset()

    def is_for(self, viewer: Viewer) -> bool:
        """Check whether a viewer may see the change."""
        return viewer.tenant is None or viewer.tenant in self.tenants


@dataclass(slots=True)
class ChangeTracker:
    """What was known when one looked last. The first look finds nothing new: it is what one begins with."""

    stores: Stores
    _scans: frozenset[ScanKey] | None = None
    _noted_ns: int = 0
    _feed: tuple[object, ...] = field(default=())
    _aged: tuple[object, ...] = field(default=())
    _aged_at_s: float = float("-inf")

    def look(self) -> list[Change]:
        """What is new.

        Raises:
            StorageError: the database cannot be reached; the next look finds what this one would have.
        """
        known = frozenset(changes.newest_scan_keys(self.stores.database))
        noted_ns, feed = changes.newest_note_ns(self.stores.database), self._feed_now()
        found: list[Change] = []
        if self._scans is not None:
            found = [*self._by_scans(known - self._scans), *self._by_people(noted_ns)]
            if feed != self._feed:
                found.append(Change("feed", {}))
        self._scans, self._noted_ns, self._feed = known, noted_ns, feed
        return found

    def _by_scans(self, fresh: frozenset[ScanKey]) -> Iterator[Change]:
        if not fresh:
            return
        for scan in changes.new_scans(self.stores.database, fresh):
            about: dict[str, str | int | None] = {
                "policy": scan.policy,
                "window_start_ns": scan.window_start_ns,
                "window_end_ns": scan.window_end_ns,
                "verdict": scan.verdict,
            }
            yield Change("scan", about, scan.tenants)
        ends_ns = {end_ns for _, _, end_ns in fresh}
        yield from map(_touched, changes.touched_by_scans(self.stores.database, ends_ns))

    def _by_people(self, noted_ns: int) -> Iterator[Change]:
        if noted_ns > self._noted_ns:
            yield from map(_touched, changes.touched_by_people(self.stores.database, self._noted_ns))

    def _feed_now(self) -> tuple[object, ...]:
        """What, when it changes, makes feeds look different: a new stretch of time, a part that came, went or ails.

        Time alone changes things too: an exporter falls silent, a scan becomes too old.
        """
        known = [(part.name, part.healthy) for part in components(self.stores.database)]
        if time.monotonic() - self._aged_at_s > _AGING_S:
            at = situation(self.stores, time.time_ns())
            silent = tuple(one.exporter for one in at.exporters if one.silent)
            self._aged, self._aged_at_s = (at.stale_since_ns is None, *silent), time.monotonic()
        return (newest_stretch(self.stores.database), self._aged, *known)


def _touched(one: TouchedIncident) -> Change:
    about: dict[str, str | int | None] = {
        "id": one.id,
        "job": one.job,
        "state": one.state,
        "severity": one.severity,
    }
    return Change("incident", about, frozenset({one.tenant} if one.tenant is not None else ()))
