"""GoFlow2's protobuf messages, written by protobuf's own encoder and by GoFlow2 itself."""

import gzip
import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard

from capture.goflow2.dump_reader import FlowMessages, begins_with_message, read_dump
from capture.ingest_log import IngestLog
from capture.reader import read_flows
from datamodel.telemetry.flows import FLOWS, Flows, recode
from tests.capture.exported import netflow5, sflow_sums, sums
from tests.capture.frames import save
from tests.capture.goflow2.flow_messages import PLAIN, START_NS, message, prefixed

COLLECTORS = Path(__file__).parents[2] / "data" / "collectors"
FRAMES = "messages of sFlow count the bytes of whole frames, link header and checksum included"


def dump(*parts: bytes, size: int = 1 << 20) -> tuple[Flows, IngestLog]:
    """The records of a dump that arrives in blocks of `size` bytes, and what reading it left to say."""
    ingest_log, content = IngestLog(), b"".join(parts)
    return read_dump((content[i : i + size] for i in range(0, len(content), size)), "dump", ingest_log), ingest_log


def test_every_field_of_a_message_has_its_column() -> None:
    """A message becomes one row with GoFlow2's values; what it does not say keeps the column's default."""
    flows, ingest_log = dump(prefixed(message(flow_direction=1)))
    row = {name: flows.frame[name][0] for name in FLOWS.names}
    assert flows.addresses == ("10.0.0.1", "10.0.0.2", "192.0.2.1")
    assert [row[name] for name in ("src_addr", "dst_addr", "sampler_address")] == [0, 1, 2]
    kept = {name: value for name, value in PLAIN.items() if name in FLOWS.names and isinstance(value, int)}
    assert {name: row[name] for name in kept} == kept
    assert row["flow_direction"] == 1
    for column in FLOWS:
        if column.name not in {*PLAIN, "flow_direction"}:
            assert row[column.name] == column.default, column.name
    assert (ingest_log.rejected, ingest_log.warnings) == ({}, [])


def test_what_proto3_leaves_out_is_zero() -> None:
    """A sampling rate of 0 is not on the wire and means unknown, not 1; a direction that is not there is unknown."""
    flows, _ = dump(prefixed(message(sampling_rate=None, sampler_address=None, bytes=None)))
    assert [int(flows.frame[c][0]) for c in ("sampling_rate", "sampler_address", "bytes", "flow_direction")] == [
        0, -1, 0, 255,
    ]  # fmt: skip


def test_addresses_of_both_families() -> None:
    """IPv6 and IPv4-mapped IPv6 are read like everywhere else."""
    mapped = bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 2])
    flows, _ = dump(prefixed(message(src_addr=bytes.fromhex("20010db8") + bytes(11) + b"\1", dst_addr=mapped)))
    assert flows.addresses == ("10.0.0.2", "192.0.2.1", "2001:db8::1")


BAD: dict[str, dict[str, int | bytes | None]] = {
    "row: src_addr is missing": {"src_addr": None},
    "row: dst_addr is missing": {"dst_addr": b""},
    "row: src_addr is not an address": {"src_addr": b"12345"},
    "row: dst_addr is not an address": {"dst_addr": bytes(20)},
    "row: time_flow_start_ns is missing": {"time_flow_start_ns": None},
    "row: ends before it starts": {"time_flow_end_ns": START_NS - 1},
    "row: a time or a count is beyond 63 bits": {"bytes": 1 << 63},
    "row: a port is out of range": {"dst_port": 70_000},
    "row: proto, ip_tos or tcp_flags is out of range": {"proto": 256},
}


@pytest.mark.parametrize("reason", BAD)
def test_messages_that_are_no_flow_are_counted(reason: str) -> None:
    """Each is left out under its reason; its neighbours are kept."""
    good = prefixed(message())
    flows, ingest_log = dump(good, prefixed(message(**BAD[reason])), good)
    assert (len(flows), dict(ingest_log.rejected)) == (2, {reason: 1})


def test_unknown_fields_are_skipped_and_counted() -> None:
    """Fields that a mapping file added, before or behind the others, cost nothing and are told; known ones are not."""
    flows, ingest_log = dump(prefixed(message(custom=1 << 60, note=b"x" * 300, as_path=[1, 2], layer_stack=[0, 1])))
    assert flows.frame["bytes"].tolist() == [9000]
    assert ingest_log.warnings == ["dump: 2 fields of unknown number were skipped"]


def test_sizes_of_sflow_are_doubted() -> None:
    """GoFlow2 gives the frame's size for sampled headers, not the packet's."""
    _, ingest_log = dump(prefixed(message(type=1, layer_stack=[0, 1, 4])), prefixed(message()))
    assert ingest_log.warnings == [f"dump: 1 {FRAMES}"]


@pytest.mark.parametrize("separator", [b"", b"\n"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_separator_and_any_cut_of_blocks(separator: bytes, size: int) -> None:
    """Messages straddle blocks; line feeds may stand between them, or several behind several."""
    bodies = [message(bytes=i) for i in range(300)]
    content = separator.join(map(prefixed, bodies)) + separator * 3
    flows, ingest_log = dump(content, size=size)
    assert flows.frame["bytes"].tolist() == list(range(300))
    assert (ingest_log.rejected, ingest_log.warnings) == ({}, [])


def test_a_damaged_message_costs_only_itself() -> None:
    """A field that reaches beyond its message is found out; the message's length still leads to the next one."""
    good, bad = prefixed(message()), bytearray(prefixed(message()))
    bad[bad.index(bytes([10, 0, 0, 1])) - 1] = 100  # the length of src_addr
    flows, ingest_log = dump(good * 2, bytes(bad), good * 3)
    assert (len(flows), dict(ingest_log.rejected)) == (5, {"message: malformed protobuf": 1})
    assert ingest_log.warnings == [f"dump: 1 malformed messages, the first at byte {2 * len(good)}"]


@pytest.mark.parametrize("garbage", [b"\xff" * 50, b"\x7f", b"\x05\0\0", bytes(2000), prefixed(message())[:-30]])
@pytest.mark.parametrize("size", [64, 1 << 20])
def test_lost_framing_is_found_again(garbage: bytes, size: int) -> None:
    """Where a length lies, the next whole message is searched: one gap is counted, nothing else is lost."""
    good = b"".join(prefixed(message(bytes=i)) for i in range(100))
    flows, ingest_log = dump(good, garbage, good, size=size)
    assert flows.frame["bytes"].tolist() == [*range(100), *range(100)]
    assert ingest_log.rejected == {"message: malformed protobuf": 1}
    assert ingest_log.warnings == [f"dump: 1 malformed messages, the first at byte {len(good)}"]


def test_a_cut_file_gives_what_precedes_the_cut() -> None:
    """A dump whose writer was killed ends inside a message."""
    good = prefixed(message())
    flows, ingest_log = dump(good * 3 + good[:-1])
    assert (len(flows), dict(ingest_log.rejected)) == (3, {})
    assert ingest_log.warnings == ["dump: ends inside a message (truncated file); all messages before it were read"]


@pytest.mark.parametrize("with_prefix", [True, False])
def test_messages_one_by_one(with_prefix: bool) -> None:
    """Messages whose bounds are known need no prefix; one that is not whole costs only itself."""
    bodies = [message(bytes=i) for i in range(20_000)]
    bodies[7] = bodies[7][:-1]
    messages, ingest_log = FlowMessages(), IngestLog()
    messages.feed_each([prefixed(body) if with_prefix else body for body in bodies], with_prefix)
    assert messages.flows().frame["bytes"].tolist() == [i for i in range(20_000) if i != 7]
    messages.account("topic", ingest_log)
    assert ingest_log.rejected == {"message: malformed protobuf": 1}
    assert len(messages.flows()) == 0


def test_a_prefix_that_is_not_the_size_is_malformed() -> None:
    """A Kafka value whose length prefix lies is not half believed."""
    messages, ingest_log = FlowMessages(), IngestLog()
    messages.feed_each([prefixed(message()) + b"\0", b"", b"\x80"], prefixed=True)
    messages.account("topic", ingest_log)
    assert ingest_log.rejected == {"message: malformed protobuf": 3}


def test_recognised_by_content() -> None:
    """A dump begins with a whole message; text, captures and numbers do not."""
    assert begins_with_message(prefixed(message()) + b"anything")
    assert begins_with_message(b"\n" + prefixed(message()))
    for other in (b"", b"\x7f", b'{"type":"SFLOW_5"}', b"\x04\x08\x01\x10\x02", message(), prefixed(message())[:-1]):
        assert not begins_with_message(other)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_dump_reads_like_its_json(tmp_path: Path, pack: object) -> None:
    """What GoFlow2 wrote as protobuf and as JSON of the same datagrams is the same set of records."""
    assert callable(pack)
    binary = read_flows(save(tmp_path, pack((COLLECTORS / "goflow2.bin").read_bytes()), "dump"))
    text = read_flows(COLLECTORS / "goflow2.jsonl")
    assert rows(binary.flows) == rows(text.flows)
    assert (binary.records, binary.bytes, binary.exporters) == (text.records, text.bytes, text.exporters)
    assert (binary.notes.rejected, text.notes.rejected) == ({}, {})
    assert f"dump: 30 {FRAMES}" in binary.notes.warnings


def rows(flows: Flows) -> list[tuple[object, ...]]:
    """Records as text, in an order of their own: without the times of arrival, which differ from run to run."""
    frame = flows.frame.columns()
    sampled = frame["sampling_rate"] == 32
    times = ("time_flow_start_ns", "time_flow_end_ns")
    columns = [np.where(sampled, 0, frame[name]) if name in times else frame[name] for name in frame
               if name != "time_received_ns"]  # fmt: skip
    book = [*flows.addresses, None]
    named = [[book[code] for code in column] if name in ("src_addr", "dst_addr", "sampler_address") else column.tolist()
             for name, column in zip((n for n in frame if n != "time_received_ns"), columns, strict=True)]  # fmt: skip
    return sorted(zip(*named, strict=True), key=repr)


def mutated(seed: int) -> bytes:
    """A dump of good, changed, cut and random messages."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed is the point
    out = []
    for i in range(150):
        part = bytearray(prefixed(message(bytes=i, custom=i, layer_stack=[0, 1])))
        for _ in range(chance.randrange(3)):
            part[chance.randrange(len(part))] = chance.randrange(256)
        out.append(bytes(part[: chance.randrange(len(part) + 1)] if chance.random() < 0.2 else part))
    return b"".join(out)


def digest(content: bytes) -> str:
    """Condensed records and counts of a dump."""
    flows, ingest_log = dump(content, size=500)
    condensed = hashlib.sha256(repr((flows.addresses, ingest_log.notes())).encode())
    for column in flows.frame.columns().values():
        condensed.update(column.tobytes())
    return condensed.hexdigest()


COMPARE = "from tests.capture.goflow2.test_dump_reader import *\nprint(*(digest(mutated(seed)) for seed in range(4)))"


def test_compiled_and_not_say_the_same() -> None:
    """Damaged dumps give equal records and counts without the compiler, which checks every index and overflow."""
    plain = subprocess.run(
        [sys.executable, "-W", "error", "-c", COMPARE],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[3])},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert plain.stdout.split() == [digest(mutated(seed)) for seed in range(4)]


def test_random_bytes_are_survived() -> None:
    """Whatever the bytes, reading ends, and what it gives is bounded by them."""
    chance = np.random.default_rng(5)
    for size in (1, 3, 100, 20_000):
        for low in (0, 100):
            content = chance.integers(low, 130 if low else 256, size).astype(np.uint8).tobytes()
            flows, _ = dump(content)
            assert len(flows) <= size // 20


def test_sflow_and_netflow5_as_they_were_exported() -> None:
    """What GoFlow2 wrote of sFlow samples and NetFlow v5 records is what the datagrams say."""
    flows = read_flows(COLLECTORS / "goflow2.bin").flows
    sampled = flows.frame["sampling_rate"] == 32
    assert sums(recode(flows.frame.take(sampled), flows.addresses)) == sflow_sums()
    exact = (flows.frame["sampling_rate"] == 0) & (flows.frame["observation_domain_id"] == 0)  # the others are no v5
    assert sums(recode(flows.frame.take(exact), flows.addresses)) == {
        key: record[:2] for key, record in netflow5().items()
    }
