"""The same export datagrams give the same records to every consumer, however they are cut into files and restarts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import Datagrams
from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.reader import read_flows
from datamodel.errors import InputError
from datamodel.telemetry.flows import ADDRESS_COLUMNS, Flows
from flowprism.cli import app
from simulate.export.feed_spec import KINDS, Kind
from simulate.export.wire.pcap import pcap_bytes
from storage.lake.lake_reader import read_lake
from tests.flowprism.exports.captures import ALL, RECORDS, Sent, capture, datagrams, numbered, payload
from tests.flowprism.test_collect import collecting, send

Rows = Counter[tuple[object, ...]]
# Captures of other vendors: of each folder those whose files are small.
CORPUS = ("ntop+nDPI", "pmacct+pmacct", "the-tcpdump-group+tcpdump")
_LARGEST_BYTES = 40_000


def run(*arguments: str | Path) -> str:
    """What a command prints; it must succeed."""
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def rows(flows: Flows, without: Sequence[str] = ()) -> Rows:
    """Records as tuples, addresses as text."""
    book = np.array([*flows.addresses, None], object)
    columns = [
        (book[v] if n in ADDRESS_COLUMNS else v).tolist() for n, v in flows.frame.columns().items() if n not in without
    ]
    return Counter(zip(*columns, strict=True))


def consumed(files: Sequence[Path]) -> dict[str, Any]:
    """What each command makes of files."""
    said = json.loads(run("feeds", *files, "--format", "json"))
    report = json.loads(run("analyze", *files, "--format", "json"))
    out = files[0].with_suffix(".jsonl")  # its columns are those of all pieces, unlike those on stdout
    run("decode", *files, "--out", out)
    return {
        "wire": run("decode", *files, "--wire", "--out", "-").splitlines(),
        "decode": Counter(out.read_text().splitlines()),
        "feeds": {name: value for name, value in said.items() if name != "inputs"},
        "analyze": {name: value for name, value in report.items() if name != "provenance"},
    }


def cut(folder: Path, content: bytes, places: Sequence[int]) -> list[Path]:
    """A capture as several: its packets up to each place."""
    starts, at = [24], 24
    while at < len(content):
        at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
        starts.append(at)
    ends = sorted({min(place, len(starts) - 1) for place in places} | {0, len(starts) - 1})
    files = []
    for n, (first, last) in enumerate(pairwise(ends)):
        files.append(folder / f"part{n}.pcap")
        files[-1].write_bytes(content[:24] + content[starts[first] : starts[last]])
    return files


@pytest.mark.parametrize("kind", KINDS)
def test_a_capture_cut_into_five_is_one_feed(kind: Kind, tmp_path: Path) -> None:
    """Templates, rates, times and sequence numbers go on from file to file, for all commands."""
    sent = [one for n, one in enumerate(numbered(kind, 40)) if n not in (17, 18)]
    whole = capture(tmp_path / "whole.pcap", kind, sent)
    parts = cut(tmp_path, whole.read_bytes(), [8, 16, 24, 32])
    assert len(parts) == 5
    assert consumed(parts) == consumed([whole])


@pytest.mark.parametrize("kind", ["ipfix", "netflow9"])
def test_a_template_file_serves_the_data_file(kind: Kind, tmp_path: Path) -> None:
    """Bare datagrams: all records of the second file are decoded by the templates of the first one, or of a later."""
    first, *others = numbered(kind, 5)
    templates, data = tmp_path / "template.dat", tmp_path / "data.dat"
    templates.write_bytes(payload(kind, first))
    data.write_bytes(b"".join(payload(kind, one) for one in others))
    for files in ((templates, data), (data, templates)):
        assert len(run("decode", *files, "--out", "-").splitlines()) == 5 * RECORDS
        assert json.loads(run("analyze", *files, "--format", "json"))["feed"]["records"] == 5 * RECORDS


def restarted(batch: Datagrams, places: Sequence[int]) -> tuple[ExportDecoder, Rows]:
    """A decoder that went on from the state of another at each place, and all records."""
    exports, found = ExportDecoder(), Rows()
    ends = [0, *sorted({min(place, len(batch)) for place in places}), len(batch)]
    for first, last in pairwise(ends):
        state = exports.state()
        exports = ExportDecoder()
        exports.restore(state)
        exports.feed(Datagrams(batch.data, batch.index[first:last]))
        found += rows(exports.take().canonical_flows())
    return exports, found


CUTS = st.lists(st.integers(0, 40), max_size=6)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), lost=st.sets(st.integers(1, 29), max_size=5), places=CUTS)
def test_restarts_change_nothing(kind: Kind, lost: set[int], places: list[int]) -> None:
    """A collector that is restarted anywhere has the same records and the same account as one that is not."""
    batch = datagrams(kind, [one for n, one in enumerate(numbered(kind, 30)) if n not in lost])
    (whole, records), (parts, same) = restarted(batch, []), restarted(batch, places)
    assert same == records
    assert parts.exporters() == whole.exporters()


@settings(max_examples=25)
@given(kind=st.sampled_from(("netflow9", "ipfix")), told=st.integers(0, 11), places=CUTS)
def test_restarts_lose_nothing_that_waits(kind: Kind, told: int, places: list[int]) -> None:
    """Records that come before their template are decoded when it comes, wherever the collector is restarted."""
    sent = [replace(one, telling=n == told) for n, one in enumerate(numbered(kind, 12))]
    (_, records), (_, same) = restarted(datagrams(kind, sent), []), restarted(datagrams(kind, sent), places)
    assert same == records
    assert records.total() == 12 * RECORDS


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), places=CUTS)
def test_files_change_nothing(kind: Kind, places: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Cut anywhere into files, a capture gives the same records on the wire, decoded and in the account."""
    folder = tmp_path_factory.mktemp("cut")
    content = pcap_bytes(datagrams(kind, numbered(kind, 30)))
    (folder / "whole.pcap").write_bytes(content)
    assert consumed(cut(folder, content, places)) == consumed([folder / "whole.pcap"])


def split(kind: Kind, sizes: Sequence[int]) -> Iterator[Sent]:
    """The records of datagrams in smaller ones: of each as many as a size says, then the rest."""
    sequence = 0
    for one, size in zip(numbered(kind, len(sizes)), sizes, strict=True):
        for part in (ALL[:size], ALL[size:]):
            if part:
                telling = one.telling and part[0] == ALL[0]
                yield Sent(sequence, one.at_s, telling=telling, records=part)
                sequence += 1 if kind == "netflow9" else len(part) + (kind == "ipfix" and telling)


@settings(max_examples=25)
@given(kind=st.sampled_from(("netflow5", "netflow9", "ipfix")), sizes=st.lists(st.integers(0, RECORDS), min_size=9))
def test_datagrams_change_nothing(kind: Kind, sizes: list[int]) -> None:
    """The same records in other datagrams are the same records, and nothing is lost."""
    _, whole = restarted(datagrams(kind, numbered(kind, len(sizes))), [])
    exports, parts = restarted(datagrams(kind, list(split(kind, sizes))), [])
    assert parts == whole
    assert [e.lost for e in exports.exporters()] == [0]


# Who sent it and when it came differ; an sFlow sample without a time stamp is dated by its arrival.
ARRIVAL = ("time_received_ns", "sampler_address", "time_uncertainty_ns")
TIMES = ("time_flow_start_ns", "time_flow_end_ns")


def collected(kinds: Sequence[Kind], places: Sequence[int], lake: Path) -> Flows:
    """What `collect`, restarted at places, stores of 12 datagrams of each kind."""
    for first, last in pairwise([0, *sorted(places), 12]):
        with collecting(lake) as collector:
            for kind in kinds:
                send(collector.port(), *(payload(kind, one) for one in numbered(kind, 12)[first:last]))
            collector.stop()
    return read_lake(lake).flows


def decoded(kind: Kind, folder: Path) -> Flows:
    """What `decode` reads from a capture of the same datagrams."""
    capture(folder / f"{kind}.pcap", kind, numbered(kind, 12))
    run("decode", folder / f"{kind}.pcap", "--out", folder / f"{kind}.parquet")
    return read_flows(folder / f"{kind}.parquet").flows


@pytest.mark.slow
def test_a_collector_decodes_what_a_capture_gives(tmp_path: Path) -> None:
    """The collector is restarted once in between: templates, rates and sequence numbers go on."""
    found, expected = collected(KINDS, [5], tmp_path / "lake"), {kind: decoded(kind, tmp_path) for kind in KINDS}
    dated = sum((rows(flows, ARRIVAL) for kind, flows in expected.items() if kind != "sflow"), Rows())
    assert dated - rows(found, ARRIVAL) == Rows()
    assert rows(found, ARRIVAL + TIMES) == sum((rows(flows, ARRIVAL + TIMES) for flows in expected.values()), Rows())


@pytest.mark.slow
@settings(max_examples=3, phases=[Phase.generate], deadline=None)
@given(places=st.lists(st.integers(0, 12), min_size=2, max_size=3))
def test_restarts_of_a_collector_change_nothing(places: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    """All kinds at once; the collector is restarted twice or three times anywhere, also with nothing in between."""
    folder = tmp_path_factory.mktemp("cut")
    expected = sum((rows(decoded(kind, folder), ARRIVAL + TIMES) for kind in KINDS), Rows())
    assert rows(collected(KINDS, places, folder / "lake"), ARRIVAL + TIMES) == expected


def holds_exports(path: Path) -> bool:
    """Whether a capture by itself is one of export datagrams."""
    try:
        return any(len(batch) for batch in read_datagrams(path, IngestLog()))
    except InputError:
        return False


@pytest.mark.parametrize("folder", CORPUS)
def test_captures_of_other_vendors_can_be_cut(shared: Path, folder: str, tmp_path: Path) -> None:
    """Each capture, cut into three: the wire, the records and the account stay as they are."""
    compared = 0
    for path in sorted((shared / "corpus" / folder).rglob("*.pcap")):
        content = path.read_bytes()
        if content[:4] != b"\xd4\xc3\xb2\xa1" or len(content) > _LARGEST_BYTES:
            continue
        whole = tmp_path / path.name
        whole.write_bytes(content)
        third = len(list(cut(tmp_path, content, range(len(content))))) // 3
        parts = cut(tmp_path, content, [third, 2 * third])
        if len(parts) == 3 and all(map(holds_exports, parts)):
            assert consumed(parts) == consumed([whole]), path
            compared += 1
    assert compared > 0
