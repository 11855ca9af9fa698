"""Two network namespaces joined by a pair of virtual Ethernet interfaces, and sockets inside them."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_TURNS = count()


class Namespace:
    """One namespace; its interface `port` is one end of the pair."""

    def __init__(self, name: str, port: str, address: str, station: str) -> None:
        self.name, self.port, self.address, self.station = name, port, address, station

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Sockets opened inside belong to the namespace, and stay there."""
        libc = ctypes.CDLL(None, use_errno=True)
        with Path("/proc/thread-self/ns/net").open() as home, Path("/run/netns", self.name).open() as there:
            enter(libc, there.fileno())
            try:
                yield
            finally:
                enter(libc, home.fileno())

    def run(self, *command: str) -> str:
        """Run a command inside; its output."""
        full = ["ip", "netns", "exec", self.name, *command]
        return subprocess.run(full, check=True, capture_output=True, text=True).stdout

    def send(self, frames: Iterable[bytes]) -> None:
        """Send whole frames out of the port."""
        with self.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
            sock.bind((self.port, 0))
            for frame in frames:
                sock.send(frame)


def enter(libc: ctypes.CDLL, number: int) -> None:
    """Move this thread into the network namespace of an open file."""
    if libc.setns(number, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


def why_not() -> str:
    """Why this machine gives us no namespaces; empty where it does."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "no ip command (iproute2)"
    name = f"fpt{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"no network namespaces: {made.stderr.strip()}"
    linked = subprocess.run(
        ["ip", "-n", name, "link", "add", "fpa", "type", "veth", "peer", "name", "fpb"],
        capture_output=True,
        text=True,
        check=False,
    )
    subprocess.run(["ip", "netns", "del", name], check=True)
    return f"no virtual Ethernet pairs: {linked.stderr.strip()}" if linked.returncode else ""


@contextmanager
def joined_pair() -> Iterator[tuple[Namespace, Namespace]]:
    """A sender and a receiver, joined; nothing but what we send passes between them."""
    turn = next(_TURNS)
    names = [f"fp{os.getpid()}-{turn}{end}" for end in "ab"]
    pair = [Namespace(names[i], f"fp{'ab'[i]}", f"10.77.0.{i + 1}", f"02:00:00:77:00:0{i + 1}") for i in range(2)]
    try:
        for end in pair:
            subprocess.run(["ip", "netns", "add", end.name], check=True)
            end.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        make = ["ip", "-n", names[0], "link", "add", "fpa", "type", "veth", "peer", "name", "fpb", "netns", names[1]]
        subprocess.run(make, check=True)
        for end, other in (pair, pair[::-1]):
            end.run("ip", "link", "set", end.port, "address", end.station, "up")
            end.run("ip", "address", "add", f"{end.address}/24", "dev", end.port)
            end.run("ip", "neighbour", "add", other.address, "lladdr", other.station, "dev", end.port)  # hence no ARP
        yield pair[0], pair[1]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextmanager
def without_rights() -> Iterator[None]:
    """For a while this process is an ordinary user's."""
    user = os.geteuid()
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
