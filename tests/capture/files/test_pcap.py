"""Classic pcap files."""

import pytest

from capture.ingest_log import IngestLog
from tests.capture.frames import decoded, meaning, pcap, tcp_frame

TIME_NS = 1_700_000_000_123_456_789


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_every_magic_is_read(order: str, nanoseconds: bool) -> None:
    """Both byte orders and both time units give the same packets; microseconds cut the time."""
    rows = decoded(pcap([(TIME_NS, tcp_frame(7, 100))], order=order, nanoseconds=nanoseconds))
    assert rows["time_ns"].tolist() == [TIME_NS if nanoseconds else TIME_NS // 1000 * 1000]
    assert rows["sequence"].tolist() == [7]
    assert rows["payload_bytes"].tolist() == [100]


@pytest.mark.parametrize("block", [1, 7, 100, 4096])
def test_block_borders_do_not_matter(block: int) -> None:
    """Packets are the same however the file is cut into blocks."""
    content = pcap([(TIME_NS + i, tcp_frame(i, i)) for i in range(50)])
    assert meaning(decoded(content, block=block)) == meaning(decoded(content))


def test_cut_last_packet_is_told() -> None:
    """A file that ends inside a packet gives all packets before it, and a warning."""
    ingest_log = IngestLog()
    content = pcap([(TIME_NS, tcp_frame(1, 10)), (TIME_NS, tcp_frame(11, 10))])
    assert len(decoded(content[:-3], ingest_log)) == 1
    assert ingest_log.warnings == ["test.pcap: ends inside a packet (truncated file); all packets before it were read"]


def test_impossible_length_ends_reading() -> None:
    """After a record whose length cannot be, nothing is guessed; what precedes it counts."""
    ingest_log = IngestLog()
    content = pcap([(TIME_NS, tcp_frame(1, 10))]) + b"\xff" * 64
    assert len(decoded(content, ingest_log)) == 1
    assert ingest_log.warnings == ["test.pcap: a packet record's length is impossible; what follows it was not read"]


def test_link_field_may_tell_of_check_sequences() -> None:
    """The upper half of the link type field is not part of the link type."""
    rows = decoded(pcap([(TIME_NS, tcp_frame(1, 10))], link=1 | 0x24000000))
    assert rows["reason"].tolist() == [0]


def test_cut_snap_length_keeps_true_sizes() -> None:
    """Of a frame cut behind its headers, payload and IP bytes are still those on the wire."""
    rows = decoded(pcap([(TIME_NS, tcp_frame(1, 1400))], snap=54))
    assert rows["payload_bytes"].tolist() == [1400]
    assert rows["ip_bytes"].tolist() == [1440]
