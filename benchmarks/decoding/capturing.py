"""nfcapd and sfcapd over the loopback device: how many records they store a second of their processor time."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from capture.exporters.datagram import SFLOW5, Datagrams

DATAGRAMS_A_SECOND = 20_000
_BUFFER_BYTES = 60_000_000
_PATIENCE_S = 30.0


def stored_rate(protocol: int, batch: Datagrams, folder: Path) -> float | None:
    """Million records a second of processor time, receiving, decoding and the file included; None where not installed.

    Records that the kernel dropped count neither as stored nor as work.
    """
    program = shutil.which("sfcapd" if protocol == SFLOW5 else "nfcapd")
    if program is None or shutil.which("nfdump") is None:
        return None
    kept = folder / f"kept-{protocol}"
    kept.mkdir()
    port = _free_port()
    command = [program, "-b", "127.0.0.1", "-p", str(port), "-w", str(kept), "-B", str(_BUFFER_BYTES), "-t", "3600"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port, lambda waiting: waiting is not None)
        _send(batch, port)
        _wait(port, lambda waiting: waiting == 0)
    finally:
        process.terminate()
        _, _, usage = os.wait4(process.pid, 0)
    return _stored(kept) / (usage.ru_utime + usage.ru_stime) / 1e6


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _send(batch: Datagrams, port: int) -> None:
    """Send the datagrams at a steady rate."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect(("127.0.0.1", port))
        began = time.monotonic()
        for number, row in enumerate(batch.index):
            if number % 100 == 0:
                time.sleep(max(0.0, began + number / DATAGRAMS_A_SECOND - time.monotonic()))
            sender.send(batch.data[row["offset"] : row["offset"] + row["bytes"]].tobytes())


def _waiting_bytes(port: int) -> int | None:
    """Bytes that the socket on this port has not read yet; None while there is no such socket."""
    for line in Path("/proc/net/udp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].partition(":")[2], 16) == port:
            return int(fields[4].partition(":")[2], 16)
    return None


def _wait(port: int, fine: Callable[[int | None], bool]) -> None:
    """Wait until what waits at the port is as it should be."""
    until = time.monotonic() + _PATIENCE_S
    while not fine(_waiting_bytes(port)):
        if time.monotonic() > until:
            raise TimeoutError(f"nothing reads UDP port {port}")
        time.sleep(0.05)


def _stored(folder: Path) -> int:
    """Records in the files of a folder."""
    command = [shutil.which("nfdump") or "nfdump", "-I", "-R", str(folder)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"^Flows: (\d+)", told, re.MULTILINE)
    if found is None:
        raise ValueError(f"nfdump does not tell how many records there are: {told!r}")
    return int(found[1])
