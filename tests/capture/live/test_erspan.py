"""ERSPAN packets sent across two namespaces, their sessions ended at the other end."""

import select
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from capture.ingest_log import IngestLog
from capture.live.erspan import ErspanSessions, SessionLosses
from capture.mirror.mirror import Mirror
from datamodel.errors import InputError
from tests.capture.frames import ethernet, ip, meaning, tcp, tcp_frame
from tests.capture.live.arrivals import flows_of, frames_of, gathered, rows_of, same_flows, seen_like
from tests.capture.live.gre import erspan_one, erspan_three, erspan_two
from tests.capture.live.namespaces import Namespace, without_rights

BURST = "tcp-burst-and-ack.pcap.gz"
ICMP_UNREACHABLE = 3


@pytest.fixture
def sessions(receiver: Namespace) -> Iterator[ErspanSessions]:
    """All sessions that end at the receiver's address."""
    with receiver.entered():
        opened = ErspanSessions(receiver.address)
    with opened:
        yield opened


def send(sender: Namespace, receiver: Namespace, payloads: Iterable[bytes]) -> None:
    """Send GRE payloads to the receiver; the kernel writes the IP header."""
    with sender.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW, 47) as sock:
        for payload in payloads:
            sock.sendto(payload, (receiver.address, 0))


def mirrored(kind: int, frame: bytes, sequence: int) -> bytes:
    """A frame in a session of the given type, number 7 where sessions have one."""
    if kind == 1:
        return erspan_one(frame)
    return erspan_two(frame, 7, sequence) if kind == 2 else erspan_three(frame, 7, sequence)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_mirrored_frames_are_the_records(
    sender: Namespace, receiver: Namespace, sessions: ErspanSessions, kind: int
) -> None:
    """Frames mirrored in any type of session become the records of the frames, with the switch as sampler."""
    send(sender, receiver, (mirrored(kind, frame, n) for n, frame in enumerate(frames_of(BURST))))
    expected = rows_of(BURST)
    rows = gathered(sessions, len(expected))
    assert set(rows["session"].tolist()) == {0 if kind == 1 else 7}
    mirror = Mirror()
    mirror.feed(rows)
    assert mirror.exporters == (sender.address,)
    flows = mirror.flows()
    assert {flows.addresses[code] for code in flows.frame["sampler_address"]} == {sender.address}
    for column in ("sampler_high", "sampler_low", "session"):
        rows[column] = 0
    expected = seen_like(rows, expected)
    assert meaning(expected) == meaning(rows)
    assert same_flows(flows_of(expected), flows_of(rows))


def test_subheader_and_fragments(sender: Namespace, receiver: Namespace, sessions: ErspanSessions) -> None:
    """A platform subheader is skipped; a packet that had to be fragmented on its way is whole again."""
    long = ethernet(ip(6, tcp(1, 2, 3, 4, 16, 3000)))
    send(sender, receiver, [erspan_three(long, 9, 1, subheader=True)])
    rows = gathered(sessions, 1)
    assert (rows["payload_bytes"].tolist(), rows["session"].tolist(), rows["fragment"].tolist()) == ([3000], [9], [0])


def test_times_are_of_arrival(sender: Namespace, receiver: Namespace, sessions: ErspanSessions) -> None:
    """A packet bears the time it reached this machine, not the time it was taken from the socket."""
    before = time.time_ns()
    send(sender, receiver, [erspan_three(tcp_frame(1, 1), 1, 1)])
    after = time.time_ns()
    time.sleep(0.05)
    assert before < gathered(sessions, 1)["time_ns"][0] < after


def icmp_after(sender: Namespace, receiver: Namespace) -> int | None:
    """Type of the ICMP message that comes back when an ERSPAN packet is sent; None where none comes."""
    with sender.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as listener:
        send(sender, receiver, [erspan_two(tcp_frame(1, 1), 7, 1)])
        if not select.select([listener], [], [], 0.3)[0]:
            return None
        return listener.recv(1500)[20]


@pytest.mark.skipif(Path("/sys/module/gre").exists(), reason="the kernel's own GRE module answers (gre is loaded)")
def test_nothing_is_sent_back(sender: Namespace, receiver: Namespace) -> None:
    """While the sessions end here no `unreachable` goes back to the switch; without them one does."""
    with receiver.entered():
        opened = ErspanSessions(receiver.address)
    with opened:
        assert icmp_after(sender, receiver) is None
        assert len(gathered(opened, 1)) == 1
    assert icmp_after(sender, receiver) == ICMP_UNREACHABLE


def test_gaps_are_lost_packets(sender: Namespace, receiver: Namespace, sessions: ErspanSessions) -> None:
    """Numbers that a session skips are counted for it, across the wrap at 2^32; other sessions have their own."""
    numbers = [2**32 - 3, 2**32 - 2, 1, 0, 4]
    frame = tcp_frame(1, 1)
    send(sender, receiver, [erspan_two(frame, 5, n) for n in numbers] + [erspan_three(frame, 6, n) for n in (10, 11)])
    gathered(sessions, 7)
    assert sessions.sessions() == (
        SessionLosses(sender.address, 5, received=5, lost=0, missing=3, late=1, repeated=0, stray=0, restarts=0),
        SessionLosses(sender.address, 6, received=2, lost=0, missing=0, late=0, repeated=0, stray=0, restarts=0),
    )
    ingest_log = IngestLog()
    sessions.account(ingest_log)
    assert ingest_log.notes().rejected == {"lost between an ERSPAN source and here": 3}


def test_other_packets_are_counted(sender: Namespace, receiver: Namespace, sessions: ErspanSessions) -> None:
    """GRE that carries something else is rejected with its reason, and belongs to no session."""
    send(sender, receiver, [struct.pack("!HH", 0, 0x9999) + bytes(20), b"\x00"])
    mirror = Mirror()
    mirror.feed(gathered(sessions, 2))
    ingest_log = IngestLog()
    mirror.account(ingest_log)
    assert ingest_log.notes().rejected == {"cut off inside an encapsulation header": 1, "unknown encapsulation": 1}
    assert sessions.sessions() == ()


@pytest.mark.parametrize(("allow", "admitted"), [("192.0.2.0/24", 0), ("{}/32", 20), ("::/0", 20)])
def test_only_allowed_sources_are_let_in(sender: Namespace, receiver: Namespace, allow: str, admitted: int) -> None:
    """Packets from elsewhere are counted, whole sessions of them, and neither decoded nor followed."""
    with receiver.entered():
        opened = ErspanSessions(receiver.address, [allow.format(sender.address)])
    with opened:
        send(sender, receiver, (erspan_two(tcp_frame(n, 100), 5, n) for n in range(20)))
        assert len(gathered(opened, 20, patience_s=0.3)) == admitted
        ingest_log = IngestLog()
        opened.account(ingest_log)
        refused = {} if admitted else {"GRE packet of a source that is not allowed": 20}
        assert ingest_log.notes().rejected == refused
        assert (len(opened.sessions()), opened.losses().refused) == (admitted // 20, 20 - admitted)


def test_overload_is_counted(sender: Namespace, receiver: Namespace) -> None:
    """What finds the socket's buffer full is counted, once: every packet sent was received or dropped."""
    sent = 5000
    with receiver.entered():
        opened = ErspanSessions(receiver.address, buffer_bytes=1 << 18)
    with opened:
        send(sender, receiver, (erspan_two(tcp_frame(i, 100), 5, i) for i in range(sent)))
        received = len(gathered(opened, sent, patience_s=0.5))
        losses = opened.losses()
        assert losses.dropped > 0
        assert (received, losses.received + losses.dropped) == (losses.received, sent)
        assert opened.losses() == losses
        ingest_log = IngestLog()
        opened.account(ingest_log)
        assert ingest_log.notes().rejected["dropped by the kernel (socket buffer full)"] == losses.dropped


def test_not_permitted(receiver: Namespace) -> None:
    """Without the right to, one line names the capability."""
    with receiver.entered(), without_rights(), pytest.raises(InputError, match="CAP_NET_RAW"):
        ErspanSessions(receiver.address)


def test_not_a_local_address(receiver: Namespace) -> None:
    """An address of another machine is one line."""
    with (
        receiver.entered(),
        pytest.raises(InputError, match=r"^192.0.2.9: no interface of this machine has this address$"),
    ):
        ErspanSessions("192.0.2.9")


@pytest.mark.parametrize(
    ("address", "cause"),
    [("leaf1", "not an IP address"), ("0.0.0.0", "one local IPv4 address"), ("::1", "one local IPv4 address")],  # noqa: S104
)
def test_unusable_address(address: str, cause: str) -> None:
    """What is not one IPv4 address is one line."""
    with pytest.raises(InputError, match=f"^{address}: .*{cause}"):
        ErspanSessions(address)


def test_not_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere one line names the way that is open."""
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(InputError, match="needs Linux"):
        ErspanSessions("192.0.2.9")
