"""The receiver, through real sockets of the loopback interface."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from capture.exporters.datagram import IPFIX
from capture.receive.receiver import Receiver
from capture.receive.ring import Ring, free
from capture.receive.sockets import Listen, ListeningSocket, backlog, buffer_bytes_of, open_sockets
from capture.receive.source_filter import networks, words
from capture.tables.addresses import from_words
from datamodel.errors import InputError
from tests.capture.receive.rings import everything, small_ring

BUFFER_BYTES = 1 << 20
MESSAGE = b"\0\x0a\0\x14" + bytes(16)  # IPFIX, 20 bytes


OPEN: list[ListeningSocket] = []


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    """Close the sockets that a test opened."""
    yield
    while OPEN:
        OPEN.pop().socket.close()


def doors_at(*listens: Listen, workers: int = 1) -> list[list[ListeningSocket]]:
    """Sockets on ports that the system chooses; the test need not close them."""
    doors = open_sockets(listens, workers, BUFFER_BYTES)
    OPEN.extend(door for own in doors for door in own)
    return doors


@contextmanager
def receiving(ring: Ring, doors: list[ListeningSocket], *allowed: str) -> Iterator[None]:
    """A receiver at work, until the end of the block; it then has taken all that had come."""
    stop = threading.Event()
    receiver = Receiver(ring, doors, networks(allowed), stop.is_set)
    thread = threading.Thread(target=receiver.run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def sender(address: str, family: int = socket.AF_INET) -> socket.socket:
    """A UDP socket bound to an address of our own."""
    sock = socket.socket(family, socket.SOCK_DGRAM)
    sock.bind((address, 0))
    return sock


def test_datagrams_arrive_as_they_were_sent() -> None:
    """Bytes, order, source and time of every datagram are those of the wire, also of empty and of very long ones."""
    ring, ((door,),) = small_ring(1 << 19), doors_at(Listen("127.0.0.1", 0))
    sent = [b"", b"a", bytes(range(256)) * 200, b"\0\x0a\0\x10" + bytes(12), *(bytes([n]) * n for n in range(200))]
    before = time.time_ns()
    with sender("127.0.0.3") as sock, receiving(ring, [door]):
        for payload in sent:
            sock.sendto(payload, ("127.0.0.1", door.listen.port))
    assert everything(ring) == sent
    rows = ring.batch(0, len(sent), 1 << 20).index
    assert {from_words(int(r["source_high"]), int(r["source_low"])) for r in rows} == {"127.0.0.3"}
    assert rows["destination_port"].tolist() == [door.listen.port] * len(sent)
    assert (rows["source_port"] > 0).all()
    assert before <= rows["time_ns"].min() <= rows["time_ns"].max() <= time.time_ns()
    assert rows["protocol"][3] == IPFIX
    assert not rows["in_session"].any()
    assert ring.header["closed"] == 1
    assert ring.header["received"][0] == len(sent)


def test_ipv6() -> None:
    """Sources of IPv6 are told as such."""
    ring, ((door,),) = small_ring(), doors_at(Listen("::1", 0))
    with sender("::1", socket.AF_INET6) as sock, receiving(ring, [door]):
        sock.sendto(b"six", ("::1", door.listen.port))
    row = ring.batch(0, 1, 1 << 20).index[0]
    assert from_words(int(row["source_high"]), int(row["source_low"])) == "::1"


def test_both_families_on_one_port() -> None:
    """A star listens on IPv4 and IPv6; the two do not disturb each other."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        probe.bind(("::1", 0))
        port = probe.getsockname()[1]
    ring, (doors,) = small_ring(), doors_at(Listen("*", port))
    with receiving(ring, doors), sender("127.0.0.1") as four, sender("::1", socket.AF_INET6) as six:
        four.sendto(b"four", ("127.0.0.1", port))
        six.sendto(b"six", ("::1", port))
    assert sorted(everything(ring)) == [b"four", b"six"]


def test_a_full_ring_waits_and_loses_nothing_it_took() -> None:
    """With room for a part only the rest waits in the kernel; what the kernel drops it tells."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0))
    sent = [n.to_bytes(4, "big") * 250 for n in range(3000)]
    with sender("127.0.0.1") as sock, receiving(ring, [door]):
        for payload in sent:
            sock.sendto(payload, ("127.0.0.1", door.listen.port))
        got: list[bytes] = []

        def taken() -> bool:
            got.extend(everything(ring, len(got)))
            free(ring.shared, len(got))
            return len(got) + backlog(door.socket)[1] == len(sent)

        until(taken)
    assert ring.header["waits"] > 0
    assert ring.header["wait_ns"] > 0
    assert got == sorted(got)
    assert backlog(door.socket)[1] > 0


def test_only_allowed_sources() -> None:
    """Datagrams of others are counted by source and do not reach the ring."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0))
    target = ("127.0.0.1", door.listen.port)
    with sender("127.0.0.1") as good, sender("127.0.1.1") as bad, receiving(ring, [door], "127.0.0.0/24"):
        for _ in range(5):
            bad.sendto(b"bad", target)
            good.sendto(b"good", target)
    assert everything(ring) == [b"good"] * 5
    header = ring.header
    refused = {
        (int(r["high"]), int(r["low"])): int(r["datagrams"]) for r in header["refused_sources"] if r["datagrams"]
    }
    assert refused == {words("127.0.1.1"): 5}
    assert (header["refused"], header["refused_elsewhere"], header["received"][0]) == (5, 0, 5)


def test_refused_sources_are_bounded() -> None:
    """A flood of invented sources is counted to the last datagram in a table that does not grow."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0))
    with receiving(ring, [door], "192.0.2.0/24"):
        for n in range(600):
            with sender(f"127.{n % 200}.{n // 200}.9") as sock:
                sock.sendto(b"x", ("127.0.0.1", door.listen.port))
    header = ring.header
    assert header["refused"] == 600
    assert header["refused_sources"]["datagrams"].sum() + header["refused_elsewhere"] == 600
    assert header["refused_elsewhere"] > 0


def test_a_source_stays_with_its_worker() -> None:
    """Of several workers each source has one, whatever port it sends from, and all workers have some."""
    (ours,), (theirs,) = doors_at(Listen("127.0.0.1", 0), workers=2)
    rings = small_ring(), small_ring()
    assert ours.listen == theirs.listen
    with receiving(rings[0], [ours]), receiving(rings[1], [theirs]):
        for source in range(2, 34):
            for _ in range(3):
                with sender(f"127.0.0.{source}") as sock:
                    sock.sendto(bytes([source]), ("127.0.0.1", ours.listen.port))
    parts = [everything(ring) for ring in rings]
    assert sorted(parts[0] + parts[1]) == sorted(bytes([source]) for source in range(2, 34) for _ in range(3))
    assert parts[0]
    assert parts[1]
    assert not set(parts[0]) & set(parts[1])


def test_ipfix_messages_over_tcp() -> None:
    """Messages are found however TCP cuts the stream, with their peer's address and port."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0, tcp=True))
    long = b"\0\x0a\x03\xe8" + bytes(996)
    stream = MESSAGE + long + MESSAGE
    with receiving(ring, [door]), socket.create_connection(("127.0.0.1", door.listen.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in (stream[:3], stream[3:21], stream[21:22], stream[22:]):
            connection.sendall(piece)
            time.sleep(0.02)
        port = connection.getsockname()[1]
        until(lambda: int(ring.header["written"]) == 3)
        assert (ring.header["sessions"], ring.header["sessions_open"]) == (1, 1)
    assert everything(ring) == [MESSAGE, long, MESSAGE]
    rows = ring.batch(0, 3, 1 << 20).index
    assert (set(rows["source_port"].tolist()), rows["in_session"].tolist()) == ({port}, [1] * 3)
    assert ring.header["messages_cut"] == 0


@pytest.mark.parametrize("nonsense", [b"GET / HTTP/1.1\r\n\r\n", b"\0\x0a\0\x0f" + bytes(12), bytes(100)])
def test_what_is_no_ipfix_ends_its_session(nonsense: bytes) -> None:
    """A wrong version or length ends the session, after the good messages before it; other sessions go on."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0, tcp=True))
    address = ("127.0.0.1", door.listen.port)
    with receiving(ring, [door]), socket.create_connection(address) as good, socket.create_connection(address) as bad:
        bad.sendall(MESSAGE + nonsense)
        assert bad.recv(1) == b""
        good.sendall(MESSAGE)
        until(lambda: int(ring.header["written"]) == 2)
        assert ring.header["sessions_broken"] == 1


def test_a_message_cut_by_its_sender_is_counted() -> None:
    """A session that ends inside a message leaves a count."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0, tcp=True))
    with receiving(ring, [door]):
        with socket.create_connection(("127.0.0.1", door.listen.port)) as connection:
            connection.sendall(MESSAGE + MESSAGE[:7])
        until(lambda: int(ring.header["messages_cut"]) == 1)
    assert everything(ring) == [MESSAGE]


def test_sessions_of_others_are_refused() -> None:
    """The allow-list holds for TCP too."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0, tcp=True))
    with receiving(ring, [door], "192.0.2.0/24"):
        with socket.create_connection(("127.0.0.1", door.listen.port)) as connection:
            assert connection.recv(1) == b""
        assert ring.header["sessions_refused"] == 1


def test_a_full_ring_makes_tcp_wait() -> None:
    """A session that is faster than the ring loses nothing."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0, tcp=True))
    message = b"\0\x0a\x27\x10" + bytes(9996)
    got = 0
    with receiving(ring, [door]), socket.create_connection(("127.0.0.1", door.listen.port)) as connection:
        thread = threading.Thread(target=connection.sendall, args=(message * 200,))
        thread.start()
        while got < 200:
            got += len(everything(ring, got))
            free(ring.shared, got)
        thread.join()
    assert got == 200


def test_the_kernels_buffer_is_told() -> None:
    """What the kernel grants is what is reported."""
    ((door,),) = doors_at(Listen("127.0.0.1", 0))
    assert buffer_bytes_of(door.socket) == BUFFER_BYTES


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_a_taken_port_is_one_line(tcp: bool, shared: bool) -> None:
    """A port in use is named, also where its user would share it: nobody gets a part of what is meant for us."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(shared))
        other.bind(("127.0.0.1", 0))
        if tcp:
            other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1:{port}: cannot listen: Address already in use"):
            doors_at(Listen("127.0.0.1", port, tcp))


def test_a_port_is_free_again_at_once() -> None:
    """Sessions that ended a moment ago do not keep a restarted collector from its port."""
    ring, ((door,),) = small_ring(), doors_at(Listen("127.0.0.1", 0, tcp=True))
    with receiving(ring, [door]), socket.create_connection(("127.0.0.1", door.listen.port)) as connection:
        connection.sendall(MESSAGE + b"no IPFIX at all, so that we close first")
        assert connection.recv(1) == b""
    door.socket.close()
    ((again,),) = doors_at(Listen("127.0.0.1", door.listen.port, tcp=True))
    assert again.listen.port == door.listen.port
