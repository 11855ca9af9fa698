"""Bare export datagrams, one after the other in a file, are told apart by what they say of themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.exporters.datagram import IPFIX, NETFLOW5, NETFLOW9, SFLOW5
from capture.files.payload_file import is_payload, payloads
from capture.ingest_log import IngestLog
from tests.capture.export_bytes import flow_sample, flow_set, ipfix, netflow5, netflow9, record5, sflow, template
from tests.capture.frames import ethernet, ip, udp

FRAME = ethernet(ip(17, udp(1000, 4791, bytes(60))))
FIELDS = ((8, 4), (12, 4), (1, 4))
DATAGRAMS = (
    (SFLOW5, sflow((flow_sample(FRAME), flow_sample(FRAME)))),
    (SFLOW5, sflow((flow_sample(FRAME),), agent="2001:db8::1")),
    (NETFLOW5, netflow5((record5(), record5()))),
    (NETFLOW9, netflow9((flow_set(0, template(256, FIELDS)), flow_set(256, bytes(24))), 3)),
    (IPFIX, ipfix((flow_set(2, template(300, FIELDS)), flow_set(300, bytes(12))))),
)
SECOND = 1_700_000_000 * 10**9


def found(content: bytes, block_bytes: int, ingest_log: IngestLog | None = None) -> list[tuple[int, bytes]]:
    """Protocol and bytes of the datagrams in a file that is read in blocks of a size."""
    blocks = [content[n : n + block_bytes] for n in range(0, len(content), block_bytes)]
    rows = []
    for batch in payloads(blocks, "test.dat", ingest_log or IngestLog()):
        for row in batch.index:
            payload = batch.data[row["offset"] : row["offset"] + row["bytes"]].tobytes()
            rows.append((int(row["protocol"]), payload))
    return rows


@given(st.lists(st.sampled_from(DATAGRAMS), min_size=1, max_size=30), st.integers(1, 400))
def test_any_mix_is_told_apart(sent: list[tuple[int, bytes]], block_bytes: int) -> None:
    """Whatever the order and however the file is cut into blocks, every datagram is found whole."""
    ingest_log = IngestLog()
    assert found(b"".join(payload for _, payload in sent), block_bytes, ingest_log) == sent
    assert not ingest_log.rejected


@pytest.mark.parametrize("sent", DATAGRAMS)
def test_a_file_is_recognised_by_its_head(sent: tuple[int, bytes]) -> None:
    """64 bytes tell that a file holds bare export datagrams."""
    assert is_payload(sent[1][:64])


@pytest.mark.parametrize(
    "head", [b"", b"PAR1", b"src_addr,dst_addr\n", b'{"bytes":1}', bytes(64), b"\x00\x05\x00\x00" * 16]
)
def test_other_files_are_not_taken_for_exports(head: bytes) -> None:
    """Records, text and zeros hold no export datagram; neither does a NetFlow v5 header that counts no records."""
    assert not is_payload(head)


def test_a_last_datagram_that_ends_early_is_still_handed_on() -> None:
    """What is there of it is decoded as far as it goes."""
    whole = DATAGRAMS[2][1]
    assert found(whole + whole[:60], 50) == [(NETFLOW5, whole), (NETFLOW5, whole[:60])]


def test_what_follows_garbage_is_counted_in_bytes() -> None:
    """Bytes that begin no datagram end the reading, and the ingest_log says how many were left."""
    ingest_log = IngestLog()
    whole = DATAGRAMS[4][1]
    assert found(whole + b"\xff" * 100_000, 1000, ingest_log) == [(IPFIX, whole)]
    assert ingest_log.rejected == {"bytes that are no export datagram": 100_000}
    assert ingest_log.warnings == ["test.dat: its last 100000 bytes are no export datagrams"]


def test_times_come_from_the_headers() -> None:
    """NetFlow and IPFIX headers tell the second of export; sFlow tells its agent's uptime only, with a warning."""
    ingest_log = IngestLog()
    content = b"".join(payload for _, payload in DATAGRAMS)
    times = [int(row["time_ns"]) for batch in payloads([content], "test.dat", ingest_log) for row in batch.index]
    assert times == [10**9, 10**9, SECOND + 500, SECOND, SECOND]
    assert ingest_log.warnings == [
        "test.dat: holds no times of receipt; sFlow samples are dated by their agents' uptime"
    ]
