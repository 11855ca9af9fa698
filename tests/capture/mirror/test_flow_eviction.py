"""Records taken from a mirror while it goes on are the records that it would have given at its end."""

from pathlib import Path

import numpy as np
import pytest

from capture.files.capture_file import batches
from capture.files.decompression import read_blocks
from capture.ingest_log import IngestLog
from capture.mirror.mirror import FEW_FLOWS, IDLE_NS, SETTLED_NS, Mirror
from capture.mirror.packet_tracker import FLOWS
from capture.packets.packet_columns import Packets
from datamodel.telemetry.flows import Flows
from tests.capture.frames import (
    ACK,
    ACKNOWLEDGE,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_MIDDLE,
    WRITE_ONLY,
    aeth,
    bth,
    decoded,
    erspan2,
    ethernet,
    ip,
    pcap,
    reth,
    roce_frame,
    tcp,
    tcp_frame,
    udp,
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
    for batch in batches(read_blocks(path, IngestLog()), path.name, IngestLog()):
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


def passing(number: int, at: int) -> list[tuple[int, bytes]]:
    """A short TCP exchange and a RoCE message with its answer, on ports and addresses that only this number has."""
    client, server = f"10.1.{number >> 8}.{number & 255}", "10.2.0.1"
    qp = 100_000 + number
    write = udp(50_000, 4791, bth(WRITE_ONLY, qp, 5, reth(64) + bytes(64)))
    answer = udp(51_000, 4791, bth(ACKNOWLEDGE, qp + 1, 5, aeth(0x1F)))
    frames = [
        ip(6, tcp(1000 + number, 443, 1, 1, ACK, 100), client, server, ident=number + 1),
        ip(6, tcp(443, 1000 + number, 1, 101, ACK), server, client, ident=number + 1),
        ip(17, write, client, server),
        ip(17, answer, server, client),
    ]
    return [(at + i * US, ethernet(frame)) for i, frame in enumerate(frames)]


def test_flows_of_the_past_are_forgotten() -> None:
    """Flows that come and go cost no memory for ever, and the records are what they would have been."""
    lasting, whole, mirror, parts, tables = traffic(), Mirror(), Mirror(), [], []
    for hour in range(8):
        lasting["time_ns"] += 3600 * SETTLED_NS
        lasting["sequence"] += 70_000
        lasting["acknowledged"][lasting["acknowledged"] > 1] += 70_000
        now = int(lasting["time_ns"][0])
        short = [each for i in range(1000) for each in passing(hour * 1000 + i, now + i * MS)]
        both = np.concatenate([lasting, decoded(pcap(short))])
        batch = both[np.argsort(both["time_ns"], kind="stable")]
        for each in (whole, mirror):
            each.feed(batch)
        parts.append(mirror.take(now + 60 * SETTLED_NS))
        tables.append(int(mirror._counts[FLOWS]))
    assert max(tables) < 4 * tables[0] < whole._counts[FLOWS]
    assert rows(parts) == rows([whole.flows()])
    assert (np.concatenate([part.frame["time_acknowledged_ns"] for part in parts]) > 0).sum() > 8_000


def test_links_outlive_their_neighbours() -> None:
    """RoCE flows, their answers and their exporter are still known after others of the same pair were forgotten."""
    mirror = Mirror()

    def feed(at: int, frames: list[bytes]) -> None:
        """One microsecond apart, mirrored by a switch."""
        mirrored = [erspan2(frame, "192.0.2.1", 5) for frame in frames]
        mirror.feed(decoded(pcap([(T + at + i * US, frame) for i, frame in enumerate(mirrored)])))

    def write(qp: int, psn: int) -> bytes:
        """A message of one packet."""
        return roce_frame(WRITE_ONLY, qp, psn, reth(64) + bytes(64))

    def answer(qp: int, psn: int) -> bytes:
        """Its acknowledgement."""
        return roce_frame(ACKNOWLEDGE, qp, psn, aeth(0x1F), back=True, sport=51000)

    others = [write(1000 + i, 7 * i) for i in range(FEW_FLOWS)]
    feed(
        0,
        [*others[:2000], write(7, 900_000), answer(9, 900_000), write(8, 800_000), answer(10, 800_000), *others[2000:]],
    )
    mirror.take(T + SETTLED_NS)
    assert mirror._counts[FLOWS] > FEW_FLOWS
    later = IDLE_NS + 10 * SETTLED_NS
    feed(later, [write(7, 900_001), answer(9, 900_001), write(8, 800_001), answer(10, 800_001)])
    mirror.take(T + later)
    assert mirror._counts[FLOWS] == 6  # four flows, an exporter, a pair
    mirror.take(FOREVER)
    # Numbers that both queue pairs await: whose answers these are can only be remembered, no longer found out.
    feed(later + MS, [write(7, 900_002), write(8, 900_002), answer(9, 900_002), answer(10, 900_002)])
    flows = mirror.flows()
    data = flows.frame.take(flows.frame["payload_bytes"] > 0)
    assert (data["src_qp"].tolist(), data["dst_qp"].tolist()) == ([9, 10], [7, 8])
    assert (data["time_acknowledged_ns"] - T - later - MS).tolist() == [2 * US, 3 * US]
    assert [flows.addresses[code] for code in data["sampler_address"]] == ["192.0.2.1"] * 2
    assert mirror.exporters == ("192.0.2.1",)
