"""softflowd exports to our collector what the kernel and a capture of ours counted, byte by byte."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from capture.live.packet_ring import PacketRing
from storage.lake.lake_reader import read_lake
from tests.capture.exported import Key, sums
from tests.capture.live.namespaces import Namespace
from tests.peers.collector import collecting, settled
from tests.peers.namespaces import cable, need, received
from tests.peers.softflowd import FILLING, VERSIONS, softflowd
from tests.peers.traffic import Transfer, carry, seen, watched

pytestmark = pytest.mark.slow

MEGABYTE = 1_000_000
HEADERS_BYTES = 40  # IPv4 and TCP without options


def transfers(a: Namespace, b: Namespace) -> list[Transfer]:
    """Three connections one way and two the other, of sizes that tell them apart."""
    forth = [Transfer(a, b, 5001 + n, (n + 1) * MEGABYTE) for n in range(3)]
    return [*forth, *(Transfer(b, a, 6001 + n, (n + 1) * MEGABYTE // 2 + 1) for n in range(2))]


@pytest.mark.parametrize("protocol", VERSIONS)
def test_every_byte_of_every_flow(tmp_path: Path, protocol: str) -> None:
    """Bytes and packets of each flow, in each direction, are those that were captured; nothing is lost or left out."""
    need("softflowd", "softflowctl")
    with (
        cable() as (a, b),
        collecting(b, tmp_path / "out") as running,
        watched(a, b) as rings,
        softflowd(b, VERSIONS[protocol], tmp_path) as probe,
    ):
        carry(transfers(a, b))
        expected = captured(rings, a, b)
        probe.until_seen(sum(packets for _, packets in expected.values()), a)
        records, datagrams = probe.export()
        settled(running, datagrams)
    assert_carried(expected, transfers(a, b))
    reading = read_lake(tmp_path / "out")
    exported = sums(reading.flows)
    exported.pop(FILLING, None)
    assert exported == expected
    assert reading.exporters == ("127.0.0.1",)
    (exporter,) = running.status()["exporters"]
    assert (exporter["protocol"], exporter["records"]) == (protocol, records)


def captured(rings: Sequence[PacketRing], *spaces: Namespace) -> dict[Key, tuple[int, int]]:
    """Bytes and packets of each flow in the rings, which hold all that the kernel counted."""
    flows = seen(rings)
    counted = [received(space) for space in spaces]
    assert [sum(column) for column in zip(*flows.values(), strict=True)] == [
        sum(column) for column in zip(*counted, strict=True)
    ]
    return flows


def assert_carried(flows: dict[Key, tuple[int, int]], known: Sequence[Transfer]) -> None:
    """The flows are the known connections, there and back, and hold their volumes."""
    there = {(t.source.address, t.target.address, t.port): t.volume_bytes for t in known}
    found = {(source, target, port): size for (source, target, _, port), size in flows.items() if port < 7000}
    assert found.keys() == there.keys()
    assert len(flows) == 2 * len(known)
    for key, (size, packets) in found.items():
        assert 0 <= size - there[key] - HEADERS_BYTES * packets <= 20 * packets + there[key] // 100
