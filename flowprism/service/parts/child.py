"""A part as a process of its own: `python -m flowprism.service.parts.child`, told what to do on its standard input."""

from __future__ import annotations

import base64
import ctypes
import json
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from datamodel.errors import FlowprismError
from flowprism.collector.processes.process import begin
from flowprism.service.logs import configure_logs
from flowprism.service.parts.birth import Birth
from flowprism.service.settings import PartKind, Settings

MODULE = "flowprism.service.parts.child"
_SET_NAME = 15  # PR_SET_NAME of prctl(2): what `ps` and `top` call the process
REFUSED = 2  # exit code of a part whose settings cannot be used; why stands on its standard output


def plan_of(kind: PartKind, settings: Settings, instance: str, doors: tuple[int, ...]) -> dict[str, object]:
    """What such a process needs to know; JSON-able. Secrets go through a pipe, never through arguments."""
    pickled = base64.b64encode(pickle.dumps(settings)).decode()
    return {"kind": kind, "settings": pickled, "instance": instance, "doors": list(doors), "deaths": 0}


def run_part(birth: Birth) -> None:
    """Run a part in this process until it has ended.

    Raises:
        FlowprismError: its settings cannot be used.
    """
    run: Callable[[Birth], None] = import_module(f"flowprism.service.parts.{birth.kind}").run
    run(birth)


def listen_for_end(birth: Birth) -> None:
    """Have SIGTERM and Ctrl-C end a part that runs in this process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: birth.stop.set())


def main() -> int:
    """Be the part that the plan says."""
    stop = threading.Event()
    plan = begin(lambda *_: stop.set())
    birth = _birth(plan, stop)
    ctypes.CDLL(None).prctl(_SET_NAME, f"fp-{birth.kind}".encode())
    if stop.is_set():
        return 0
    configure_logs(birth.settings.log, birth.kind)
    try:
        run_part(birth)
    except FlowprismError as error:
        sys.stdout.write(json.dumps({"refused": str(error)}) + "\n")
        sys.stdout.flush()
        return REFUSED
    return 0


def _birth(plan: Mapping[str, Any], stop: threading.Event) -> Birth:
    settings = pickle.loads(base64.b64decode(plan["settings"]))  # noqa: S301 - from our own supervisor, by a pipe
    return Birth(plan["kind"], settings, plan["instance"], plan["deaths"], tuple(plan["doors"]), stop)


if __name__ == "__main__":
    sys.exit(main())
