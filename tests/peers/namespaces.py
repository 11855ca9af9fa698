"""Networks of namespaces that the exporters live in: two hosts on one cable, or two hosts on one switch."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from tests.capture.live.namespaces import Namespace, joined_pair, why_not

SWITCH_PORTS = ("p1", "p2")
ETHERNET_HEADER_BYTES = 14
_TURNS = count()


def need(*tools: str) -> None:
    """Skip the test, with the reason, where namespaces cannot be made or a program is missing."""
    if reason := why_not():
        pytest.skip(reason)
    for tool in ("ethtool", *tools):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


@contextmanager
def cable() -> Iterator[tuple[Namespace, Namespace]]:
    """Two hosts joined directly."""
    with joined_pair() as ends:
        try:
            for end in ends:
                _settle(end, end.port)
            yield ends
        finally:
            for end in ends:
                end_processes(end)


@contextmanager
def star() -> Iterator[tuple[Namespace, Namespace, Namespace]]:
    """A switch's namespace with the ports p1 and p2, and the two hosts behind them; nothing forwards yet."""
    name = f"fpp{os.getpid()}-{next(_TURNS)}"
    switch = Namespace(f"{name}s", SWITCH_PORTS[0], "", "")
    hosts = [Namespace(f"{name}{'ab'[i]}", "eth0", f"10.78.0.{i + 1}", f"02:00:00:78:00:0{i + 1}") for i in range(2)]
    try:
        for space in (switch, *hosts):
            subprocess.run(["ip", "netns", "add", space.name], check=True)
            space.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
        for host, other, port in zip(hosts, hosts[::-1], SWITCH_PORTS, strict=True):
            _plug_in(host, switch, port)
            host.run("ip", "neighbour", "add", other.address, "lladdr", other.station, "dev", host.port)  # hence no ARP
        yield switch, hosts[0], hosts[1]
    finally:
        for space in (switch, *hosts):
            end_processes(space)
            subprocess.run(["ip", "netns", "del", space.name], check=False, capture_output=True)


def end_processes(space: Namespace) -> None:
    """Kill what a failed test left running inside a namespace: nobody but the test put a process there."""
    told = subprocess.run(["ip", "netns", "pids", space.name], check=False, capture_output=True, text=True).stdout
    for process in told.split():
        with suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)


def received(space: Namespace, port: str | None = None) -> tuple[int, int]:
    """IP bytes and packets that came in on a port so far, as the kernel counts them; nothing but IP is sent here."""
    folder = Path("/sys/class/net", port or space.port, "statistics")
    frame_bytes, packets = map(int, space.run("cat", str(folder / "rx_bytes"), str(folder / "rx_packets")).split())
    return frame_bytes - ETHERNET_HEADER_BYTES * packets, packets


def _plug_in(host: Namespace, switch: Namespace, port: str) -> None:
    make = ["link", "add", host.port, "type", "veth", "peer", "name", port, "netns", switch.name]
    subprocess.run(["ip", "-n", host.name, *make], check=True)
    host.run("ip", "link", "set", host.port, "address", host.station)
    host.run("ip", "address", "add", f"{host.address}/24", "dev", host.port)
    for space, end in ((host, host.port), (switch, port)):
        _settle(space, end)


def _settle(space: Namespace, port: str) -> None:
    """Up, and with packets on the wire as they will be counted: not merged into larger ones."""
    space.run("ip", "link", "set", "lo", "up")
    space.run("ip", "link", "set", port, "up")
    space.run("ethtool", "-K", port, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
