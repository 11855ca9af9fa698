"""`make run`: the service on this machine's loopback, the bundled capture played into it, and what comes of that."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from datamodel.cluster.inventory import Inventory
from datamodel.errors import FlowprismError, InputError
from datamodel.service.incidents import IncidentState
from flowprism.collector.status import FILE
from flowprism.demo.demo_player import play_demo
from flowprism.inputs.inventory_file import load_inventory
from flowprism.service.components.heartbeat import GETTING_READY
from flowprism.service.config.log_setup import configure_logs
from flowprism.service.config.settings import Settings
from flowprism.service.config.settings_file import load_settings
from flowprism.service.supervisor import Supervisor, components_of
from storage.database.components import components
from storage.database.connection import Database
from storage.database.incidents.incident_records import history, incidents

_LOOK_S = 0.5
_STATES: tuple[IncidentState, ...] = ("suspected", "open", "resolved")
_COMPILING = "compiling the decoders and the analysis, at a first start only; the dashboard is up meanwhile"
_UNCOMPILED = "the decoders and the analysis run uncompiled; `make install` compiles them, in some minutes"
_CAPTURE = files("flowprism.demo")


def run_demo(out: Path, environ: Mapping[str, str]) -> None:
    """Run until Ctrl-C or SIGTERM, and leave nothing behind.

    Args:
        out: folder in which the store lies meanwhile; made where it is not there.
        environ: settings that the user wants otherwise, such as `FLOWPRISM_API__PORT`.

    Raises:
        InputError: a port is taken, or the folder cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="service-", dir=out))
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
    try:
        with as_file(_CAPTURE / "inventory.yaml") as fabric:
            compiled = environ.get("NUMBA_DISABLE_JIT", "0") == "0"
            _serve(_settings(folder, fabric, environ), load_inventory(fabric), compiled=compiled)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settings(folder: Path, fabric: Path, environ: Mapping[str, str]) -> Settings:
    """What a first look needs: a free port for the feed, short windows, and nothing that is kept."""
    file = folder / "flowprism.yaml"
    said = {
        "store": {"folder": str(folder), "keep_every_s": 10},
        "collect": {"listen": ["127.0.0.1:0"], "allow": ["127.0.0.0/8"], "commit_every_s": 1},
        "scans": {
            "inventory": str(fabric),
            "settle_s": 1,
            "policies": [{"name": "demo", "every_s": 5, "window_s": 40}],
        },
        "log": {"level": "error"},
    }
    file.write_text(json.dumps(said))
    return load_settings(file, environ)


def _serve(settings: Settings, fabric: Inventory, *, compiled: bool) -> None:
    configure_logs(settings.log, "demo")
    stop = threading.Event()

    def greet(address: str) -> None:
        _say(f"API and dashboard: {address} (Ctrl-C ends it)")
        if not compiled:
            _say(_UNCOMPILED)
        threading.Thread(target=feed, daemon=True).start()
        threading.Thread(
            target=_report, args=(settings, address, stop), kwargs={"compiled": compiled}, daemon=True
        ).start()

    def feed() -> None:
        try:
            port = _feed_port(Path(settings.store.flow_lake) / FILE, stop)
            if port:
                _say(f"playing a recorded training job to UDP port {port}: a link is slow now and then")
                play_demo(fabric, "127.0.0.1", port, stop)
        except FlowprismError as error:
            _say(f"the feed ended: {error}")

    try:
        Supervisor(settings, components_of(settings), greet).run()
    finally:
        stop.set()


def _report(settings: Settings, address: str, stop: threading.Event, *, compiled: bool) -> None:
    """Say what becomes of incidents, with their addresses, and when compiling begins and ends."""
    seen: set[tuple[str, int, str]] = set()
    database, began_s = Database(settings.store.database), time.monotonic()
    getting_ready = False
    while not stop.wait(_LOOK_S):
        after_s = time.monotonic() - began_s
        was, getting_ready = getting_ready, any(one.detail == GETTING_READY for one in components(database))
        if getting_ready != was and compiled:
            _say(_COMPILING if getting_ready else f"compiled after {after_s:.0f} s")
        for one in incidents(database, _STATES):
            for change in history(database, one.id):
                if (one.id, change.time_ns, change.kind) not in seen:
                    seen.add((one.id, change.time_ns, change.kind))
                    _say(f"after {after_s:.0f} s: {change.kind}, {one.severity}: {one.summary}")
                    _say(f"  {address}/incidents/{one.id}")


def _feed_port(status: Path, stop: threading.Event) -> int:
    """The port that the collector listens at, as soon as it does; 0 where all is over before."""
    while not stop.wait(_LOOK_S):
        try:
            said: dict[str, Any] = json.loads(status.read_text())
        except (OSError, ValueError):
            continue
        for socket in said["sockets"]:
            return int(socket["listen"].rpartition(":")[2])
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
