"""Leases in the database: of several replicas one does a thing, and another one when that has died."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from datamodel.errors import StorageError
from storage.database.access import release_lease, take_lease
from storage.database.connection import Database

KEEPING = "scans kept"  # the lease of what must not be done by two at once
_RENEWALS = 3  # in the time that a lease lasts
_ASKING_S = 0.2


@dataclass(frozen=True, slots=True)
class Leases:
    """Leases of one replica.

    Attributes:
        database: where they are.
        holder: the replica's name; another process may take it only after this one has ended.
        lasting_s: how long a lease lasts without renewal.
    """

    database: Database
    holder: str
    lasting_s: float
    _held: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def held(self, name: str, wait_s: float = 0.0) -> Iterator[bool]:
        """A lease, renewed while the block runs; whether it is ours.

        Raises:
            StorageError: the database cannot be reached.
        """
        deadline = time.monotonic() + wait_s
        while not (mine := self._claim(name)) and time.monotonic() < deadline:
            time.sleep(_ASKING_S)
        if not mine:
            yield False
            return
        over = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(name, over), daemon=True)
        renewing.start()
        try:
            yield True
        finally:
            over.set()
            renewing.join()
            with suppress(StorageError):  # it runs out by itself
                release_lease(self.database, name, self.holder)
            self._held.discard(name)

    def release_all(self) -> None:
        """Give back what is held, for a process that ends in the middle of its work."""
        for name in tuple(self._held):
            with suppress(StorageError):
                release_lease(self.database, name, self.holder)

    def _claim(self, name: str) -> bool:
        """Take a lease that no thread of this replica has: to the database they are one holder."""
        with self._lock:
            if name in self._held:
                return False
            self._held.add(name)
        try:
            mine = self._take(name)
        except StorageError:
            self._held.discard(name)
            raise
        if not mine:
            self._held.discard(name)
        return mine

    def _take(self, name: str) -> bool:
        now_ns = time.time_ns()
        return take_lease(self.database, name, self.holder, now_ns, now_ns + round(self.lasting_s * 1e9))

    def _renew(self, name: str, over: threading.Event) -> None:
        while not over.wait(self.lasting_s / _RENEWALS):
            with suppress(StorageError):  # the next attempt may come in time
                self._take(name)
