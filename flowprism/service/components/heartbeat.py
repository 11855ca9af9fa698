"""A component says how it goes, every few seconds, in the database's table of components."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from datamodel.errors import FlowprismError
from datamodel.service.api_models import ComponentStatus, ExporterSampling
from flowprism.service.components.component_context import ComponentContext
from storage.database.components import save_component
from storage.database.connection import Database

EVERY_S = 3.0
GETTING_READY = "getting ready"  # a component's detail while its code is being compiled, at a first start


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a component says of itself: whether it is well, why not, figures in base units, how its exporters sample."""

    healthy: bool = True
    detail: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    sampling: tuple[ExporterSampling, ...] = ()


@contextmanager
def send_heartbeats(context: ComponentContext, database: Database, word: Callable[[], Heartbeat]) -> Iterator[None]:
    """Send heartbeats while the block runs, and once more at its end. If the database is unreachable, try later."""
    over = threading.Event()

    def send() -> None:
        with suppress(FlowprismError):
            save_component(database, status_of(context, word()))

    def repeat() -> None:
        while not over.wait(EVERY_S):
            send()

    send()
    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(EVERY_S)
        send()


def status_of(context: ComponentContext, word: Heartbeat) -> ComponentStatus:
    """The row of a component."""
    return ComponentStatus(
        name=context.name,
        kind=context.kind,
        started_ns=context.started_ns,
        seen_ns=time.time_ns(),
        healthy=word.healthy,
        detail=word.detail,
        figures={"restarts_total": float(context.deaths), **word.figures},
        sampling=word.sampling,
    )
