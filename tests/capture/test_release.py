"""Records taken from a mirror while it goes on are the records that it would have given at its end."""

from pathlib import Path

import numpy as np
import pytest

from capture.capture_file import batches
from capture.ledger import Ledger
from capture.mirror import SETTLED_NS, Mirror
from capture.stream import blocks
from capture.wire import Packets
from datamodel.flows import Flows
from tests.capture.frames import (
    ACKNOWLEDGE,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_MIDDLE,
    aeth,
    decoded,
    pcap,
    reth,
    roce_frame,
    tcp_frame,
)

US, MS = 1_000, 1_000_000
T = 1_700_000_000 * 10**9
FOREVER = np.iinfo(np.int64).max


def traffic() -> Packets:
    """Six seconds of TCP and RoCE writes, both with acknowledgements, and a retransmission now and then."""
    frames: list[tuple[int, bytes]] = []
    for burst in range(60):
        at, first = T + burst * 100 * MS, 1 + burst * 10_000
        sent = (tcp_frame(first + i * 1000, 1000, ident=burst * 10 + i + 1) for i in range(10))
        frames += [(at + i * 3 * US, frame) for i, frame in enumerate(sent)]
        if burst % 7 == 3:
            frames.append((at + 900 * US, tcp_frame(first, 1000, ident=60_000 - burst)))
        frames.append((at + 2 * MS, tcp_frame(1, 0, ack=first + 10_000, back=True)))
        psn = 100 + burst * 3
        for i, opcode in enumerate((WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST)):
            body = (reth(3072) if i == 0 else b"") + bytes(1024)
            frames.append((at + MS + i * US, roce_frame(opcode, 7, psn + i, body)))
        frames.append((at + 3 * MS, roce_frame(ACKNOWLEDGE, 9, psn + 2, aeth(0x1F), back=True, sport=51000)))
    return decoded(pcap(sorted(frames)))


def rows(parts: list[Flows]) -> list[tuple[object, ...]]:
    """All records of all parts with addresses as text, sorted."""
    found = []
    for part in parts:
        frame = part.frame
        names = [[part.addresses[code] for code in frame[column]] for column in ("src_addr", "dst_addr")]
        values = [frame[c].tolist() for c in frame.schema.names if not c.endswith(("_addr", "_address"))]
        found += list(zip(*names, *values, strict=True))
    return sorted(found)


@pytest.mark.parametrize("step", [1, 7, 100])
def test_parts_are_the_whole(step: int) -> None:
    """However often records are taken, together they are those of the whole, acknowledgements included."""
    packets = traffic()
    whole = Mirror()
    whole.feed(packets)
    mirror, parts = Mirror(), []
    for first in range(0, len(packets), step):
        part = packets[first : first + step]
        mirror.feed(part)
        parts.append(mirror.take(int(part["time_ns"][-1]) - SETTLED_NS))
    assert sum(len(part.frame) > 0 for part in parts) > 5
    parts.append(mirror.take(FOREVER))
    assert rows(parts) == rows([whole.flows()])
    assert mirror.packets == whole.packets
    assert len(mirror.flows().frame) == 0


def test_real_mirror_in_parts(shared: Path) -> None:
    """The same holds of a real mirror's every packet, taken batch by batch."""
    path = shared / "captures" / "s1-healthy" / "mirror.pcap.gz"
    whole, mirror, parts = Mirror(), Mirror(), []
    for batch in batches(blocks(path, Ledger()), path.name, Ledger()):
        whole.feed(batch.packets)
        mirror.feed(batch.packets)
        if len(batch.packets):
            parts.append(mirror.take(int(batch.packets["time_ns"].max()) - SETTLED_NS))
    parts.append(mirror.take(FOREVER))
    assert sum(len(part.frame) > 0 for part in parts) > 10
    assert rows(parts) == rows([whole.flows()])


def test_taken_records_are_gone() -> None:
    """What was taken does not come again, and what is not settled stays."""
    mirror, packets = Mirror(), traffic()
    mirror.feed(packets)
    middle = int(packets["time_ns"][len(packets) // 2])
    before, after = mirror.take(middle), mirror.flows()
    assert before.frame["time_flow_end_ns"].max() < middle <= after.frame["time_flow_end_ns"].min()
    assert len(mirror.take(middle).frame) == 0


def test_open_records_go_too() -> None:
    """A silent flow's open record is taken; the next packet of the flow begins another and follows on."""
    mirror = Mirror()
    for at, sequence in ((0, 1), (5 * SETTLED_NS, 101), (5 * SETTLED_NS + US, 1)):
        mirror.feed(decoded(pcap([(T + at, tcp_frame(sequence, 100))])))
        taken = mirror.take(T + SETTLED_NS)
        assert len(taken.frame) == (1 if at == 0 else 0)
    frame = mirror.flows().frame
    assert frame["payload_bytes"].tolist() == [100, 0]
    assert frame["retransmitted_packets"].tolist() == [0, 1]


def test_memory_is_that_of_what_is_not_taken() -> None:
    """A mirror from which records are taken does not grow with the packets."""
    mirror, packets = Mirror(), traffic()
    lengths = []
    for _ in range(20):
        packets["time_ns"] += 10 * SETTLED_NS
        packets["sequence"] += 1_000_000
        mirror.feed(packets)
        mirror.take(FOREVER)
        lengths.append(len(mirror._rows))
    assert lengths[-1] == lengths[0]
