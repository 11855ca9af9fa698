"""Export datagrams longer than the path's packets come in fragments; they are read as if they had not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from tests.capture.export_bytes import flow_sample, netflow5, record5, sflow
from tests.capture.frames import ethernet, ip, ip6, pcap, roce_frame, save, udp

LONG = sflow(tuple(flow_sample(roce_frame(7, 1, n), n, 1000, 3, 0) for n in range(20)))
SHORT = netflow5((record5(),))
AGENT, COLLECTOR = "10.255.0.1", "10.9.9.9"


def fragments4(datagram: bytes, ident: int = 7, size: int = 800) -> list[bytes]:
    """The frames of an IPv4 datagram cut in fragments."""
    parts = range(0, len(datagram), size)
    return [
        ethernet(
            ip(
                17, datagram[at : at + size], AGENT, COLLECTOR, ident=ident,
                fragment=at // 8 | (0x2000 if at + size < len(datagram) else 0),
            )
        )
        for at in parts
    ]  # fmt: skip


def fragments6(datagram: bytes, size: int = 800) -> list[bytes]:
    """The same over IPv6."""
    parts = range(0, len(datagram), size)
    heads = [b"\x11\0" + (at | (at + size < len(datagram))).to_bytes(2, "big") + b"\0\0\0\7" for at in parts]
    bodies = [head + datagram[at : at + size] for head, at in zip(heads, parts, strict=True)]
    return [ethernet(ip6(44, body, "2001:db8::1", "2001:db8::2"), 0x86DD) for body in bodies]


def fragments6_authenticated(datagram: bytes) -> list[bytes]:
    """The same behind authentication headers (RFC 4302), whose lengths count other units than those of others do."""
    plain = fragments6(datagram)
    before = b"\x2c\x02" + bytes(14)
    return [
        frame[:18] + (len(frame) - 54 + len(before)).to_bytes(2, "big") + b"\x33" + frame[21:54] + before + frame[54:]
        for frame in plain
    ]


def payloads(folder: Path, frames: list[bytes], ingest_log: IngestLog, snap: int = 262144) -> list[tuple[bytes, bool]]:
    """The datagrams of a capture of frames a microsecond apart, and whether each was cut."""
    path = save(folder, pcap([(10**18 + n * 1000, frame) for n, frame in enumerate(frames)], snap=snap))
    return [
        (batch.data[row["offset"] : row["offset"] + row["bytes"]].tobytes(), bool(row["cut"]))
        for batch in read_datagrams(path, ingest_log)
        for row in batch.index
    ]


@pytest.mark.parametrize("cut", [fragments4, fragments6, fragments6_authenticated])
@pytest.mark.parametrize("order", [1, -1])
def test_fragments_are_put_together(tmp_path: Path, cut: Callable[[bytes], list[bytes]], order: int) -> None:
    """In whatever order they come; the datagram stands where its last fragment came, between its neighbours."""
    neighbour = ethernet(ip(17, udp(40000, 2055, SHORT), AGENT, COLLECTOR))
    frames = cut(udp(40000, 6343, LONG))[::order]
    assert len(frames) > 3
    ingest_log = IngestLog()
    found = payloads(tmp_path, [neighbour, *frames[:-1], neighbour, frames[-1], neighbour], ingest_log)
    assert found == [(SHORT, False), (SHORT, False), (LONG, False), (SHORT, False)]
    assert ingest_log.rejected == {}


def test_datagrams_between_one_another(tmp_path: Path) -> None:
    """Fragments belong together by their identification; one that comes twice counts once."""
    first, second = fragments4(udp(1, 6343, LONG), 7), fragments4(udp(1, 6343, LONG[::-1]), 8)
    mixed = [frame for pair in zip(first, second, strict=True) for frame in pair]
    ingest_log = IngestLog()
    found = payloads(tmp_path, [mixed[0], *mixed], ingest_log)
    assert found == [(LONG, False)]
    assert ingest_log.rejected == {"packet that carries no export datagram": len(second)}


def test_what_lacks_a_fragment_is_read_up_to_the_gap(tmp_path: Path) -> None:
    """A capture that was filtered by port holds first fragments only."""
    frames = fragments4(udp(1, 6343, LONG))
    ingest_log = IngestLog()
    assert payloads(tmp_path, [frames[0], *frames[2:]], ingest_log) == [(LONG[:792], True)]
    assert ingest_log.rejected == {"fragment of a datagram whose other fragments are missing": len(frames) - 1}


def test_without_the_first_fragment_nothing_is_known(tmp_path: Path) -> None:
    """Neither ports nor protocol: the fragments are counted."""
    ingest_log = IngestLog()
    neighbour = ethernet(ip(17, udp(40000, 2055, SHORT), AGENT, COLLECTOR))
    frames = fragments4(udp(1, 6343, LONG))
    assert payloads(tmp_path, [neighbour, *frames[1:]], ingest_log) == [(SHORT, False)]
    assert ingest_log.rejected == {"fragment of a datagram whose other fragments are missing": len(frames) - 1}


def test_fragments_that_the_snap_length_cut(tmp_path: Path) -> None:
    """What was cut off the first one is a hole, behind which nothing is read."""
    ingest_log = IngestLog()
    assert payloads(tmp_path, fragments4(udp(1, 6343, LONG)), ingest_log, snap=300) == [(LONG[: 300 - 42], True)]
    assert ingest_log.rejected == {}


def test_overlapping_fragments_end(tmp_path: Path) -> None:
    """Fragments that claim more than a datagram can hold are no reason to wait on, nor to hold them."""
    body = udp(1, 6343, LONG)[:800]
    frames = [ethernet(ip(17, body, AGENT, COLLECTOR, ident=7, fragment=0x2000 | n)) for n in range(100)]
    ingest_log = IngestLog()
    assert payloads(tmp_path, frames, ingest_log) == [(LONG[:792], True)]
    assert ingest_log.rejected == {"fragment of a datagram whose other fragments are missing": 100 - 82}


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Of first fragments whose datagrams never become whole the oldest make way, and are read as far as they go."""
    frames = [fragments4(udp(1, 6343, LONG), ident)[0] for ident in range(600)]
    ingest_log = IngestLog()
    assert payloads(tmp_path, frames, ingest_log) == [(LONG[:792], True)] * 600
    assert ingest_log.rejected == {"fragment of a datagram whose other fragments are missing": 600}
