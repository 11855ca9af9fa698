"""What every component is born with: settings, a name in the table of components, and an ear for the end."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field

from flowprism.service.config.settings import ComponentKind, Settings


@dataclass(frozen=True, slots=True)
class ComponentContext:
    """One run of one component.

    Attributes:
        kind: which component.
        settings: of the service.
        instance: name of the run of the service that the component belongs to: no other one has it.
        deaths: how often the component has died in this run.
        doors: descriptors of the sockets it answers or receives on; they are open already.
        stop: set when the component is to end.
        started_ns: UTC.
    """

    kind: ComponentKind
    settings: Settings
    instance: str
    deaths: int = 0
    doors: tuple[int, ...] = ()
    stop: threading.Event = field(default_factory=threading.Event)
    started_ns: int = field(default_factory=time.time_ns)

    @property
    def name(self) -> str:
        """In the table of components."""
        return f"{self.kind} {socket.gethostname()}"


def new_instance() -> str:
    """A name for a run of the service."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
