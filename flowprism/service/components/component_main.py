"""A component as a process of its own, which reads its plan from standard input.

`python -m flowprism.service.components.component_main`
"""

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
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.config.log_setup import configure_logs
from flowprism.service.config.settings import ComponentKind, Settings

MODULE = "flowprism.service.components.component_main"
_SET_NAME = 15  # PR_SET_NAME of prctl(2): what `ps` and `top` call the process
REFUSED = 2  # exit code of a component whose settings cannot be used; why stands on its standard output


def plan_of(kind: ComponentKind, settings: Settings, instance: str, doors: tuple[int, ...]) -> dict[str, object]:
    """What such a process needs to know; JSON-able. Secrets go through a pipe, never through arguments."""
    pickled = base64.b64encode(pickle.dumps(settings)).decode()
    return {"kind": kind, "settings": pickled, "instance": instance, "doors": list(doors), "deaths": 0}


def run_in_process(context: ComponentContext) -> None:
    """Run a component in this process until it has ended.

    Raises:
        FlowprismError: its settings cannot be used.
    """
    run: Callable[[ComponentContext], None] = import_module(f"flowprism.service.components.{context.kind}").run
    run(context)


def listen_for_end(context: ComponentContext) -> None:
    """Have SIGTERM and Ctrl-C end a component that runs in this process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: context.stop.set())


def main() -> int:
    """Be the component that the plan says."""
    stop = threading.Event()
    plan = begin(lambda *_: stop.set())
    context = _read_context(plan, stop)
    ctypes.CDLL(None).prctl(_SET_NAME, f"fp-{context.kind}".encode())
    if stop.is_set():
        return 0
    configure_logs(context.settings.log, context.kind)
    try:
        run_in_process(context)
    except FlowprismError as error:
        sys.stdout.write(json.dumps({"refused": str(error)}) + "\n")
        sys.stdout.flush()
        return REFUSED
    return 0


def _read_context(plan: Mapping[str, Any], stop: threading.Event) -> ComponentContext:
    settings = pickle.loads(base64.b64decode(plan["settings"]))  # noqa: S301 - from our own supervisor, by a pipe
    return ComponentContext(plan["kind"], settings, plan["instance"], plan["deaths"], tuple(plan["doors"]), stop)


if __name__ == "__main__":
    sys.exit(main())
