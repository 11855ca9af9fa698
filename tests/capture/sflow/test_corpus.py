"""Datagrams of real agents: both readings agree with each other and with tshark."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.sflow.describe import describe
from capture.tables.addresses import canonical
from datamodel.errors import InputError
from datamodel.telemetry.counters import COUNTERS, DROPS
from tests.capture.sflow.test_hostile import listed, records
from tests.capture.sflow.wire import Fed, fed

GOLDEN = ".tshark.json"
FOLDERS = ("Cistern+sflow", "VerizonDigital+vflow", "akvorado+akvorado", "dakami+overflowd", "freedomwarrior+loadme",
           "google+gopacket", "influxdata+telegraf", "netsampler+goflow2", "the-tcpdump-group+tcpdump")  # fmt: skip
FIELDS = {
    "sflow.flow_sample.sampling_rate": "sampling_rate",
    "sflow.flow_sample.sample_pool": "sample_pool",
    "sflow_245.header.frame_length": "frame_length",
    "sflow_245.header.payload_stripped": "stripped",
}
FRAME_AT = 42  # some vectors are whole frames


def payloads(path: Path) -> list[bytes]:
    """Payloads of sFlow in a file: a capture, a bare datagram, or a single frame."""
    content = path.read_bytes()
    if content[12:14] == b"\x08\x00" and content[FRAME_AT : FRAME_AT + 4] == b"\0\0\0\5":
        return [content[FRAME_AT:]]
    if content[:4] == b"\0\0\0\5":
        return [content]
    return list(captured(path))


def captured(path: Path) -> Iterator[bytes]:
    """Payloads of sFlow in a capture; none of what is no capture of exports."""
    try:
        for batch in read_datagrams(path, IngestLog()):
            for row in batch.index:
                payload = batch.data[row["offset"] : row["offset"] + row["bytes"]].tobytes()
                if payload[:4] == b"\0\0\0\5":
                    yield payload
    except InputError:
        return


def of_interfaces(one: Fed) -> list[dict[str, object]]:
    """Rows of counters that are of an interface, not of the device itself."""
    return [row for row in one.rows(COUNTERS) if int(str(row["interface"])) >= 0]


def files(shared: Path, folder: str) -> Iterator[tuple[Path, list[bytes]]]:
    """Files of a folder that hold sFlow, and their payloads."""
    for path in sorted((shared / "corpus" / folder).rglob("*")):
        if path.is_file() and path.suffix in (".pcap", ".bin", ".dump") and (found := payloads(path)):
            yield path, found


@pytest.mark.parametrize("folder", FOLDERS)
def test_both_readings_agree(shared: Path, folder: str) -> None:
    """Flow samples, interfaces and discards that `describe` tells are in the tables, or rejected and counted."""
    seen = 0
    for path, found in files(shared, folder):
        told = [records(payload) for payload in found]
        one = fed(*found)
        rejected: Counter[str] = Counter()
        for exporter in one.decoder.exporters():
            rejected.update(exporter.rejected)
        unread = sum(count for reason, count in rejected.items() if "sampled header" in reason)
        assert sum(t[0] for t in told) == len(one.rows()) + unread, path
        assert sum(t[1] for t in told) == len(of_interfaces(one)), path
        assert sum(t[2] for t in told) == len(one.rows(DROPS)), path
        for payload in found:
            json.dumps(list(describe(payload)), allow_nan=False)
        seen += len(found)
    assert seen > 0


def flattened(value: object, name: str) -> list[str]:
    """All values of a field in tshark's tree, whose objects are lists of pairs, for it repeats keys."""
    if isinstance(value, tuple):
        key, inner = value
        return [str(inner)] if key == name else flattened(inner, name)
    return [found for inner in value for found in flattened(inner, name)] if isinstance(value, list) else []


def ours(samples: list[dict[str, object]], name: str) -> list[str]:
    """All values of a field in `describe`'s dicts, those of structures included."""
    structures = [
        structure for sample in samples for records in ("flow_records", "counters")
        for structure in listed(sample, records)
    ]  # fmt: skip
    return [str(fields[name]) for fields in (*samples, *structures) if name in fields]


@pytest.mark.parametrize("folder", FOLDERS)
def test_tshark_sees_the_same(shared: Path, folder: str) -> None:
    """Agents, numbers, rates, pools and frame lengths, in the order of the datagram."""
    compared = 0
    for path, found in files(shared, folder):
        golden = path.with_name(path.name + GOLDEN)
        layers = json.loads(golden.read_text(), object_pairs_hook=list) if golden.is_file() else []
        shown = [dict(frame)["sflow"] for frame in layers if "sflow" in dict(frame)]
        for payload, layer in zip(found, shown, strict=False):
            samples = list(describe(payload))
            told = {str(s["agent_address"]) for s in samples if "agent_address" in s}  # damaged heads may lack it
            assert told <= {*map(canonical, flattened(layer, "sflow_245.agent"))}
            for field, name in FIELDS.items():
                theirs = flattened(layer, field)
                assert ours(samples, name) == theirs, (path, field)
                compared += len(theirs)
    assert compared > 0


def test_tcpdump_counts_the_same(shared: Path) -> None:
    """Interface counters of real switches, number by number, in the tables too."""
    golden = shared / "corpus" / "the-tcpdump-group+tcpdump" / "sflow_multiple_counter_30_pdus.out"
    found = payloads(golden.with_suffix(".pcap"))
    rows = of_interfaces(fed(*found))
    for column, name, text in (
        ("in_bytes", "ifInOctets", r"In octets (\d+)"),
        ("out_bytes", "ifOutOctets", r"Out octets (\d+)"),
    ):
        theirs = re.findall(text, golden.read_text())
        assert len(theirs) > 100
        assert [v for payload in found for v in ours(list(describe(payload)), name)] == theirs
        assert [str(row[column]) for row in rows] == theirs


def test_the_golden_drop_is_ours(shared: Path) -> None:
    """A real notification: discarded for lack of an L2 route, by the agent it names."""
    (payload,) = payloads(shared / "corpus" / "influxdata+telegraf" / "sflow_issue_15375" / "sflow_drop_1036.bin")
    told = Fed().feed(payload)
    (described,) = describe(payload)
    row = told.row(DROPS)
    assert (row["reason"], row["in_if"]) == (described["reason"], described["inputifindex"])
    assert row["sampler_address"] == described["agent_address"] == "192.168.119.184"
