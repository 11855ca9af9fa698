"""Captures of real exporters, decoded here and by other collectors; docs/netflow.md lists where they differ."""

import json
import re
from collections import Counter
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.netflow.describe import WireTemplates, describe
from capture.tables.addresses import from_words
from datamodel.errors import InputError
from tests.capture.netflow.sender import Collector, Row
from tests.capture.netflow.test_describe import meant

NUMBERS = {
    "l4_src_port": "src_port", "l4_dst_port": "dst_port", "in_bytes": "bytes", "in_pkts": "packets",
    "protocol": "proto", "src_tos": "ip_tos", "tcp_flags": "tcp_flags", "input_snmp": "in_if", "output_snmp": "out_if",
    "fwd_flow_delta_bytes": "bytes", "ipv4_src_addr": "src_addr", "ipv4_dst_addr": "dst_addr",
    "ipv6_src_addr": "src_addr", "ipv6_dst_addr": "dst_addr", "sourceIPv4Address": "src_addr",
    "destinationIPv4Address": "dst_addr", "octetDeltaCount": "bytes", "packetDeltaCount": "packets",
    "sourceTransportPort": "src_port", "destinationTransportPort": "dst_port", "protocolIdentifier": "proto",
    "ingressInterface": "in_if", "egressInterface": "out_if", "tcpControlBits": "tcp_flags",
    "ipClassOfService": "ip_tos",
}  # fmt: skip
TIMES = {
    "first_switched": "time_flow_start_ns", "last_switched": "time_flow_end_ns",
    "flowStartMilliseconds": "time_flow_start_ns", "flowEndMilliseconds": "time_flow_end_ns",
    "flow_start_msec": "time_flow_start_ns",
}  # fmt: skip
COUNTED = {"in_bytes", "in_pkts", "octetDeltaCount", "packetDeltaCount", "fwd_flow_delta_bytes", "in_permanent_bytes"}
# A flow that began before the exporter's uptime wrapped: the golden puts it 50 days into the future. NetFlow's uptimes
# count modulo 2^32 ms (RFC 3954 section 5.1: sysUpTime is 32 bits).
# And one whose clock was never set: the golden lies in 1970, our rows at the time of receipt.
OTHERWISE = {name: {"first_switched", "last_switched"} for name in ("netflow-5-valid-01", "netflow-9-nprobe-dpi-l7")}
LOGSTASH, TELEGRAF, PMACCT = "logstash-plugins+logstash-codec-netflow", "influxdata+telegraf", "pmacct+pmacct"
PMACCT_CASES = ("100-IPFIXv10-CISCO", "101-NFv9-CISCO-cust_primitives", "102-NFv9-CISCO-f2rd-pretag-sampling-reload",
                "103-IPFIXv10-CISCO-pretag-JSON_encoding", "104-IPFIXv10-IPv6-CISCO-sampling_option",
                "110-IPFIXv10-NFv9-multiple-sources", "400-IPFIXv10-BMP-CISCO-SRv6-multiple-sources",
                "403-IPFIXv10-BMP-IPv6-CISCO-locrib-peerdown-vrf", "500-IPFIXv10-BGP-CISCO-SRv6",
                "502-IPFIXv10-BGP-IPv6-CISCO-SRv6-lcomms")  # fmt: skip


def canonical(value: object) -> object:
    """A golden's value as a column would have it."""
    return value.lower() if isinstance(value, str) else value


def differences(row: Row, event: dict[str, Any], ignored: set[str]) -> list[str]:
    """The fields of a golden event that a row contradicts."""
    found = []
    for name, value in event.items():
        if name in ignored:
            continue
        if name in NUMBERS and isinstance(value, int | str):
            column = NUMBERS[name]
            if isinstance(row[column], int) != isinstance(value, int):
                continue  # a field of text under a name of numbers
            if row[column] != meant(column, value) and row[column] != canonical(value):
                found.append(name)
        elif name in TIMES and isinstance(value, int | str):
            moment_ns = value * 10**6 if isinstance(value, int) else nanoseconds(value)
            if abs(row[TIMES[name]] - moment_ns) > row["time_uncertainty_ns"] + 10**6:
                found.append(name)
    return found


def nanoseconds(text: str) -> int:
    """A golden's time."""
    return round(datetime.fromisoformat(text).timestamp() * 1000) * 10**6


def logstash_events(golden: dict[str, Any]) -> list[dict[str, Any]]:
    """The flows among a golden's events."""
    return [e["json"]["netflow"] for e in golden["events"] if COUNTED & set(e["json"].get("netflow", ()))]


def test_logstash(shared: Path) -> None:
    """Every flow that the codec's own tests expect is among our rows, in all fields we carry."""
    folder = shared / "corpus" / LOGSTASH
    compared, wrong = 0, {}
    for path in sorted((folder / "golden").glob("*.json")):
        golden = json.loads(path.read_text())
        collector = Collector()
        rows = [row for name in golden["files"] for row in collector.rows((folder / name).read_bytes())]
        for event in logstash_events(golden):
            if not any(event.get(name) for name in COUNTED):
                continue  # events that count nothing are no rows
            best = min(
                (differences(row, event, OTHERWISE.get(path.stem, set())) for row in rows), key=len, default=["row"]
            )
            compared += 1
            if best:
                wrong[path.stem] = best
    assert wrong == {}
    assert compared > 20


def influx(line: str) -> dict[str, object]:
    """The fields of a line of Influx's line protocol."""
    found = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,\s]+)', line.partition(" ")[2])
    return {k: v.strip('"') if v[0] == '"' else int(v.rstrip("u")) if v.rstrip("u").isdigit() else v for k, v in found}


INFLUX = {"src": "src_addr", "dst": "dst_addr", "src_port": "src_port", "dst_port": "dst_port", "in_bytes": "bytes",
          "in_packets": "packets", "in_total_bytes": "bytes", "in_total_packets": "packets", "in_snmp": "in_if",
          "out_snmp": "out_if"}  # fmt: skip


@pytest.mark.parametrize(
    "case", ["ipfix_example", "ipfix_pen_35632", "issue_13305", "netflow_v5_example", "netflow_v9_example"]
)
def test_telegraf(shared: Path, case: str) -> None:
    """Every line that telegraf expects of a flow is among our rows: ends, counts, interfaces and times."""
    folder = shared / "corpus" / TELEGRAF / case
    collector = Collector()
    rows = [row for path in sorted(folder.glob("*.bin")) for row in collector.rows(path.read_bytes())]
    lines = [influx(line) for line in (folder / "expected.out").read_text().splitlines()]
    flows = [line for line in lines if "src" in line and ("in_bytes" in line or "in_total_bytes" in line)]
    assert flows
    for line in flows:
        matching = [row for row in rows if all(row[c] == line[n] for n, c in INFLUX.items() if n in line)]
        assert matching, line
        start = line.get("flow_start_ms")
        if isinstance(start, int):
            assert any(abs(r["time_flow_start_ns"] - start * 10**6) <= r["time_uncertainty_ns"] for r in matching), line


@pytest.mark.parametrize("case", PMACCT_CASES)
def test_pmacct(shared: Path, case: str) -> None:
    """Bytes and packets by ends, ports and interfaces are those that pmacct's tests expect, scaled where it scales."""
    folder = shared / "corpus" / PMACCT / case
    ours: Counter[tuple[object, ...]] = Counter()
    collector = Collector()
    captures = sorted(folder.glob("traffic-*.pcap"))
    for batch in chain.from_iterable(read_datagrams(path, IngestLog()) for path in captures):
        for row in collector.shown(collector.decoder.feed(batch)):
            key = (row["src_addr"], row["dst_addr"], row["src_port"], row["dst_port"], row["in_if"], row["out_if"])
            scale = max(row["sampling_rate"], 1) if case.startswith("104") else 1
            ours[key, "bytes"] += row["bytes"] * scale
            ours[key, "packets"] += row["packets"] * scale
    theirs: Counter[tuple[object, ...]] = Counter()
    for line in (folder / "output-flow-00.json").read_text().splitlines():
        flow = json.loads(line)
        if "ip_src" not in flow:
            continue
        key = tuple(flow[n] for n in ("ip_src", "ip_dst", "port_src", "port_dst", "iface_in", "iface_out"))
        theirs[key, "bytes"] += flow["bytes"]
        theirs[key, "packets"] += flow["packets"]
    assert theirs
    assert ours == theirs


def test_every_file_is_read_both_ways(shared: Path) -> None:
    """Whatever the columns say of a record of any file in the corpus, the plain reading says too."""
    files = datagrams = 0
    for path in sorted(p for p in (shared / "corpus").rglob("*") if p.suffix in (".pcap", ".dat", ".bin", ".ipfix")):
        collector, templates = Collector(), WireTemplates()
        said: list[dict[str, object]] = []
        rows: list[Row] = []
        try:
            for batch in read_datagrams(path, IngestLog()):
                rows += collector.shown(collector.decoder.feed(batch))
                for entry in batch.index[batch.index["protocol"] >= 2]:
                    payload = batch.data[entry["offset"] : entry["offset"] + entry["bytes"]].tobytes()
                    source = from_words(int(entry["source_high"]), int(entry["source_low"]))
                    said += describe(payload, templates, source, int(entry["source_port"]))
                    datagrams += 1
        except InputError:
            continue  # no exports in it
        files += 1
        keys: Counter[tuple[object, ...]] = Counter(
            (r["src_addr"], r["dst_addr"], r["src_port"], r["bytes"]) for r in rows
        )
        for record in said:
            names = ("sourceIPv4Address", "destinationIPv4Address", "sourceTransportPort", "octetDeltaCount")
            plain = all(isinstance(record.get(name), int | str) for name in names)
            empty = record.get("sourceIPv4Address") == "0.0.0.0"  # noqa: S104 - then the IPv6 addresses count
            if record.get("record") == "data" and plain and not empty and record["octetDeltaCount"]:
                assert keys[tuple(record[name] for name in names)] > 0, (path.name, record)
    assert files > 50
    assert datagrams > 500
