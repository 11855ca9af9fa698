"""nfdump's collectors and ours, given the same datagrams of real exporters, hold the same records."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from capture.files.input_file import read_datagrams
from capture.ingest_log import IngestLog
from capture.wire_records import WireRecords
from datamodel.telemetry.flows import Flows
from storage.lake.lake_reader import read_lake
from tests.capture.live.namespaces import Namespace
from tests.flowprism.test_collect import COMMAND
from tests.house.checkout import ROOT
from tests.peers import collector, nfdump
from tests.peers.collector import Recorder, collecting, settled
from tests.peers.namespaces import cable, need, star
from tests.peers.nfdump import Row
from tests.peers.open_vswitch import TOOLS, Switch, open_vswitch
from tests.peers.softflowd import VERSIONS, softflowd
from tests.peers.traffic import Transfer, carry

pytestmark = pytest.mark.slow

MEGABYTE = 1_000_000
CONNECTIONS = 12
FRAME_OVERHEAD_BYTES = 18  # nfdump counts a sample's Ethernet header and checksum, we do not
ONE_IN = 8
EXPIRED_S = 2.5  # what a switch caches for a second it sends at the latest then

EXPORTS: dict[str, Callable[[Switch], None]] = {
    "sflow": lambda switch: switch.export_sflow(ONE_IN),
    "netflow": Switch.export_netflow,
    "ipfix": lambda switch: switch.export_ipfix(1),
}


def traffic(a: Namespace, b: Namespace) -> None:
    """Some connections of different sizes, which take three seconds."""
    carry([Transfer(a, b, 5001 + n, (n + 1) * MEGABYTE // 4, 8 * MEGABYTE) for n in range(CONNECTIONS)])


def replayed(space: Namespace, capture: Path, port: int) -> int:
    """Send the datagrams of a capture inside a namespace; how many they are."""
    command = ["ip", "netns", "exec", space.name, *COMMAND, "replay", str(capture), "--to", f"127.0.0.1:{port}"]
    done = subprocess.run([*command, "--rate", "2000"], cwd=ROOT, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[1])


def both(space: Namespace, capture: Path, daemon: str, folder: Path) -> tuple[Flows, Counter[Row]]:
    """What we and what they make of the datagrams of a capture."""
    with nfdump.capturing(space, daemon, folder / daemon):
        replayed(space, capture, nfdump.PORT)
    with collecting(space, folder / "ours") as running:
        settled(running, replayed(space, capture, collector.PORT))
    return read_lake(folder / "ours").flows, nfdump.records(folder / daemon)


def rows(flows: Flows, scale: int = 1, overhead_bytes: int = 0) -> Counter[Row]:
    """Our records in the form of theirs: scaled, and with what they count on top of a packet."""
    names = ("src_addr", "dst_addr", "src_port", "dst_port", "bytes", "packets")
    book, columns = flows.addresses, (flows.frame[name].tolist() for name in names)
    return Counter(
        (book[source], book[target], sport, dport, scale * (size + overhead_bytes * packets), scale * packets)
        for source, target, sport, dport, size, packets in zip(*columns, strict=True)
    )


def totals(capture: Path) -> Counter[Row]:
    """Each IPFIX record's ends with its octetTotalCount and packetTotalCount."""
    ends = ("sourceIPv4Address", "destinationIPv4Address", "sourceTransportPort", "destinationTransportPort")
    teller, found = WireRecords(), Counter[Row]()
    for batch in read_datagrams(capture, IngestLog()):
        for record in teller.of(batch):
            if record["record"] == "data" and ends[0] in record:
                source, target, *numbers = (record[name] for name in (*ends, "octetTotalCount", "packetTotalCount"))
                sport, dport, size, packets = (int(str(number)) for number in numbers)
                found[str(source), str(target), sport, dport, size, packets] += 1
    return found


@pytest.mark.parametrize("protocol", VERSIONS)
def test_softflowd(tmp_path: Path, protocol: str) -> None:
    """Of softflowd's exports both hold the same records, as many as it says it sent."""
    need("softflowd", "softflowctl", "nfcapd", "nfdump", "ss")
    with cable() as (a, b):
        recorder = Recorder(b)
        with softflowd(b, VERSIONS[protocol], tmp_path) as probe:
            traffic(a, b)
            records, datagrams = probe.export()
            capture = recorder.saved(tmp_path, datagrams)
        ours, theirs = both(b, capture, "nfcapd", tmp_path)
    assert len(ours) == records >= 2 * (CONNECTIONS - 1)
    assert rows(ours) == theirs


@pytest.mark.parametrize("kind", EXPORTS)
def test_open_vswitch(tmp_path: Path, kind: str) -> None:
    """Of Open vSwitch's exports both hold the same records.

    nfdump scales sFlow, and of IPFIX it takes the totals for what a record counts, which our records do not hold: there
    the totals that we read are compared.
    """
    daemon = "sfcapd" if kind == "sflow" else "nfcapd"
    need(*TOOLS, daemon, "nfdump", "ss")
    with star() as (space, a, b), open_vswitch(space, tmp_path) as switch:
        recorder = Recorder(space)
        EXPORTS[kind](switch)
        traffic(a, b)
        time.sleep(EXPIRED_S)
        switch.stop_exporting(kind)
        capture = recorder.saved(tmp_path)
        ours, theirs = both(space, capture, daemon, tmp_path)
    assert len(ours) == theirs.total() >= 2 * CONNECTIONS
    if kind == "ipfix":
        assert totals(capture) == theirs
    else:
        assert theirs == (rows(ours, ONE_IN, FRAME_OVERHEAD_BYTES) if kind == "sflow" else rows(ours))
