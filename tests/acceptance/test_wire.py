"""What the wire said, field by field, here and in tshark; docs/feeds-checked.md lists what differs and who is right."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from itertools import zip_longest
from pathlib import Path
from time import process_time

from capture.configured_rates import SamplingRates
from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.netflow.describe import WireTemplates
from capture.netflow.describe import describe as netflow
from capture.reader import read_flows
from capture.sflow.describe import describe as sflow
from capture.wire_records import WireRecords
from datamodel.errors import InputError
from flowprism.inputs.feed_survey import survey
from tests.acceptance.tshark import GOLDEN, Leaf, Tree, layers, leaves, moment_ns, records, templates
from tests.acceptance.wire_names import (
    NETFLOW,
    NETFLOW_BESIDE,
    NETFLOW_HEADER,
    NETFLOW_HEADING,
    SFLOW,
    SFLOW_BESIDE,
    SFLOW_SAME,
)

Record = dict[str, object]
Difference = tuple[str, str]  # file and field

# docs/feeds-checked.md says of each who is right.
NETFLOW_DIFFERENCES = {
    ("None-multiMessage.bin", "records"),
    ("None-multiMessage.bin", "templates"),
    ("ipfix.dat", "cflow.abstimestart"),
    ("netflow9_test_nprobe_dpi.dat", "cflow.appl_name"),
    ("netflow9_test_nprobe_dpi.dat", "cflow.pie.ntop.l7_proto_name"),
}
SFLOW_DIFFERENCES = {
    "SFlowTestPacket8.bin": ("sflow_245.nexthop",),
    "host_sample.dump": ("sflow_245.dot3",),
    "sflow_multiple_counter_30_pdus.pcap": ("sflow_245.dot3", "sflow_245.dot12"),
    "sflow_v5.bin": ("sflow_245.dot12",),
}
MOST_S = 10  # for a file; the largest has 4 MB
FRAME_AT = 42  # where the payload is in files that hold a single Ethernet frame and no capture header


def told(path: Path) -> list[list[Record]]:
    """What we say of each export datagram of a file.

    Files that are no captures and that nothing tells from other bytes are one datagram, as tshark was given them.
    """
    wire, found = WireRecords(), []
    try:
        for batch in read_datagrams(path, IngestLog()):
            found += [list(wire.of(replace(batch, index=batch.index[i : i + 1]))) for i in range(len(batch))]
    except InputError:
        content = path.read_bytes()
        framed = content[FRAME_AT:] if content[12:14] == b"\x08\x00" else content
        found = [list(sflow(framed) if framed[:2] == b"\0\0" else netflow(framed, WireTemplates()))]
    return [datagram for datagram in found if datagram]


def goldens(shared: Path, layer: str, protocols: tuple[str, ...]) -> Iterator[tuple[Path, list[Record], Tree]]:
    """Datagrams that both readings have: ours and tshark's, file by file."""
    for golden in sorted((shared / "corpus").rglob(f"*{GOLDEN}")):
        theirs = layers(golden, layer)
        if theirs:
            path = golden.with_name(golden.name.removesuffix(GOLDEN))
            ours = [datagram for datagram in told(path) if datagram[0].get("protocol") in protocols]
            yield from ((path, mine, tree) for mine, tree in zip(ours, theirs, strict=False))


def same(ours: object, theirs: str) -> bool:
    """Whether tshark's text means our value."""
    if isinstance(ours, bool):
        return int(ours) == int(theirs, 0)
    if isinstance(ours, int):
        return ours == number(theirs)
    if isinstance(ours, float):
        return math.isclose(ours, float(theirs), rel_tol=1e-5)
    return text(str(ours)) == text(theirs)


def number(theirs: str) -> int:
    """A number of tshark's: in any base, as bytes, a time of day or an uptime, these in ms."""
    if theirs.endswith(" UTC"):
        return moment_ns(theirs) // 10**6
    if ":" in theirs:
        return int(theirs.replace(":", ""), 16)
    return round(float(theirs) * 1000) if "." in theirs else int(theirs, 0)


def text(value: str) -> str:
    """An address in its canonical form, bytes without separators, other text as it is."""
    if re.fullmatch(r"[0-9a-f]{2}(:[0-9a-f]{2})+", value):
        return value.replace(":", "")
    try:
        return str(ip_address(value))
    except ValueError:
        return value


def values(record: Record, names: str) -> list[object]:
    """All values of a record under any of these names, in order."""
    wanted = names.split()
    found = [value for name, value in record.items() if name in wanted]
    return [one for value in found for one in (value if isinstance(value, list) else [value])]


class Comparison:
    """Counts values that agree, by field, and keeps one example of each disagreement."""

    def __init__(self) -> None:
        self.agreed: Counter[str] = Counter()
        self.differences: dict[Difference, str] = {}

    def field(self, path: Path, name: str, ours: list[object], theirs: list[str]) -> None:
        """Compare all values of a field in one record or datagram."""
        # tshark's JSON puts what has the same title side by side, so the order of samples may be lost.
        agree = len(ours) == len(theirs) and all(map(same, ours, theirs))
        if agree or Counter(map(str, ours)) == Counter(theirs):
            self.agreed[name] += len(theirs)
        else:
            self.differences.setdefault((path.name, name), f"{ours} {theirs}")

    def leaves(self, path: Path, found: list[Leaf], ours: Callable[[str], list[object]]) -> None:
        """Compare each field that tshark shows with what `ours` gives for it."""
        for name in dict.fromkeys(name for name, _ in found):
            self.field(path, name, ours(name), [value for other, value in found if other == name])


def netflow_differences(comparison: Comparison, path: Path, mine: list[Record], tree: Tree) -> None:
    """Compare a datagram of NetFlow or IPFIX: its header, templates and records."""
    head = [(name, value) for name, value in leaves(tree) if name in NETFLOW_HEADER]
    for name, ours in NETFLOW_HEADER.items():
        theirs = [value for other, value in head if other == name][:1]
        if theirs:
            comparison.field(path, name, values(mine[0], ours), theirs)
    announced = [(r["template"], [f["length"] for f in fields(r)]) for r in mine if "template" in str(r.get("record"))]
    variable = [(number, ["variable" if n == 0xFFFF else n for n in lengths]) for number, lengths in templates(tree)]
    comparison.agreed["templates"] += len(variable)
    if announced != variable:
        comparison.differences.setdefault((path.name, "templates"), f"{announced} {variable}")
    data = [r for r in mine if r.get("record") in ("data", "options data")]
    for ours_record, theirs_record in zip_longest(data, records(tree)):
        if ours_record is None or theirs_record is None or "data" in ours_record:
            if ours_record is None or theirs_record is not None or "data" not in ours_record:
                comparison.differences.setdefault((path.name, "records"), f"{ours_record} {theirs_record}"[:300])
            continue
        shown = [leaf for leaf in theirs_record if not leaf[0].startswith(NETFLOW_BESIDE) and leaf != NETFLOW_HEADING]
        comparison.leaves(path, shown, partial(netflow_values, ours_record))


def netflow_values(record: Record, name: str) -> list[object]:
    """Our values of a field that tshark shows; of one that is not known here none, which is a difference."""
    return values(record, NETFLOW.get(name, ""))


def fields(record: Record) -> list[dict[str, object]]:
    """The fields of a template record."""
    found = record["fields"]
    assert isinstance(found, list)
    return found


def sflow_values(samples: list[Record]) -> dict[str, list[object]]:
    """What we tell of an sFlow datagram under the names of `SFLOW`, taken apart as tshark takes it."""
    found: dict[str, list[object]] = {}
    for name in ("agent_address", "sub_agent_id", "sequence_number", "uptime"):
        found[f"head.{name}"] = [samples[0].get(name)]
    for sample in samples:
        kind = str(sample.get("sample", ""))
        for name, value in (*sample.items(), *sample_parts(sample)):
            group = "flows" if kind.startswith("flow") else "counts"
            for key in (kind, group):
                found.setdefault(f"{key}.{name}", []).append(len(value) if isinstance(value, list) else value)
        for structure in (*listed(sample, "flow_records"), *listed(sample, "counters")):
            for name, value in (*structure.items(), *structure_parts(structure)):
                found.setdefault(f"{structure['structure']}.{name}", []).extend(
                    value if isinstance(value, list) else [value]
                )
            if "nexthop" in structure:
                family = ip_address(str(structure["nexthop"])).version
                found.setdefault(f"any.nexthop_ipv{family}", []).append(structure["nexthop"])
    return found


def listed(record: Record, name: str) -> list[Record]:
    """The structures of a sample."""
    found = record.get(name, [])
    assert isinstance(found, list)
    return found


def sample_parts(sample: Record) -> Iterator[tuple[str, object]]:
    """The type and value of a data source and of interfaces, which compact samples pack into a word."""
    if isinstance(source := sample.get("source_id"), int):
        yield from (("source_type", source >> 24), ("source_index", source & 0xFFFFFF))
    elif "source_id_type" in sample:
        yield from (("source_type", sample["source_id_type"]), ("source_index", sample["source_id_index"]))
    for name in ("input", "output"):
        if isinstance(word := sample.get(name), int):
            yield from ((f"{name}_format", word >> 30), (f"{name}_value", word & 0x3FFFFFFF))


def structure_parts(structure: Record) -> Iterator[tuple[str, object]]:
    """What tshark tells apart of a structure's members."""
    if isinstance(status := structure.get("ifStatus"), int):
        yield from (("admin", status & 1), ("oper", status >> 1 & 1))
    if isinstance(header := structure.get("header"), str):
        yield "header_bytes", len(header) // 2
    if structure["structure"] == "extended_gateway" and "communities" in structure:
        segments, communities = listed(structure, "dst_as_path"), structure["communities"]
        assert isinstance(communities, list)
        yield from (("segments", len(segments)), ("community_count", len(communities)))
        yield "type", [segment["type"] for segment in segments]
        numbers = [number for segment in segments for number in listed(segment, "as_numbers")]
        yield "numbers", [*numbers, *communities]


def without_padding(found: Iterator[Leaf]) -> Iterator[Leaf]:
    """Fields of tshark's, sampled headers cut to the length told just before; tshark shows their padding too."""
    length_bytes = 0
    for name, value in found:
        if name == "sflow_245.header.sampled_header_length":
            length_bytes = int(value)
        yield name, ":".join(value.split(":")[:length_bytes]) if name == "sflow_245.header" else value


def sflow_member(found: dict[str, list[object]], name: str) -> list[object]:
    """Our values of a field that tshark shows; of one that is not known here none, which is a difference."""
    for theirs, ours in SFLOW_SAME.items():
        name = name.replace(theirs, ours, 1) if name.startswith(theirs) else name
    return found.get(SFLOW.get(name, name), [])


def test_netflow_and_ipfix_say_the_same(shared: Path) -> None:
    """Every header, template and field of every record that tshark reads is ours, but for the differences listed."""
    comparison, datagrams = Comparison(), 0
    for path, mine, tree in goldens(shared, "cflow", ("NetFlow v5", "NetFlow v9", "IPFIX")):
        netflow_differences(comparison, path, mine, tree)
        datagrams += 1
    assert set(comparison.differences) == NETFLOW_DIFFERENCES, comparison.differences
    assert datagrams >= 365
    assert sum(comparison.agreed.values()) > 17_000
    assert len(comparison.agreed) > 110


def test_sflow_says_the_same(shared: Path) -> None:
    """Every member of every sample and structure that tshark knows is ours, but for the differences listed."""
    comparison, datagrams = Comparison(), 0
    for path, mine, tree in goldens(shared, "sflow", ("sFlow v5",)):
        found = sflow_values(mine)
        shown = list(without_padding(leaves(tree, without="sflow_245.header_tree")))
        members = [(name, value) for name, value in shown if not name.startswith(SFLOW_BESIDE)]
        comparison.leaves(path, members, partial(sflow_member, found))
        datagrams += 1
    unexpected = {
        place: example
        for place, example in comparison.differences.items()
        if not place[1].startswith(SFLOW_DIFFERENCES.get(place[0], ("none",)))
    }
    assert unexpected == {}
    assert {name for name, _ in comparison.differences} == set(SFLOW_DIFFERENCES)
    assert datagrams >= 89
    assert sum(comparison.agreed.values()) > 11_000
    assert len(comparison.agreed) > 80


def test_every_file_of_the_corpus_is_read(shared: Path) -> None:
    """Reading, the survey and the plain reading of any file end within seconds, with records or a clear refusal."""
    files = sorted(path for path in (shared / "corpus").rglob("*") if path.is_file())
    used = sum(read_every_way(path) for path in files)
    assert len(files) > 400
    assert used > 150


def read_every_way(path: Path) -> bool:
    """Read a file as records, as a survey and as wire records; whether any of it was possible."""
    ways: tuple[Callable[[], object], ...] = (
        lambda: read_flows(path),
        lambda: survey([path], SamplingRates()),
        lambda: json.dumps([list(WireRecords().of(b)) for b in read_datagrams(path, IngestLog())], allow_nan=False),
    )
    refusals = [refusal(path, way) for way in ways]
    return not all(refusals)


def refusal(path: Path, way: Callable[[], object]) -> str:
    """Why a file cannot be read in this way, in a line that names it; "" where it can."""
    # What the first file needed may have been compiled for it; reading alone takes far less.
    took_s, said = timed(way)
    if took_s > MOST_S:
        took_s, said = timed(way)
    assert took_s < MOST_S, path
    assert not said or (path.name in said and "\n" not in said)
    return said


def timed(way: Callable[[], object]) -> tuple[float, str]:
    """How long it takes, and why it was refused."""
    begin = process_time()
    try:
        way()
    except InputError as error:
        return process_time() - begin, str(error)
    return process_time() - begin, ""
