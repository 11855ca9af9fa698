"""Which socket a source's datagrams go to: the kernel and the decoders' states agree on it."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from capture.receive.socket_places import SocketPlaces
from capture.receive.sockets import Listen
from capture.receive.source_filter import words
from capture.receive.steering import worker_of

SOURCES = [f"127.0.{n}.{n + 1}" for n in range(24)]


def owner(address: str, workers: int) -> int:
    """The worker of one source."""
    high, low = words(address)
    return int(worker_of(np.array([high]), np.array([low]), workers)[0])


def received(sockets: SocketPlaces, place: int) -> list[bytes]:
    """What waits in the socket of a place, taken out."""
    found = []
    while not sockets.is_empty([place]):
        found.append(sockets.doors[place][0].socket.recv(100))
    return found


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_the_kernel_chooses_as_we_compute(workers: int) -> None:
    """Every datagram is in the socket of the worker that its source is computed to have."""
    sockets = SocketPlaces.opened((Listen("127.0.0.1", 0),), workers, 1 << 20)
    try:
        places = sockets.take(workers)
        target = ("127.0.0.1", sockets.doors[0][0].listen.port)
        for source in SOURCES:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.bind((source, 0))
                sender.sendto(source.encode(), target)
        for worker, place in enumerate(places):
            assert received(sockets, place) == [s.encode() for s in SOURCES if owner(s, workers) == worker]
    finally:
        sockets.close()


def test_ipv6_addresses_are_folded() -> None:
    """The kernel joins the four words of an address; so do we (loopback has but one address to send from)."""
    sockets = SocketPlaces.opened((Listen("::1", 0),), 5, 1 << 20)
    try:
        places = sockets.take(5)
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"here", ("::1", sockets.doors[0][0].listen.port))
        assert received(sockets, places[owner("::1", 5)]) == [b"here"]
    finally:
        sockets.close()
    assert len({owner(f"2001:db8::{n:x}:1", 64) for n in range(64)}) > 20


def test_places_are_taken_and_given_back() -> None:
    """Sockets added later receive once they are chosen; those given back are used again, none is closed or opened."""
    sockets = SocketPlaces.opened((Listen("127.0.0.1", 0),), 1, 1 << 20)
    try:
        target = ("127.0.0.1", sockets.doors[0][0].listen.port)
        assert sockets.take(1) == [0]
        sockets.steer([0])
        assert sockets.take(2) == [1, 2]
        assert [door.listen for own in sockets.doors for door in own] == [sockets.doors[0][0].listen] * 3
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind(("127.0.0.1", 0))
            sender.sendto(b"before", target)
            sockets.steer([1, 2])
            sender.sendto(b"after", target)
            assert received(sockets, 0) == [b"before"]
            sockets.give_back([0])
            assert received(sockets, 1 + owner("127.0.0.1", 2)) == [b"after"]
        assert sockets.take(2) == [0, 3]
    finally:
        sockets.close()


def test_a_late_connection_is_ended() -> None:
    """One whose handshake ends after the place was given back would never be read; others are left alone."""
    sockets = SocketPlaces.opened((Listen("127.0.0.1", 0, tcp=True),), 1, 1 << 20)
    try:
        target = ("127.0.0.1", sockets.doors[0][0].listen.port)
        sockets.take(1)
        sockets.steer([0])
        sockets.take(1)
        with socket.create_connection(target, timeout=60) as late:
            sockets.steer([1])
            sockets.give_back([0])
            with socket.create_connection(target):
                sockets.refuse_late()
                assert late.recv(1) == b""
                sockets.doors[1][0].socket.accept()[0].close()
    finally:
        sockets.close()
