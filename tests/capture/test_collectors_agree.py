"""The same export datagrams, decoded here and through each collector, give the same records."""

from collections import Counter
from pathlib import Path

import pytest

from capture.reader import read_all, read_flows
from datamodel.telemetry.flows import Flows
from tests.capture.exported import sums

FOLDER = Path(__file__).parents[1] / "data" / "collectors"
FRAME_BYTES = 18  # Ethernet header and checksum, which collectors count with sFlow and our decoder does not
MICROSECOND, MILLISECOND = 1_000, 1_000_000


def spans(flows: Flows, unit_ns: int) -> Counter[tuple[str | int, ...]]:
    """How often there is a record of these ends, sizes and times, times in whole units."""
    frame, book = flows.frame, flows.addresses
    names = (
        "src_addr",
        "dst_addr",
        "src_port",
        "dst_port",
        "proto",
        "bytes",
        "packets",
        "in_if",
        "out_if",
        "tcp_flags",
    )
    times = [((frame[name] + unit_ns // 2) // unit_ns).tolist() for name in ("time_flow_start_ns", "time_flow_end_ns")]
    rows = zip(*(frame[name].tolist() for name in names), *times, strict=True)
    return Counter((book[source], book[target], *rest) for source, target, *rest in rows)


@pytest.mark.parametrize("name", ["goflow2.bin", "goflow2.jsonl"])
def test_goflow2_gives_what_we_decode(name: str) -> None:
    """NetFlow v5 record by record with its times; v9, IPFIX and sFlow in sizes, sFlow's but for the frame."""
    theirs = read_flows(FOLDER / name).flows
    sampled = theirs.frame["sampling_rate"] == 32
    exact = Flows(theirs.frame.take(~sampled), theirs.addresses)
    assert spans(read_flows(FOLDER / "netflow5.pcap").flows, 1) <= spans(exact, 1)
    assert sums(exact) == sums(read_all(FOLDER / f"{n}.pcap" for n in ("netflow5", "nf9", "ipfix")).flows)
    samples = read_flows(FOLDER / "sflow.pcap").flows
    frames = samples.frame.replace(bytes=samples.frame["bytes"] + FRAME_BYTES * samples.frame["packets"])
    assert sums(Flows(theirs.frame.take(sampled), theirs.addresses)) == sums(Flows(frames, samples.addresses))


@pytest.mark.parametrize(("name", "what"), [("goflow2.bin", "messages"), ("goflow2.jsonl", "rows")])
def test_times_that_goflow2_made_up_are_told(name: str, what: str) -> None:
    """Of softflowd's v9 GoFlow2 passes on only the second of the export: each such record is counted."""
    warning = f"{name}: 16 {what} of several packets have no times of their own, only the second of their export"
    assert warning in read_flows(FOLDER / name).notes.warnings


@pytest.mark.parametrize("source", ["netflow5", "nf9"])
def test_pmacct_gives_what_we_decode(source: str) -> None:
    """Every record with its times; the exporter is the one that sent it."""
    theirs, ours = (read_flows(FOLDER / name) for name in (f"pmacct-{source}.json", f"{source}.pcap"))
    # Of NetFlow v5 pmacct prints whole seconds.
    unit_ns = 1_000 * MILLISECOND if source == "netflow5" else MILLISECOND
    seen, expected = spans(theirs.flows, 1), spans(ours.flows, 1)
    cut = {
        key[:-2] + tuple(int(time) // unit_ns * unit_ns for time in key[-2:]): count for key, count in expected.items()
    }
    assert seen == cut
    assert theirs.exporters == ours.exporters
