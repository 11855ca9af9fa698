"""How many mirrored packets a second one core takes from an interface, and when the kernel begins to drop.

usage: python -m benchmarks.decoding.live_mirror [--packets N]

Needs root and a machine with two cores or more. Two network namespaces are made and joined by a pair of virtual
Ethernet interfaces; one process, on a core of its own, sends the frames of `benchmarks.decoding.decode` (cut at 96
bytes) at a given rate, another takes them from a `PacketRing` into a `Mirror` on one other core. Copying into the
ring is done by the kernel on the sender's core, as it is by the core that serves the card's interrupts.

`drain` lets 300,000 packets wait in the ring and then takes them as fast as it can: the receiver's own ceiling.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.decoding.decode import frames
from capture.live.packet_ring import PacketRing
from capture.live.ring_block import MARKS, index_block
from capture.mirror.mirror import Mirror
from capture.packets.packet import decode
from capture.packets.packet_columns import PACKET
from capture.receive.mmsg_structures import MESSAGE, PIECE
from capture.tables.frame_index import INDEX

RATES = (250_000, 500_000, 1_000_000, 0)  # packets/s; 0: as fast as it goes
WAITING_PACKETS = 300_000
RECORD_HEAD_BYTES = 16
BURST = 512
QUIET_S = 1.0
SPACES = tuple(f"fpbench{os.getpid()}{end}" for end in "ab")
PORTS = ("fpba", "fpbb")
IP = shutil.which("ip") or ""


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=3_000_000, help="how many to send at each rate")
    parser.add_argument("--role", choices=("send", "receive", "drain"), help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role == "send":
        send(arguments.packets, arguments.rate)
    elif arguments.role:
        receive(wait_first=arguments.role == "drain")
    elif reason := why_not():
        print(f"skipped: {reason}")
    else:
        with namespaces():
            report(arguments.packets)


def why_not() -> str:
    """Why this machine cannot run it; empty where it can."""
    if sys.platform != "linux" or os.geteuid() != 0 or not IP:
        return "needs Linux, root and the ip command (iproute2)"
    return "needs two cores" if len(os.sched_getaffinity(0)) < 2 else ""


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """The two namespaces, joined."""
    try:
        for space in SPACES:
            subprocess.run([IP, "netns", "add", space], check=True)
        pair = ["link", "add", PORTS[0], "type", "veth", "peer", "name", PORTS[1], "netns", SPACES[1]]
        subprocess.run([IP, "-n", SPACES[0], *pair], check=True)
        for space, port in zip(SPACES, PORTS, strict=True):
            subprocess.run([IP, "-n", space, "link", "set", port, "up"], check=True)
        yield
    finally:
        for space in SPACES:
            subprocess.run([IP, "netns", "del", space], check=False)


def report(packets: int) -> None:
    """Take every measure and print it."""
    for rate in RATES:
        told = measured("receive", packets, rate)
        offered = f"{rate / 1e6:.2f}" if rate else "free"
        print(
            f"offered {offered:>5s} M/s: {told['taken'] / told['seconds'] / 1e6:6.3f} M packets/s taken, "
            f"{told['dropped']} of {packets} dropped, core {100 * told['busy_s'] / told['seconds']:3.0f} % busy, "
            f"peak {told['peak_bytes'] / 1e6:.0f} MB"
        )
    best = max(told["taken"] / told["seconds"] for told in (measured("drain", WAITING_PACKETS, 0) for _ in range(5)))
    print(f"drain: {best / 1e6:.3f} M packets/s (best of five)")


def measured(role: str, packets: int, rate: int) -> dict[str, float]:
    """What a receiver tells of the packets that a sender offers at `rate`."""
    with start(SPACES[1], role) as receiver:
        if receiver.stdout:
            receiver.stdout.readline()  # it is ready
        with start(SPACES[0], "send", "--packets", str(packets), "--rate", str(rate)) as sender:
            sender.communicate()
        told: dict[str, float] = json.loads(receiver.communicate("sent\n")[0])
    return told


def start(space: str, role: str, *options: str) -> subprocess.Popen[str]:
    """This script in another role, inside a namespace."""
    command = [IP, "netns", "exec", space, sys.executable, "-m", __spec__.name, "--role", role, *options]
    root = Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def receive(*, wait_first: bool) -> None:
    """Take packets until none has come for a while; print what that took, as JSON."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    load_compiled()
    mirror = Mirror()
    with PacketRing(PORTS[1]) as ring:
        print("ready", flush=True)
        if wait_first:
            sys.stdin.readline()
        taken, first_s, last_s, idle_s, busy_s = 0, 0.0, 0.0, 0.0, 0.0
        while not taken or time.perf_counter() - last_s < QUIET_S:
            packets = ring.poll(0.1)
            if packets is None:
                continue
            if not taken:
                first_s, idle_s = time.perf_counter(), time.process_time()
            mirror.feed(packets)
            taken, last_s, busy_s = taken + len(packets), time.perf_counter(), time.process_time() - idle_s
        losses = ring.losses()
    told = {"taken": taken, "seconds": last_s - first_s, "dropped": losses.dropped, "busy_s": busy_s}
    told["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(told))


def load_compiled() -> None:
    """Load every kernel once, so that no packet waits for it."""
    data, index, packets = np.zeros(64, np.uint8), np.zeros(1, INDEX), np.zeros(1, PACKET)
    index_block(data, 0, len(data), 1, 1, 1, index, np.zeros(MARKS, np.int64))
    decode(data, index, packets)
    Mirror().feed(packets)


def send(packets: int, rate: int) -> None:
    """Send so many frames out of the port, in bursts that keep to `rate` packets/s (0: at once)."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    matrix = np.concatenate([frames(np.arange(at, min(at + (1 << 16), packets))) for at in range(0, packets, 1 << 16)])
    messages, pieces = messages_of(matrix)
    function = ctypes.CDLL(None, use_errno=True).sendmmsg
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.bind((PORTS[0], 0))
        start_s = time.perf_counter()
        for at in range(0, packets, BURST):
            pieces["base"] = matrix.ctypes.data + np.arange(at, at + BURST) * matrix.shape[1] + RECORD_HEAD_BYTES
            burst = min(BURST, packets - at)
            if function(sock.fileno(), messages.ctypes.data, burst, 0) != burst:
                raise OSError(ctypes.get_errno(), "not every packet could be sent")
            while rate and time.perf_counter() - start_s < at / rate:
                pass  # a sleep would overshoot


def messages_of(matrix: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """Message heads for one burst, and the pieces they point to; only the pieces' addresses change later."""
    pieces, messages = np.zeros(BURST, PIECE), np.zeros(BURST, MESSAGE)
    pieces["length"] = matrix.shape[1] - RECORD_HEAD_BYTES
    messages["pieces"] = pieces.ctypes.data + np.arange(BURST, dtype=np.uint64) * np.uint64(PIECE.itemsize)
    messages["piece_count"] = 1
    return messages, pieces


if __name__ == "__main__":
    main()
