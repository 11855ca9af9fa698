"""`flowprism collect` and `flowprism replay`, the real commands with the real decoders."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from storage.lake.lake_reader import read_lake
from tests.capture.frames import ethernet, ip, pcap, save, udp
from tests.flowprism.command_line import Run
from tests.house.checkout import ROOT

COMMAND = [sys.executable, "-c", "from flowprism.cli import main; main()"]
PATIENCE_S = 300.0  # where nothing compiled is on disk yet, the decoders are compiled first

# Source, destination, bytes, packets, protocol; first and last in sysUpTime (RFC 3954 section 8).
FIELDS = ((8, 4), (12, 4), (1, 4), (2, 4), (4, 1), (22, 4), (21, 4))
LISTEN = "expected [tcp:]HOST:PORT, an IPv6 address in brackets, * for every address"


def message(number: int, sets: bytes) -> bytes:
    """A NetFlow v9 datagram of source id 7."""
    return struct.pack("!HHIIII", 9, 1, 10_000, 1_700_000_000, number, 7) + sets


def template() -> bytes:
    """The set that announces template 256."""
    fields = b"".join(struct.pack("!HH", *field) for field in FIELDS)
    return struct.pack("!HHHH", 0, 8 + len(fields), 256, len(FIELDS)) + fields


def data(*volumes: int) -> bytes:
    """A set with a record for each volume in bytes."""
    records = b"".join(
        bytes((10, 0, 0, 1, 10, 0, 0, 2)) + struct.pack("!IIBII", volume, 1, 17, 1000, 2000) for volume in volumes
    )
    return struct.pack("!HH", 256, 4 + len(records)) + records


@dataclass
class Running:
    """A collector started from the command line."""

    out: Path
    process: subprocess.Popen[str]

    def status(self) -> dict[str, Any]:
        """Its newest status; empty before the first."""
        try:
            status: dict[str, Any] = json.loads((self.out / "status.json").read_text())
        except FileNotFoundError:
            return {}
        return status

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something to come true."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert self.process.poll() is None, self.process.communicate(timeout=PATIENCE_S)[1]
            assert time.monotonic() < deadline, self.status()
            time.sleep(0.02)

    def port(self) -> int:
        """The port of its first socket."""
        return int(self.status()["sockets"][0]["listen"].rpartition(":")[2])

    def stop(self) -> str:
        """End it; what it said."""
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=PATIENCE_S)[1]
        assert self.process.returncode == 0, said
        return said


@contextmanager
def collecting(out: Path, *options: str) -> Iterator[Running]:
    """A collector on a port that the system chooses."""
    command = [*COMMAND, "collect", "--out", str(out), "--listen", "127.0.0.1:0", "--commit-every", "0.2", *options]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        running = Running(out, process)
        before = running.status().get("session")
        try:
            running.until(lambda: running.status().get("session", before) != before)
            yield running
        finally:
            process.kill()


def send(port: int, *payloads: bytes) -> None:
    """Send datagrams from one address and one port, always the same address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        for payload in payloads:
            sock.sendto(payload, ("127.0.0.1", port))


def volumes(out: Path) -> list[int]:
    """Bytes of all records kept."""
    return sorted(read_lake(out).flows.frame["bytes"].tolist())


def test_a_replayed_capture_is_collected(tmp_path: Path) -> None:
    """What `replay` sends `collect` keeps: records, addresses, exporter, a rate from the options; who packs is said."""
    payloads = [message(0, template()), *(message(n, data(n, 1000 + n)) for n in range(1, 101))]
    frames = [(10**18 + n, ethernet(ip(17, udp(2055, 2055, payload)))) for n, payload in enumerate(payloads)]
    capture = save(tmp_path, pcap(frames), "exports.pcap")
    with collecting(tmp_path / "out", "--sampling-rate", "127.0.0.1=512") as running:
        to = f"127.0.0.1:{running.port()}"
        done = subprocess.run([*COMMAND, "replay", str(capture), "--to", to], cwd=ROOT, check=True, capture_output=True)
        assert b"sent 101 datagrams" in done.stdout
        said = running.stop()
    reading = read_lake(tmp_path / "out")
    assert volumes(tmp_path / "out") == [*range(1, 101), *range(1001, 1101)]
    assert {"10.0.0.1", "10.0.0.2"} <= set(reading.flows.addresses)
    assert reading.exporters == ("127.0.0.1",)
    assert set(reading.flows.frame["sampling_rate"].tolist()) == {512}
    assert "received 101 datagrams, durable 101, flow records 200" in said
    assert (
        f"records are compacted and removed only with --compact, or by `flowprism compact {tmp_path}/out --every 10`"
        in said
    )
    (exporter,) = running.status()["exporters"]
    assert (exporter["protocol"], exporter["domain"], exporter["templates"]) == ("NetFlow v9", 7, 1)


@pytest.mark.slow
def test_a_restart_decodes_and_counts_at_once(tmp_path: Path) -> None:
    """Templates outlive the process: data that come before the exporter repeats its template are decoded.

    Those of a template that is not known yet wait, and stop nothing. Sequence numbers that are missing are in the
    totals, also those from the time of the restart, and no others.
    """
    unknown = struct.pack("!HHI", 300, 8, 0)
    with collecting(tmp_path) as running:
        send(running.port(), message(0, template()), message(1, data(111)), message(5, data(222)))
        assert "lost by sequence number: 3 datagrams" in running.stop()
    with collecting(tmp_path) as running:
        send(running.port(), message(8, unknown), message(9, data(333)))
        running.until(lambda: volumes(tmp_path) == [111, 222, 333])
        assert "lost by sequence number: 5 datagrams" in running.stop()


@pytest.mark.parametrize(("options", "complaint"), [
    (("--workers", "0"), "--workers 0: expected a number of workers from 1 to 64, or a range such as 1-4"),
    (("--commit-every", "0"), "--commit-every 0: expected 0.05 to 3600 seconds"),
    (("--listen", "somewhere"), f"--listen somewhere: {LISTEN}"),
    (("--listen", "::1:99"), f"--listen ::1:99: {LISTEN}"),
    (("--listen", "192.0.2.1:9999"), "192.0.2.1:9999: cannot listen: Cannot assign requested address"),
    (("--allow", "10.0.0.1/8"), "--allow 10.0.0.1/8: 10.0.0.1/8 has host bits set"),
    (("--sampling-rate", "x=1"), "--sampling-rate x=1: x is not an IP address"),
])  # fmt: skip
def test_wrong_options_are_one_line(tmp_path: Path, run: Run, options: tuple[str, ...], complaint: str) -> None:
    """What cannot be done is one line and exit code 2."""
    assert run("collect", "--out", tmp_path / "out", *options) == (2, "", f"flowprism: {complaint}\n")


def test_a_folder_that_cannot_be_made(tmp_path: Path, run: Run) -> None:
    """A file in the way is named."""
    (tmp_path / "file").write_bytes(b"")
    done = run("collect", "--out", tmp_path / "file", "--listen", "127.0.0.1:0")
    assert done == (2, "", f"flowprism: {tmp_path / 'file' / 'segments'}: Not a directory\n")
