"""`flowprism serve`: the components as processes, started again when they die, ended together."""

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
from flowprism.service.components import collector
from flowprism.service.components.api_socket import address_of, open_socket
from flowprism.service.components.component_context import new_instance
from flowprism.service.components.component_main import MODULE, REFUSED, plan_of
from flowprism.service.config.settings import ComponentKind, Settings
from storage.database.connection import Database

_WATCH_S = 0.1
# What a component may take to end. Only the collector holds what would be lost: scans, alerts and compaction are
# repeated. It stores all that it has received, whatever that takes.
_END_S = 5.0
_COLLECTOR_END_S = 900.0
_LOG = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Component:
    """One component and its process.

    Attributes:
        kind: which one.
        process: it.
        plan: the settings of its process; the same object that the process is started with.
        ended: it was asked to end, and has.
    """

    kind: ComponentKind
    process: Process
    plan: dict[str, object]
    ended: bool = False


@dataclass(slots=True)
class Supervisor:
    """One run of the service.

    Attributes:
        settings: of all components.
        components: which of them run here.
        greet: called with the dashboard's address as soon as its socket is open; "" where it is not served.
        stop: set it to end the service.
    """

    settings: Settings
    components: Sequence[ComponentKind]
    greet: Callable[[str], None]
    stop: threading.Event = field(default_factory=threading.Event)
    _refused: str = ""

    def run(self) -> None:
        """Run until SIGTERM, Ctrl-C or `stop`; the components are then ended, and nothing received is lost.

        Raises:
            InputError: settings cannot be used: a port is taken, a database does not answer, a folder is not ours.
        """
        Database(
            self.settings.store.database
        ).close()  # its tables are there before components ask for them all at once
        doors: dict[ComponentKind, list[socket.socket]] = {}
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        if threading.current_thread() is threading.main_thread():
            for number in before:
                signal.signal(number, lambda *_: self.stop.set())
        try:
            self._open(doors)
            instance = new_instance()
            running = [self._component(kind, instance, doors.get(kind, [])) for kind in self.components]
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

    def _open(self, doors: dict[ComponentKind, list[socket.socket]]) -> None:
        """Open the sockets of the components that run here: held by this process, they outlive those that use them."""
        if "collector" in self.components:
            doors["collector"] = collector.open_doors(self.settings)
        if "api" in self.components:
            doors["api"] = [open_socket(self.settings)]

    def _component(self, kind: ComponentKind, instance: str, doors: list[socket.socket]) -> _Component:
        descriptors = tuple(door.fileno() for door in doors)
        plan = plan_of(kind, self.settings, instance, descriptors)
        return _Component(kind, Process(MODULE, plan, descriptors), plan)

    def _watch(self, components: list[_Component], address: str) -> None:
        for component in components:
            component.process.keep_up()
        self.greet(address)
        while not self.stop.is_set():
            for component in components:
                self._look_after(component)
            self.stop.wait(_WATCH_S)

    def _look_after(self, component: _Component) -> None:
        """Start a component that died again; one that cannot be used as it is set ends the service, if it never ran."""
        code = component.process.ended()
        if code is not None:
            said = component.process.said() or {}
            component.process.bury()
            if code == REFUSED and not component.process.deaths:
                self._refused = str(said.get("refused", f"{component.kind}: {how_ended(code)}"))
                self.stop.set()
                return
            delay_s = component.process.died()
            component.plan["deaths"] = component.process.deaths
            why = str(said.get("refused", how_ended(code)))
            _LOG.warning(
                "a component ended and is started again", which=component.kind, why=why, in_s=round(delay_s, 1)
            )
        component.process.keep_up()

    def _end(self, components: list[_Component]) -> None:
        """Ask all components to end, and wait for it; what was received is stored before the collector has ended."""
        begun_s = time.monotonic()
        while running := [component for component in components if not component.ended]:
            for component in running:
                component.process.stop()
                code = component.process.ended()
                limit_s = _COLLECTOR_END_S if component.kind == "collector" else _END_S
                if component.process.running is not None and code is None and time.monotonic() - begun_s > limit_s:
                    _LOG.warning("a component does not end and is killed", which=component.kind)
                    component.process.kill()
                    code = component.process.ended()
                if component.process.running is None or code is not None:
                    said = component.process.said() or {}
                    self._refused = self._refused or str(said.get("refused", ""))
                    component.process.bury()
                    component.ended = True
            time.sleep(_WATCH_S / 5)


def components_of(settings: Settings) -> tuple[ComponentKind, ...]:
    """The components that the settings have run on this machine."""
    wanted: list[tuple[ComponentKind, bool]] = [
        ("collector", settings.collect.enabled),
        ("compactor", settings.collect.enabled or settings.scans.enabled),
        ("scanner", settings.scans.enabled),
        ("alerter", True),
        ("api", settings.api.enabled),
    ]
    return tuple(kind for kind, is_wanted in wanted if is_wanted)
