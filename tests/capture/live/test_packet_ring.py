"""A ring on one end of a pair of virtual interfaces, frames sent into the other."""

import gc
import platform
import re
import resource
import socket
import sys
import time

import numpy as np
import pytest

from capture.ingest_log import IngestLog
from capture.live.packet_ring import PacketRing
from capture.mirror.mirror import Mirror
from datamodel.errors import InputError
from tests.capture.frames import bth, ethernet, ip, meaning, tcp, tcp_frame, udp
from tests.capture.live.arrivals import NAMES, flows_of, frames_of, gathered, rows_from, rows_of, same_flows, seen_like
from tests.capture.live.namespaces import Namespace, joined_pair, without_rights

SMALLEST_RING = 1 << 20


def ring_in(
    place: Namespace, snap_bytes: int = 192, fanout: int | None = None, ring_bytes: int = 1 << 23
) -> PacketRing:
    """A ring on the port of a namespace."""
    with place.entered():
        return PacketRing(place.port, ring_bytes, snap_bytes, fanout)


@pytest.mark.parametrize("name", NAMES)
def test_capture_sent_is_capture_read(sender: Namespace, receiver: Namespace, name: str) -> None:
    """A capture's frames, received live, are the packets and the flow records that reading the file gives."""
    expected = rows_of(name)
    with ring_in(receiver) as ring:
        sender.send(frames_of(name))
        rows = gathered(ring, len(expected))
        assert ring.losses().received == len(expected)
    expected = seen_like(rows, expected)
    assert meaning(expected) == meaning(rows)
    assert len(flows_of(rows).frame) > 0
    assert same_flows(flows_of(expected), flows_of(rows))


def test_time_stamps_are_the_kernels(sender: Namespace, receiver: Namespace) -> None:
    """Times are UTC in nanoseconds, of the moment a frame came in, and never go back."""
    with ring_in(receiver) as ring:
        before = time.time_ns()
        sender.send([tcp_frame(i, 1) for i in range(100)])
        after = time.time_ns()
        time.sleep(0.1)
        times = gathered(ring, 100)["time_ns"]
    assert (np.diff(times) >= 0).all()
    assert before < times[0] <= times[-1] < after
    assert len(np.unique(times % 1000)) > 1


def test_packets_come_promptly(sender: Namespace, receiver: Namespace) -> None:
    """A single packet does not wait for a block to fill."""
    with ring_in(receiver) as ring:
        assert ring.poll(0) is None
        sender.send([tcp_frame(1, 1)])
        batch = ring.poll(1.0)
        assert batch is not None
        assert len(batch) == 1


def test_many_blocks_keep_their_order(sender: Namespace, receiver: Namespace) -> None:
    """Frames beyond one batch and one block come whole and in order, round the ring and round again."""
    sent, part = 30_000, 5_000
    frames = [tcp_frame(i, 100) for i in range(sent)]
    with ring_in(receiver, ring_bytes=4 * SMALLEST_RING) as ring:
        numbers = []
        for first in range(0, sent, part):
            sender.send(frames[first : first + part])
            numbers.append(gathered(ring, part)["sequence"])
        assert ring.losses().dropped == 0
    assert np.array_equal(np.concatenate(numbers), np.arange(sent))


def test_vlan_tag_is_looked_through(sender: Namespace, receiver: Namespace) -> None:
    """A tag that the kernel takes off the frame is counted; a second one stays in it; the packet is read either way."""
    inner = ip(6, tcp(1, 2, 3, 4, 16, 100))
    tagged = [ethernet(inner, tags=((0x8100, 5),)), ethernet(inner, tags=((0x88A8, 7), (0x8100, 5))), ethernet(inner)]
    with ring_in(receiver) as ring:
        sender.send(tagged)
        rows = gathered(ring, 3)
        assert ring.stripped_tags == 2
    assert meaning(seen_like(rows, rows_from([ethernet(inner)] * 3))) == meaning(rows)


def test_cut_frames_keep_their_sizes(sender: Namespace, receiver: Namespace) -> None:
    """Of every frame the first bytes are kept; what lies beyond is missing, the sizes are not."""
    write = ethernet(ip(17, udp(1, 4791, bth(0x0A, 7, 9, bytes(16) + bytes(500)))))
    with ring_in(receiver, snap_bytes=60) as ring:
        sender.send([tcp_frame(1, 1400), write])
        rows = gathered(ring, 2)
    assert rows["payload_bytes"].tolist() == [1400, 500]
    assert rows["header_cut"].tolist() == [0, 1]


def test_own_frames_are_left_out(sender: Namespace, receiver: Namespace) -> None:
    """What this machine sends out of the interface is not taken for mirrored traffic."""
    with ring_in(receiver) as ring:
        receiver.send([tcp_frame(1, 1)])
        sender.send([tcp_frame(2, 1)])
        assert gathered(ring, 2, patience_s=0.5)["sequence"].tolist() == [2]


def test_interface_takes_frames_for_anyone(receiver: Namespace) -> None:
    """The interface is promiscuous while a ring is open, and no longer."""

    def promiscuity() -> int:
        found = re.search(r"promiscuity (\d+)", receiver.run("ip", "-d", "link", "show", receiver.port))
        assert found
        return int(found[1])

    with ring_in(receiver):
        assert promiscuity() == 1
    assert promiscuity() == 0


def test_group_shares_the_flows(sender: Namespace, receiver: Namespace) -> None:
    """Rings of one group get every packet once, both directions of a TCP connection at the same ring."""
    frames = []
    for port in range(64):
        frames += [ethernet(ip(6, tcp(1000 + port, 2000, 1, 1, 16, 50)))]
        frames += [ethernet(ip(6, tcp(2000, 1000 + port, 1, 51, 16), "10.0.0.2", "10.0.0.1"))]
    with ring_in(receiver, fanout=77) as one, ring_in(receiver, fanout=77) as two:
        sender.send(frames)
        shares = [gathered(ring, len(frames), patience_s=0.5) for ring in (one, two)]
    ports = [set((rows["src_port"].astype(int) + rows["dst_port"]).tolist()) for rows in shares]
    assert sum(map(len, shares)) == len(frames)
    assert all(ports)
    assert not ports[0] & ports[1]


def test_group_of_other_kind_is_refused(receiver: Namespace) -> None:
    """A group number that another program uses in another way is one line."""
    with receiver.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as other:
        other.bind((receiver.port, 3))
        other.setsockopt(263, 18, 78 | 1 << 16)
        with pytest.raises(InputError, match=rf"^{receiver.port}: cannot join fan-out group 78: "):
            PacketRing(receiver.port, SMALLEST_RING, fanout=78)


def test_overload_is_counted(sender: Namespace, receiver: Namespace) -> None:
    """Frames that find the ring full are counted as dropped, and those before them are all there."""
    sent = 20_000
    with ring_in(receiver, ring_bytes=SMALLEST_RING) as ring:
        sender.send([tcp_frame(i, 100) for i in range(sent)])
        losses = ring.losses()
        assert losses.dropped > 0
        assert losses.freezes >= 1
        assert losses.received + losses.dropped == sent
        rows = gathered(ring, losses.received)
        assert rows["sequence"].tolist() == list(range(losses.received))
        ingest_log = IngestLog()
        ring.account(ingest_log)
    assert ingest_log.notes().rejected == {"dropped by the kernel (receive ring full)": losses.dropped}
    assert ring.losses() == losses


def test_ring_recovers_from_overload(sender: Namespace, receiver: Namespace) -> None:
    """Once there is room again, frames come in again."""
    with ring_in(receiver, ring_bytes=SMALLEST_RING) as ring:
        sender.send([tcp_frame(i, 100) for i in range(20_000)])
        gathered(ring, ring.losses().received)
        sender.send([tcp_frame(i, 100) for i in range(50_000, 50_100)])
        assert gathered(ring, 100)["sequence"].tolist() == list(range(50_000, 50_100))


def test_memory_stays_flat_under_overload(sender: Namespace, receiver: Namespace) -> None:
    """However much comes, a ring holds what it was given, and following one flow's packets holds its records."""
    frames = [tcp_frame(1 + i % 50 * 100, 100) for i in range(10_000)]
    peaks = []
    with ring_in(receiver, ring_bytes=SMALLEST_RING) as ring:
        mirror = Mirror()
        for _ in range(6):
            sender.send(frames)
            mirror.feed(gathered(ring, 1))
            gc.collect()
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        losses = ring.losses()
    assert losses.dropped > 20_000
    assert (peaks[-1] - peaks[1]) * 1024 < SMALLEST_RING


def test_merged_frames_are_told_of(sender: Namespace, receiver: Namespace) -> None:
    """TCP packets that offload merged into one frame are counted and the remedy is named."""
    port = 5201
    with ring_in(receiver) as ring, receiver.entered(), socket.create_server((receiver.address, port)) as server:
        with sender.entered():
            client = socket.create_connection((receiver.address, port), timeout=5)
        with client, server.accept()[0] as taken:
            client.sendall(bytes(60_000))
            received = 0
            while received < 60_000:
                received += len(taken.recv(1 << 16))
        gathered(ring, 4, patience_s=0.3)
        ingest_log = IngestLog()
        ring.account(ingest_log)
    if not ingest_log.warnings and tuple(map(int, platform.release().split(".")[:2])) < (6, 6):
        pytest.skip("a kernel that does not mark merged frames")
    (warning,) = ingest_log.notes().warnings
    assert re.match(rf"{receiver.port}: \d+ frames are TCP packets that receive offload merged", warning)
    assert warning.endswith(f"ethtool -K {receiver.port} gro off lro off")


def test_no_such_interface(receiver: Namespace) -> None:
    """A name that is no interface is one line."""
    with receiver.entered(), pytest.raises(InputError, match=r"^nosuch0: no such interface$"):
        PacketRing("nosuch0")


def test_interface_down(receiver: Namespace) -> None:
    """An interface that is down is one line; the ring is not left half open."""
    with receiver.entered(), pytest.raises(InputError, match=r"^lo: the interface is down$"):
        PacketRing("lo")


def test_not_permitted(receiver: Namespace) -> None:
    """Without the right to capture, one line names the capability."""
    with receiver.entered(), without_rights(), pytest.raises(InputError, match="CAP_NET_RAW"):
        PacketRing(receiver.port)


@pytest.mark.parametrize(
    ("snap_bytes", "fanout", "cause"),
    [(0, None, "at least one byte"), (192, 70_000, "from 0 to 65535, not 70000"), (192, -1, "from 0 to 65535, not -1")],
)
def test_number_out_of_range(snap_bytes: int, fanout: int | None, cause: str) -> None:
    """A number that cannot be meant is one line, and is not bent into one that can."""
    with pytest.raises(InputError, match=f"^lo: .*{cause}"):
        PacketRing("lo", SMALLEST_RING, snap_bytes, fanout)


def test_not_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere one line names the way that is open."""
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InputError, match=r"^en0: receiving from the network needs Linux; .* pcap stream from a pipe$"):
        PacketRing("en0")


def test_interface_goes_down_and_up(sender: Namespace, receiver: Namespace) -> None:
    """An interface that is down for a while is silent, then goes on."""
    with ring_in(receiver) as ring:
        receiver.run("ip", "link", "set", receiver.port, "down")
        assert gathered(ring, 1, patience_s=0.2).size == 0
        receiver.run("ip", "link", "set", receiver.port, "up")
        heard: set[int] = set()
        until = time.monotonic() + 60
        while not heard and time.monotonic() < until:  # the link takes a while to carry again; until then it drops
            sender.send([tcp_frame(5, 1)])
            heard = set(gathered(ring, 1, patience_s=0.2)["sequence"].tolist())
        assert heard == {5}


def test_interface_removed(pair: object) -> None:
    """An interface that is removed does not come back, and waiting for it ends with one line."""
    assert pair  # skips where there are no namespaces
    with joined_pair() as (_, receiver), ring_in(receiver) as ring:
        receiver.run("ip", "link", "del", receiver.port)
        with pytest.raises(InputError, match="the interface was removed"):
            gathered(ring, 1, patience_s=2)
