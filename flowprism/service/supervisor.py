"""`flowprism serve`: the parts as processes, started again when they die, ended together."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from datamodel.errors import InputError
from flowprism.collector.processes.worker import Process, how_ended
from flowprism.service.parts import collector
from flowprism.service.parts.api import address_of, open_door
from flowprism.service.parts.birth import new_instance
from flowprism.service.parts.child import MODULE, REFUSED, plan_of
from flowprism.service.settings import PartKind, Settings
from storage.database.connection import Database

_WATCH_S = 0.1
# What a part may take to end. None but the collector has anything that would be lost: scans, alerts and packing are
# made again. The collector stores all that it has received, whatever that takes.
_END_S = 5.0
_COLLECTOR_END_S = 900.0
_LOG = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Part:
    """One part and its process.

    Attributes:
        kind: which one.
        process: it.
        plan: what its process is told; the same object that the process is started with.
        ended: it was asked to end, and has.
    """

    kind: PartKind
    process: Process
    plan: dict[str, object]
    ended: bool = False


@dataclass(slots=True)
class Supervisor:
    """One run of the service.

    Attributes:
        settings: of all parts.
        parts: which of them run here.
        greet: told the address of the dashboard as soon as its door is open; "" where it is not served.
        stop: set it to end the service.
    """

    settings: Settings
    parts: Sequence[PartKind]
    greet: Callable[[str], None]
    stop: threading.Event = field(default_factory=threading.Event)
    _refused: str = ""

    def run(self) -> None:
        """Run until SIGTERM, Ctrl-C or `stop`; the parts are then ended, and nothing received is lost.

        Raises:
            InputError: settings cannot be used: a port is taken, a database does not answer, a folder is not ours.
        """
        Database(self.settings.store.database).close()  # its tables are there before parts ask for them all at once
        doors: dict[PartKind, list[socket.socket]] = {}
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        if threading.current_thread() is threading.main_thread():
            for number in before:
                signal.signal(number, lambda *_: self.stop.set())
        try:
            self._open(doors)
            instance = new_instance()
            running = [self._part(kind, instance, doors.get(kind, [])) for kind in self.parts]
            self._watch(running, address_of(doors["api"][0]) if "api" in doors else "")
            self._end(running)
        finally:
            if threading.current_thread() is threading.main_thread():
                for number, handler in before.items():
                    signal.signal(number, handler)
            for door in (door for own in doors.values() for door in own):
                door.close()
        if self._refused:
            raise InputError(self._refused)

    def _open(self, doors: dict[PartKind, list[socket.socket]]) -> None:
        """Open the sockets of the parts that run here: held by this process, they outlive those that use them."""
        if "collector" in self.parts:
            doors["collector"] = collector.open_doors(self.settings)
        if "api" in self.parts:
            doors["api"] = [open_door(self.settings)]

    def _part(self, kind: PartKind, instance: str, doors: list[socket.socket]) -> _Part:
        descriptors = tuple(door.fileno() for door in doors)
        plan = plan_of(kind, self.settings, instance, descriptors)
        return _Part(kind, Process(MODULE, plan, descriptors), plan)

    def _watch(self, parts: list[_Part], address: str) -> None:
        for part in parts:
            part.process.keep_up()
        self.greet(address)
        while not self.stop.is_set():
            for part in parts:
                self._look_after(part)
            self.stop.wait(_WATCH_S)

    def _look_after(self, part: _Part) -> None:
        """Start a part that died again; one that cannot be used as it is set ends the service, if it never ran."""
        code = part.process.ended()
        if code is not None:
            said = part.process.said() or {}
            part.process.bury()
            if code == REFUSED and not part.process.deaths:
                self._refused = str(said.get("refused", f"{part.kind}: {how_ended(code)}"))
                self.stop.set()
                return
            delay_s = part.process.died()
            part.plan["deaths"] = part.process.deaths
            why = str(said.get("refused", how_ended(code)))
            _LOG.warning("a part ended and is started again", which=part.kind, why=why, in_s=round(delay_s, 1))
        part.process.keep_up()

    def _end(self, parts: list[_Part]) -> None:
        """Ask all parts to end, and wait for it; what was received is stored before the collector has ended."""
        begun_s = time.monotonic()
        while running := [part for part in parts if not part.ended]:
            for part in running:
                part.process.stop()
                code = part.process.ended()
                limit_s = _COLLECTOR_END_S if part.kind == "collector" else _END_S
                if part.process.running is not None and code is None and time.monotonic() - begun_s > limit_s:
                    _LOG.warning("a part does not end and is killed", which=part.kind)
                    part.process.kill()
                    code = part.process.ended()
                if part.process.running is None or code is not None:
                    said = part.process.said() or {}
                    self._refused = self._refused or str(said.get("refused", ""))
                    part.process.bury()
                    part.ended = True
            time.sleep(_WATCH_S / 5)


def parts_of(settings: Settings) -> tuple[PartKind, ...]:
    """The parts that the settings have run on this machine."""
    wanted: list[tuple[PartKind, bool]] = [
        ("collector", settings.collect.enabled),
        ("keeper", settings.collect.enabled or settings.scans.enabled),
        ("scanner", settings.scans.enabled),
        ("alerter", True),
        ("api", settings.api.enabled),
    ]
    return tuple(kind for kind, is_wanted in wanted if is_wanted)
