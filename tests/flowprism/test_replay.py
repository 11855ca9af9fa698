"""`flowprism replay`, through real sockets; how fast it sends, on a clock that only sleeping moves."""

from __future__ import annotations

import re
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowprism.replay import sender
from flowprism.replay.send_schedule import Schedule, SendPace
from tests.capture.frames import ethernet, ip, pcap, save, tcp, udp
from tests.flowprism.command_line import Answer, Run
from tests.house.checkout import ROOT

COMMAND = [sys.executable, "-c", "from flowprism.cli import main; main()", "replay"]
SENT = r"sent 6 datagrams \(432 bytes\) to 127\.0\.0\.1:{port} in (\d+\.\d+) s \(\d+/s\); late by .*\n"
MILLISECOND_NS = 1_000_000


def netflow5(number: int) -> bytes:
    """A NetFlow v5 datagram with one record."""
    return struct.pack("!HHIIIIBBH", 5, 1, 1000, 1, 0, number, 0, 0, 0) + bytes(48)


def capture(folder: Path, times_ms: list[float], *, snap: int = 262144) -> Path:
    """A capture of numbered datagrams."""
    frames = [
        (10**18 + int(time_ms * MILLISECOND_NS), ethernet(ip(17, udp(2055, 2055, netflow5(number)))))
        for number, time_ms in enumerate(times_ms)
    ]
    return save(folder, pcap(frames, snap=snap), "exports.pcap")


class Listener:
    """What arrives at a port."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self.port = 0


class Clock:
    """A clock that only sleeping moves, and when datagrams were handed to the system by it (seconds)."""

    def __init__(self) -> None:
        self.now_s = self.begun_s = 1000.0
        self.sent_s: list[float] = []

    def perf_counter(self) -> float:
        """The time now."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What a replay in this process goes by."""
    made, handed = Clock(), sender._Messages.send

    def send(messages: sender._Messages, at: int, stop: int) -> int:
        count = handed(messages, at, stop)
        made.sent_s += [made.now_s - made.begun_s] * count
        return count

    monkeypatch.setattr(sender, "time", made)
    monkeypatch.setattr(sender._Messages, "send", send)
    return made


@contextmanager
def listening() -> Iterator[Listener]:
    """A socket that takes what comes until nothing has come for a while."""
    found = Listener()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(0.3)
        found.port = sock.getsockname()[1]
        done = threading.Event()

        def listen() -> None:
            while True:
                try:
                    found.payloads.append(sock.recv(70_000))
                except TimeoutError:
                    if done.is_set():
                        return

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield found
        finally:
            done.set()
            thread.join()


def replay(run: Run, path: Path, port: int, *options: str) -> Answer:
    """Run the command in this process."""
    return run("replay", path, "--to", f"127.0.0.1:{port}", *options)


def test_order_and_content_are_the_originals(tmp_path: Path) -> None:
    """The real command takes no less time than the capture did."""
    path = capture(tmp_path, [0.0, 5.0, 5.0, 200.0, 400.0, 600.0])
    with listening() as found:
        command = [*COMMAND, str(path), "--to", f"127.0.0.1:{found.port}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert found.payloads == [netflow5(number) for number in range(6)]
    said = re.fullmatch(SENT.format(port=found.port), done.stdout)
    assert said
    assert float(said[1]) >= 0.6


def test_timing_is_the_original(tmp_path: Path, run: Run, clock: Clock) -> None:
    """Each datagram leaves when it did in the capture, counted from the first."""
    times_ms = [0.0, 5.0, 5.0, 200.0, 400.0, 600.0]
    with listening() as found:
        done = replay(run, capture(tmp_path, times_ms), found.port)
    assert re.fullmatch(SENT.format(port=found.port), done.stdout)
    assert clock.sent_s == pytest.approx([time_ms / 1000 for time_ms in times_ms], abs=1e-4)


@pytest.mark.parametrize(("options", "lasting_s"), [
    (("--speed", "10"), 0.2), (("--rate", "1000"), 0.299), (("--flat-out",), 0.0),
])  # fmt: skip
def test_pace(tmp_path: Path, run: Run, clock: Clock, options: tuple[str, ...], lasting_s: float) -> None:
    """2 s of capture with 300 datagrams are sent ten times as fast, or at a rate, or at once; none out of order."""
    path = capture(tmp_path, list(np.linspace(0, 2000, 300)))
    with listening() as found:
        done = replay(run, path, found.port, *options)
    assert done.returncode == 0, done.stderr
    assert found.payloads == [netflow5(number) for number in range(300)]
    assert f"in {lasting_s:.3f} s" in done.stdout
    assert clock.sent_s == pytest.approx(np.linspace(0, lasting_s, 300).tolist(), abs=1e-4)


def test_what_is_not_whole_is_not_sent(tmp_path: Path, run: Run) -> None:
    """Datagrams that the capture cut are counted and left out, as are packets that carry no export."""
    frames = [(10**18, ethernet(ip(17, udp(2055, 2055, netflow5(0))))), (10**18, ethernet(ip(6, tcp(1, 2, 3, 4, 16))))]
    whole = pcap(frames)
    cut = bytearray(pcap([(10**18, ethernet(ip(17, udp(2055, 2055, netflow5(1)))))])[24:])
    cut = cut[:-20]
    struct.pack_into("<I", cut, 8, len(cut) - 16)
    with listening() as found:
        done = replay(run, save(tmp_path, whole + bytes(cut)), found.port)
    assert found.payloads == [netflow5(0)]
    assert "left out: 1 × datagram that the capture does not hold whole" in done.stdout
    assert "left out: 1 × packet that carries no export datagram" in done.stdout


def test_nobody_listens(tmp_path: Path, run: Run) -> None:
    """Where nobody listens all is sent all the same, and it is said."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    done = replay(run, capture(tmp_path, [0.0] * 5), port, "--rate", "100")
    assert done.returncode == 0
    assert "sent 5 datagrams" in done.stdout
    assert "no process listens there" in done.stderr


@pytest.mark.parametrize(("options", "complaint"), [
    (("--speed", "2", "--flat-out"), "--speed, --rate and --flat-out exclude each other"),
    (("--speed", "0"), "--speed 0: expected a number above 0"),
    (("--rate", "-1"), "--rate -1: expected a number above 0"),
    (("--to", "nowhere"), "--to nowhere: expected HOST:PORT"),
])  # fmt: skip
def test_wrong_options_are_one_line(tmp_path: Path, run: Run, options: tuple[str, ...], complaint: str) -> None:
    """What cannot be done is refused before anything is sent."""
    assert replay(run, capture(tmp_path, [0.0]), 9, *options) == (2, "", f"flowprism: {complaint}\n")


@given(
    times=st.lists(st.integers(0, 10**19), max_size=50),
    cuts=st.lists(st.integers(0, 50), max_size=3),
    pace=st.sampled_from([SendPace(), SendPace(3.0), SendPace(float("inf")), SendPace(1.0, 100.0)]),
)
def test_any_recorded_times_give_an_order(times: list[int], cuts: list[int], pace: SendPace) -> None:
    """However clocks jumped, nothing is due before what precedes it; cutting the capture in batches changes nothing."""
    recorded = np.array([time % 2**62 for time in times], np.int64)
    whole = Schedule(pace).due_s(recorded)
    schedule = Schedule(pace)
    parts = [schedule.due_s(part) for part in np.split(recorded, sorted(cuts))]
    assert (np.diff(whole) >= 0).all()
    assert (whole >= 0).all()
    assert np.array_equal(np.concatenate(parts), whole)
