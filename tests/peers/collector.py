"""Our collector as a command inside a namespace, and a port that only writes down what exporters send."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.capture.frames import ethernet, ip, pcap, save, udp
from tests.capture.live.namespaces import Namespace
from tests.flowprism.test_collect import COMMAND, Running
from tests.house.checkout import ROOT

PORT = 2055
OPTIONS = "options records (what an exporter says of itself, no flows)"


@contextmanager
def collecting(space: Namespace, out: Path) -> Iterator[Running]:
    """A collector on the loopback address of a namespace."""
    options = ["--out", str(out), "--listen", f"127.0.0.1:{PORT}", "--commit-every", "0.2"]
    command = ["ip", "netns", "exec", space.name, *COMMAND, "collect", *options]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        running = Running(out, process)
        try:
            running.until(lambda: bool(running.status()))
            yield running
        finally:
            process.kill()


def settled(running: Running, datagrams: int | None = None) -> None:
    """End a collector, once it has received so many datagrams. Nothing may be lost, nothing left out but options."""
    if datagrams is not None:
        running.until(lambda: int(running.status()["totals"]["received"]) >= datagrams)
    said = running.stop()
    status = running.status()
    totals = status["totals"]
    assert totals["received"] == totals["durable"] == (totals["received"] if datagrams is None else datagrams), said
    assert [totals[name] for name in ("kernel_drops", "refused", "set_aside")] == [0, 0, 0], said
    assert not any(totals["lost"].values()), said
    assert set(status["rejected"]) <= {OPTIONS}, status["rejected"]


class Recorder:
    """A port inside a namespace whose datagrams are kept as they come."""

    def __init__(self, space: Namespace) -> None:
        with space.entered():
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            self._socket.bind(("127.0.0.1", PORT))

    def saved(self, folder: Path, datagrams: int | None = None, quiet_s: float = 0.5) -> Path:
        """A capture of what has come, so many datagrams or until none comes any more."""
        frames: list[tuple[int, bytes]] = []
        self._socket.settimeout(quiet_s)
        while datagrams is None or len(frames) < datagrams:
            try:
                payload, (host, port) = self._socket.recvfrom(1 << 16)
            except TimeoutError:
                assert datagrams is None, f"{len(frames)} datagrams of {datagrams}"
                break
            frames.append((time.time_ns(), ethernet(ip(17, udp(port, PORT, payload), host, "127.0.0.1"))))
        self._socket.close()
        return save(folder, pcap(frames), "exports.pcap")
