"""TCP traffic of known volume between two namespaces, and what a capture of it says."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from capture.live.packet_ring import PacketRing
from capture.tables.addresses import from_words
from tests.capture.exported import Key
from tests.capture.live.namespaces import Namespace

_MAX_PACING_RATE = 47  # SO_MAX_PACING_RATE, not in the socket module
_PIECE = bytes(1 << 16)
_QUIET_S = 0.3
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Transfer:
    """So many bytes over one connection, at no more than so many a second."""

    source: Namespace
    target: Namespace
    port: int
    volume_bytes: int
    pace_bps: int = 20_000_000 * 8


def carry(transfers: Sequence[Transfer]) -> None:
    """Carry out transfers at the same time; returns when every byte has arrived."""
    with ThreadPoolExecutor(2 * len(transfers)) as pool:
        taken = [pool.submit(_take, _listener(transfer)) for transfer in transfers]
        for sent in [pool.submit(_send, transfer) for transfer in transfers]:
            sent.result()
        assert [done.result() for done in taken] == [transfer.volume_bytes for transfer in transfers]


@contextmanager
def watched(*spaces: Namespace) -> Iterator[list[PacketRing]]:
    """Rings that hold what comes in at each namespace's port; small volumes only, for nobody takes it out meanwhile."""
    rings: list[PacketRing] = []
    try:
        for space in spaces:
            with space.entered():
                rings.append(PacketRing(space.port))
        yield rings
    finally:
        for ring in rings:
            ring.close()


def seen(rings: Sequence[PacketRing]) -> dict[Key, tuple[int, int]]:
    """IP bytes and packets per flow of all that rings hold."""
    total: Counter[Key] = Counter()
    count: Counter[Key] = Counter()
    names = ["src_high", "src_low", "dst_high", "dst_low", "src_port", "dst_port", "ip_bytes", "reason"]
    for ring in rings:
        while (packets := ring.poll(_QUIET_S)) is not None:
            for *ends, sport, dport, size, reason in packets[names].tolist():
                assert reason == 0
                key = (from_words(*ends[:2]), from_words(*ends[2:]), sport, dport)
                total[key] += size
                count[key] += 1
        assert ring.losses().dropped == 0
    return {key: (total[key], count[key]) for key in total}


def _listener(transfer: Transfer) -> socket.socket:
    with transfer.target.entered():
        listener = socket.create_server((transfer.target.address, transfer.port))
    listener.settimeout(_PATIENCE_S)
    return listener


def _take(listener: socket.socket) -> int:
    with listener, listener.accept()[0] as connection:
        connection.settimeout(_PATIENCE_S)
        return sum(iter(lambda: len(connection.recv(1 << 16)), 0))


def _send(transfer: Transfer) -> None:
    with transfer.source.entered():
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with connection:
        connection.settimeout(_PATIENCE_S)
        connection.setsockopt(socket.SOL_SOCKET, _MAX_PACING_RATE, transfer.pace_bps // 8)
        connection.connect((transfer.target.address, transfer.port))
        left = transfer.volume_bytes
        while left:
            left -= connection.send(_PIECE[:left])
