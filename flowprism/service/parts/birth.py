"""What every part is born with: settings, a name in the table of parts, and an ear for the end."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from dataclasses import dataclass, field

from flowprism.service.settings import PartKind, Settings


@dataclass(frozen=True, slots=True)
class Birth:
    """One run of one part.

    Attributes:
        kind: which part.
        settings: of the service.
        instance: name of the run of the service that the part belongs to: no other one has it.
        deaths: how often the part has died in this run.
        doors: descriptors of the sockets it answers or receives on; they are open already.
        stop: set when the part is to end.
        started_ns: UTC.
    """

    kind: PartKind
    settings: Settings
    instance: str
    deaths: int = 0
    doors: tuple[int, ...] = ()
    stop: threading.Event = field(default_factory=threading.Event)
    started_ns: int = field(default_factory=time.time_ns)

    @property
    def name(self) -> str:
        """In the table of parts."""
        return f"{self.kind} {socket.gethostname()}"


def new_instance() -> str:
    """A name for a run of the service."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
