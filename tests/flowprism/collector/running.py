"""A collector running as it does in earnest: a supervisor in a process of its own, with its workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from storage.lake.lake_reader import read_lake
from tests.house.checkout import ROOT

PATIENCE_S = 60.0

SUPERVISE = """
import json, sys
from pathlib import Path
from flowprism.collector.processes import worker
from flowprism.collector.collector_options import CollectorOptions, parse_listen
from flowprism.collector import supervisor
from flowprism.collector.workers import worker_count
from flowprism.collector.supervisor import CollectorSupervisor
said = json.loads(sys.argv[1])
worker._STALL_S = said.pop("stall_s", worker._STALL_S)
supervisor._RECEIVERS_END_S = said.pop("receivers_end_s", supervisor._RECEIVERS_END_S)
worker_count._FREE_CORES = said.pop("free_cores", worker_count._FREE_CORES)
said["folder"] = Path(said["folder"]) if "folder" in said else None
said["listens"] = tuple(parse_listen(text) for text in said["listens"])
said["allow"] = tuple(said.get("allow", ()))
sys.exit(0 if CollectorSupervisor(CollectorOptions(**said)).run() else 1)
"""


@dataclass
class Collector:
    """A collector for the time of a `with` block; at the end of the block it is killed where it still runs."""

    out: Path
    listens: tuple[str, ...] = ("127.0.0.1:0",)
    options: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        settings = {
            "out": str(self.out),
            "decoder": "tests.flowprism.collector.fake:FakeDecoder",
            "commit_every_s": 0.2,
            "ring_bytes": 8 << 20,
            "buffer_bytes": 4 << 20,
            **self.options,
        }
        said = json.dumps({**settings, "listens": self.listens})
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, said],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        before = self.session()
        self.until(lambda: self.status() is not None and self.session() != before)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill_all()

    def status(self) -> dict[str, Any] | None:
        """The newest status; None before the first."""
        try:
            status: dict[str, Any] = json.loads((self.out / "status.json").read_text())
        except FileNotFoundError:
            return None
        return status

    def session(self) -> str:
        """Name of the session that the status is of; empty before the first."""
        status = self.status()
        return "" if status is None else str(status["session"])

    def port(self, number: int = 0) -> int:
        """Port of a socket of worker 0."""
        status = self.status()
        assert status is not None
        return int(status["sockets"][number]["listen"].rpartition(":")[2])

    def totals(self) -> dict[str, Any]:
        """The sums that the status tells."""
        status = self.status()
        assert status is not None
        totals: dict[str, Any] = status["totals"]
        return totals

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something to come true, as long as the supervisor lives."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            self.assert_alive()
            assert time.monotonic() < deadline, self.status()
            time.sleep(0.02)

    def assert_alive(self) -> None:
        """Fail with what the supervisor said where it ended; its workers, which share its stderr, end first."""
        assert self.process is not None
        if self.process.poll() is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            raise AssertionError(self.process.communicate(timeout=PATIENCE_S)[1])

    def stop(self) -> str:
        """Ask it to end; what it said on stderr. It must end with exit code 0."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        try:
            said = self.process.communicate(timeout=PATIENCE_S)[1]
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise AssertionError(self.process.communicate()[1], self.status()) from None
        assert self.process.returncode == 0, said
        return said

    def kill_all(self) -> None:
        """End the supervisor and all its workers at once, with no chance to do anything more."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stderr is not None and not self.process.stderr.closed:
            self.process.communicate()

    def children(self, module: str) -> list[int]:
        """Process ids of the workers' processes that run `module`."""
        assert self.process is not None
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(path.read_text().rpartition(")")[2].split()[1])
                command = (path.parent / "cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == self.process.pid and module.encode() in command:
                found.append(int(path.parent.name))
        return sorted(found)

    def kept(self) -> list[int]:
        """The `bytes` of all committed flow records, sorted."""
        return sorted(read_lake(self.out).flows.frame["bytes"].tolist())


def sender(address: str = "127.0.0.1") -> socket.socket:
    """A UDP socket bound to an address of our own."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, 0))
    return sock
