"""How fast collectors' outputs become flow records, from memory on one core, against plain Python loops beside them.

usage: python -m benchmarks.decoding.collectors [--records N]

The inputs are made here: 20,000 different records, repeated. The loops parse with protobuf's own Python package (its
parser is C), json and csv, and gather columns in lists; addresses stay texts there, and nothing is checked. Rates are
by processor time; every figure is taken in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path

from capture.goflow2.dump_reader import read_dump
from capture.goflow2.flow_message import COLUMNS
from capture.ingest_log import IngestLog
from capture.records.record_files import read_text
from datamodel.telemetry.flows import Flows
from tests.capture.goflow2.flow_messages import START_NS, FlowMessage, message, prefixed

DIFFERENT = 20_000
BLOCK_BYTES = 1 << 20
LOOP_SHARE = 10  # the loops get a tenth of the records; their rate does not depend on how many there are
NFDUMP = "ts,te,td,sa,da,sp,dp,pr,flg,stos,ipkt,ibyt,in,out,ra,tr"

Row = dict[str, int]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=2_000_000, help="how many to decode of each form")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        form, who = arguments.measure
        rate = (OURS if who == "ours" else LOOPS)[form](arguments.records)
        print(json.dumps([rate, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
        return
    print(f"{'':18s}{'flowprism':>14s}{'memory':>10s}{'Python loop':>15s}{'ratio':>8s}")
    for form in OURS:
        (ours, peak_bytes), (loop, _) = (measured(form, who, arguments.records) for who in ("ours", "loop"))
        print(f"{form:18s}{ours / 1e6:10.2f} M/s{peak_bytes / 1e6:7.0f} MB{loop / 1e6:11.3f} M/s{ours / loop:7.1f}x")


def measured(form: str, who: str, records: int) -> tuple[float, int]:
    """Records a second and peak memory, from a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.decoding.collectors",
        "--records",
        str(records),
        "--measure",
        form,
        who,
    ]
    rate, peak_bytes = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return rate, peak_bytes


def rows() -> Iterator[Row]:
    """What the records say; addresses by number."""
    for i in range(DIFFERENT):
        yield {
            "i": i,
            "source": i % 1024,
            "target": (i * 7 + 1) % 1024,
            "size": 64 + i % 9000,
            "start": START_NS + i * 1000,
        }


def host(number: int) -> str:
    """An address."""
    return str(ip_address(0x0A000000 + number))


def flow_message(row: Row) -> bytes:
    """A record as GoFlow2 writes it of a sampled header."""
    body = message(
        type=1, src_addr=ip_address(host(row["source"])).packed, dst_addr=ip_address(host(row["target"])).packed,
        bytes=row["size"], time_flow_start_ns=row["start"], time_flow_end_ns=row["start"],
        time_received_ns=row["start"], dst_mac=0x02000A040802, layer_stack=[0, 1, 4], layer_size=[14, 20, 8],
    )  # fmt: skip
    return prefixed(body)


def goflow2_json(row: Row) -> bytes:
    """A record as GoFlow2 writes it, the columns nobody reads left out."""
    said = {
        "type": "SFLOW_5", "time_received_ns": row["start"], "sequence_num": row["i"], "sampling_rate": 2048,
        "sampler_address": "192.0.2.1", "time_flow_start_ns": row["start"], "time_flow_end_ns": row["start"],
        "bytes": row["size"], "packets": 1, "src_addr": host(row["source"]), "dst_addr": host(row["target"]),
        "etype": "IPv4", "proto": "UDP", "src_port": 49152, "dst_port": 4791, "in_if": 10, "out_if": 11, "ip_tos": 2,
        "tcp_flags": 0, "observation_domain_id": 0, "layer_stack": ["Ethernet", "IPv4", "UDP"],
    }  # fmt: skip
    return json.dumps(said).encode() + b"\n"


def pmacct_json(row: Row) -> bytes:
    """A record as pmacct writes it."""
    moment = f"{row['start'] // 10**9}.{row['start'] % 10**9 // 1000:06d}"
    said = {
        "event_type": "purge", "peer_ip_src": "192.0.2.1", "iface_in": 8, "iface_out": 6, "ip_src": host(row["source"]),
        "ip_dst": host(row["target"]), "port_src": 49152, "port_dst": 4791, "tcp_flags": "0", "ip_proto": "udp",
        "tos": 0, "sampling_rate": 2048, "timestamp_start": moment, "timestamp_end": moment,
        "timestamp_arrival": moment, "packets": 6, "bytes": row["size"],
    }  # fmt: skip
    return json.dumps(said).encode() + b"\n"


def nfdump_csv(row: Row) -> bytes:
    """A record as nfdump prints it, the columns nobody reads left out."""
    day = "2026-11-20 15:25:48"
    ends = f"{host(row['source'])},{host(row['target'])},49152,4791,UDP,........,0,6,{row['size']}"
    return f"{day},{day},0.{row['i'] % 1000:03d},{ends},8,6,192.0.2.1,{day}.500\n".encode()


WRITERS: dict[str, Callable[[Row], bytes]] = {
    "GoFlow2 protobuf": flow_message,
    "GoFlow2 JSON": goflow2_json,
    "pmacct JSON": pmacct_json,
    "nfdump CSV": nfdump_csv,
}


def content(form: str, records: int) -> list[bytes]:
    """So many records of a form, in blocks as a file gives them."""
    once = b"".join(map(WRITERS[form], rows()))
    whole = (NFDUMP.encode() + b"\n" if form == "nfdump CSV" else b"") + once * max(records // DIFFERENT, 1)
    return [whole[at : at + BLOCK_BYTES] for at in range(0, len(whole), BLOCK_BYTES)]


def timed(read: Callable[[list[bytes]], int], blocks: list[bytes], warm: list[bytes]) -> float:
    """Records a second of processor time; the first, small reading loads what is compiled."""
    read(warm)
    before = time.process_time()
    return read(blocks) / (time.process_time() - before)


def ours(form: str) -> Callable[[int], float]:
    """Measures our reading of a form."""

    def flows(blocks: list[bytes]) -> Flows:
        if form == "GoFlow2 protobuf":
            return read_dump(blocks, form, IngestLog())
        return read_text(Path(form), blocks[0], iter(blocks[1:]), IngestLog())

    return lambda records: timed(lambda blocks: len(flows(blocks)), content(form, records), content(form, DIFFERENT))


def loop(form: str, values: Callable[[bytes], Iterator[tuple[object, ...]]]) -> Callable[[int], float]:
    """Measures a loop over the values of the columns that we read too."""

    def gathered(blocks: list[bytes]) -> int:
        columns = list(zip(*values(b"".join(blocks)), strict=True))
        return len(columns[0])

    return lambda records: timed(gathered, content(form, records // LOOP_SHARE), content(form, DIFFERENT))


def protobuf_values(whole: bytes) -> Iterator[tuple[object, ...]]:
    """Messages one by one, with protobuf's own parser."""
    at = 0
    while at < len(whole):
        length, shift = 0, 0
        while True:
            byte = whole[at]
            length |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        parsed = FlowMessage.FromString(whole[at : at + length])
        yield tuple(getattr(parsed, name) for name in COLUMNS)
        at += length


def goflow2_values(whole: bytes) -> Iterator[tuple[object, ...]]:
    """Objects line by line, the columns that we read."""
    for line in whole.splitlines():
        row = json.loads(line)
        yield tuple(row.get(name) for name in COLUMNS)


def pmacct_values(whole: bytes) -> Iterator[tuple[object, ...]]:
    """Objects line by line, times as numbers."""
    for line in whole.splitlines():
        row = json.loads(line)
        times = [row["timestamp_start"], row["timestamp_end"], row["timestamp_arrival"]]
        yield *(int(time.replace(".", "")) * 1000 for time in times), *row.values()


def nfdump_values(whole: bytes) -> Iterator[tuple[object, ...]]:
    """Rows one by one, times and counts as numbers."""
    reader = csv.reader(io.StringIO(whole.decode()))
    next(reader)
    for row in reader:
        first, last, received = (datetime.fromisoformat(row[i] + "+00:00").timestamp() for i in (0, 1, -1))
        yield first, last, received, float(row[2]), *row[3:5], *map(int, row[5:7]), *row[7:10], *map(int, row[10:14])


OURS = {form: ours(form) for form in WRITERS}
LOOPS = {
    "GoFlow2 protobuf": loop("GoFlow2 protobuf", protobuf_values),
    "GoFlow2 JSON": loop("GoFlow2 JSON", goflow2_values),
    "pmacct JSON": loop("pmacct JSON", pmacct_values),
    "nfdump CSV": loop("nfdump CSV", nfdump_values),
}


if __name__ == "__main__":
    main()
