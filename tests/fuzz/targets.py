"""What is fuzzed: each target takes any bytes and raises only where a promise is broken.

An input is a sequence of datagrams, each behind its length as 16 bits, so that what one leaves behind (templates,
sequence numbers) meets the next.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np

from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import Datagrams
from capture.files.capture_file import Batch, batches, is_capture
from capture.files.decompression import BLOCK_BYTES, ZSTD_INPUT_BYTES, read_blocks
from capture.files.export_capture import ExportPackets
from capture.files.payload_file import payloads
from capture.goflow2.dump_reader import FlowMessages, read_dump
from capture.ingest_log import IngestLog
from capture.kafka.topic_formats import TopicValues
from capture.mirror.mirror import Mirror
from capture.packets.packet import decode
from capture.packets.packet_columns import PACKET
from capture.records.record_files import read_text
from capture.sflow.sflow_layout import LINK_ETHERNET
from capture.tables.frame_index import INDEX
from capture.tables.read_buffer import as_array
from capture.wire_records import WireRecords
from datamodel.errors import InputError
from flowprism.exporter_config.dialects import DIALECTS, recognize
from tests.capture.batches import arrived

_MOST_DATAGRAMS = 16
_SFLOW_VERSION = b"\0\0\0\5"
_VERSIONS = (b"\0\5", b"\0\x09", b"\0\x0a")
_EXPORTERS = (0xFFFF0A000001, 0xFFFF0A000002)


def split(content: bytes) -> Iterator[bytes]:
    """The datagrams of an input."""
    for _ in range(_MOST_DATAGRAMS):
        if len(content) < 2:
            return
        (size,) = struct.unpack_from("!H", content)
        yield content[2 : 2 + size]
        content = content[2 + size :]


def joined(datagrams: list[bytes]) -> bytes:
    """The input that holds these datagrams."""
    return b"".join(struct.pack("!H", len(datagram)) + datagram for datagram in datagrams)


def batch_of(datagrams: list[bytes], first_ns: int = 10**18) -> Datagrams:
    """Datagrams of two exporters in turn, one a millisecond."""
    number = np.arange(len(datagrams))
    return arrived(datagrams, first_ns + number * 10**6, (0, np.array(_EXPORTERS)[number % 2]))


def exports(content: bytes) -> None:
    """Export datagrams of any protocol: nothing raises, nothing invents records, codes stay within the book."""
    _decode(list(split(content)), len(content))


def sflow(content: bytes) -> None:
    """The same with what is behind the version of sFlow datagrams: nothing is spent on finding the version."""
    _decode([_SFLOW_VERSION + rest for rest in split(content)], 4 * _MOST_DATAGRAMS + len(content))


def netflow(content: bytes) -> None:
    """The same with NetFlow v5, v9 and IPFIX: the first byte of a datagram chooses among them."""
    datagrams = [_VERSIONS[rest[0] % len(_VERSIONS)] + rest[1:] for rest in split(content) if rest]
    _decode(datagrams, _MOST_DATAGRAMS + len(content))


def wire(content: bytes) -> None:
    """What datagrams say, record by record: nothing raises, and all of it is JSON."""
    records = WireRecords()
    for record in records.of(batch_of(list(split(content)))):
        json.dumps(record, allow_nan=False)


def _decode(datagrams: list[bytes], most_bytes: int) -> None:
    """Decode them, and once more with a decoder that goes on where the first one stopped."""
    decoder = ExportDecoder()
    decoder.feed(batch_of(datagrams))
    found = decoder.take()
    for name in ("src_addr", "dst_addr", "sampler_address"):
        codes = found.flows[name]
        _hold(bool(((codes >= -1) & (codes < len(found.addresses))).all()), f"{name} points outside the book")
    # The smallest record is one byte; a reverse flow makes a second row of it.
    _hold(len(found.flows) <= 2 * most_bytes, f"{len(found.flows)} records from {most_bytes} bytes")
    _hold(bool((found.flows["time_flow_end_ns"] >= found.flows["time_flow_start_ns"]).all()), "ends before it starts")
    _hold(bool((found.flows["bytes"] >= 0).all()), "a negative size")
    _hold(decoder.records == len(found.flows), "counts other records than it gives")
    decoder.account(IngestLog())
    again = ExportDecoder()
    again.restore(decoder.state())
    again.feed(batch_of(datagrams, first_ns=2 * 10**18))
    again.take()


def frame(content: bytes) -> None:
    """A mirrored frame of any link type."""
    if not content:
        return
    data = as_array(content)
    index, packets = np.zeros(1, INDEX), np.zeros(1, PACKET)
    index[0]["offset"], index[0]["captured_bytes"], index[0]["link"] = 1, len(content) - 1, content[0]
    index[0]["wire_bytes"] = len(content) - 1
    decode(data, index, packets)
    mirror = Mirror()
    mirror.feed(packets)
    flows = mirror.flows()
    _hold(len(flows) <= 1, "one frame, several records")


def capture(content: bytes) -> None:
    """A pcap or pcapng file."""
    if is_capture(content):
        for _ in batches([content], "fuzz.pcap", IngestLog()):
            pass


def fragments(content: bytes) -> None:
    """Ethernet frames that may carry export datagrams in fragments: what is put together was there."""
    frames = list(split(content))
    sizes = np.array([len(frame) for frame in frames], np.int64)
    data = as_array(b"".join(frames))
    index, packets = np.zeros(len(frames), INDEX), np.zeros(len(frames), PACKET)
    index["offset"], index["captured_bytes"], index["wire_bytes"] = np.cumsum(sizes) - sizes, sizes, sizes
    index["link"], index["time_ns"] = LINK_ETHERNET, 10**18 + np.arange(len(frames)) * 10**8
    decode(data, index, packets)
    picked = ExportPackets()
    found = [picked.datagrams(Batch(data, index, packets)), picked.rest()]
    for batch in found:
        row = batch.index
        _hold(bool(((row["offset"] >= 0) & (row["offset"] + row["bytes"] <= len(batch.data))).all()), "outside")
    _hold(sum(int(batch.index["bytes"].sum()) for batch in found) <= len(content), "more bytes than there were")
    _hold(min(picked.left_out.values(), default=0) >= 0, f"left out {picked.left_out}")


def text(content: bytes) -> None:
    """CSV or JSON lines of any collector: a table, or one line that says why it is none."""
    with suppress(InputError):
        flows = read_text(Path("fuzz.txt"), content, iter(()), IngestLog())
        _hold(len(flows) <= len(content), "more records than bytes")


def bare(content: bytes) -> None:
    """A file of bare export datagrams: every byte is in one of them or counted as none."""
    ingest_log = IngestLog()
    sizes = [int(batch.index["bytes"].sum()) for batch in payloads([content], "fuzz.dat", ingest_log)]
    _hold(sum(sizes) + sum(ingest_log.rejected.values()) == len(content), "bytes are missing")


def goflow2(content: bytes) -> None:
    """A GoFlow2 dump of length-prefixed protobuf messages, in two blocks; then the same bytes as one Kafka message."""
    flows = read_dump([content[:100], content[100:]], "fuzz.bin", IngestLog())
    _hold(len(flows) <= len(content), "more records than bytes")
    alone = FlowMessages()
    alone.feed_each([content], prefixed=False)
    _hold(len(alone.flows()) <= 1, "one message, several records")


def compressed(content: bytes) -> None:
    """A file of any compression, damaged or cut: what can be read of it, in blocks that are bounded and never empty."""
    with NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with suppress(InputError):
            for block in read_blocks(Path(file.name), IngestLog()):
                # A block of zstd holds at most 128 KiB and takes three bytes at least (RFC 8878 section 3.1.1.2).
                _hold(0 < len(block) <= max(BLOCK_BYTES, ZSTD_INPUT_BYTES // 3 << 17), f"a block of {len(block)} bytes")


def kafka(content: bytes) -> None:
    """Values of a topic, of any form: each gives records of its own or is counted."""
    values = list(split(content))
    flows = TopicValues("fuzz").flows(values, IngestLog())
    _hold(len(flows) <= len(content), "more records than bytes")


def configuration(content: bytes) -> None:
    """A switch's configuration, as of the vendor that it looks like and as of every other: read, or one clear error."""
    text = content.decode(errors="replace")
    recognize(text)
    for dialect in DIALECTS.values():
        with suppress(InputError):
            dialect.read(text, "fuzz.cfg")


def _hold(fine: bool, broken: str) -> None:
    if not fine:
        raise AssertionError(broken)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "exports": exports,
    "sflow": sflow,
    "netflow": netflow,
    "wire": wire,
    "frame": frame,
    "capture": capture,
    "fragments": fragments,
    "text": text,
    "bare": bare,
    "goflow2": goflow2,
    "compressed": compressed,
    "kafka": kafka,
    "configuration": configuration,
}
