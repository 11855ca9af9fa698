"""A receiver of alerts that can go away, and remembers all that it has ever accepted."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from socket import SOCK_STREAM

from tests.flowprism.service.alerts.listening import OK, Server, listening
from tests.flowprism.service.running import free_port


class Receiver:
    """A webhook; while it is away its port refuses."""

    def __init__(self) -> None:
        """Be there."""
        self.port, self._runs, self._open = free_port(SOCK_STREAM), list[Server](), ExitStack()
        self.back()

    def away(self) -> None:
        """Go."""
        self._open.close()

    def back(self) -> None:
        """Be there again."""
        self._runs.append(self._open.enter_context(listening(OK, port=self.port)))

    def accepted(self) -> dict[str, int]:
        """Alert -> how often it was accepted."""
        heard: dict[str, int] = defaultdict(int)
        for request in (request for run in self._runs for request in run.requests):
            for alert in request.json["alerts"]:
                heard[alert["id"]] += 1
        return dict(heard)

    def bodies(self) -> dict[str, set[bytes]]:
        """Idempotency key -> the bodies that came with it."""
        found: dict[str, set[bytes]] = defaultdict(set)
        for request in (request for run in self._runs for request in run.requests):
            found[request.headers["idempotency-key"]].add(request.body)
        return dict(found)
