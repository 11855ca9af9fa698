"""Open vSwitch exports to our collector what the kernel counted at the hosts behind it, but for chance."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from capture.exporters.counter_check import FRAME_OVERHEAD_BYTES, reconcile
from datamodel.frame import Frame
from datamodel.telemetry.flows import Flows
from storage.lake.lake_reader import read_kind, read_lake
from tests.capture.live.namespaces import Namespace
from tests.flowprism.test_collect import Running
from tests.peers.collector import collecting, settled
from tests.peers.namespaces import ETHERNET_HEADER_BYTES, SWITCH_PORTS, need, received, star
from tests.peers.open_vswitch import AGENT, TOOLS, Switch, open_vswitch
from tests.peers.traffic import Transfer, carry

pytestmark = pytest.mark.slow

MEGABYTE = 1_000_000
LARGEST_PACKET_BYTES = 1500
BOUND_SIGMAS = 5.0
QUIET_S = 0.3
POLLED_S = 2.2  # the switch sends counters every second
EXPIRED_S = 2.5  # what it caches for a second it sends at the latest then
INGRESS, EGRESS = 0, 1

Pair = tuple[str, str]
Note = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Carried:
    """IP bytes and packets that the kernel counted for a pair: going into the switch, and coming out of it."""

    sent: tuple[int, int]
    delivered: tuple[int, int]

    def holds(self, size: float, packets: float, doubt: float = 0.0) -> bool:
        """Whether an estimate lies where it must. What the switch drops was sent and is not delivered."""
        low, high = self.delivered, self.sent
        return low[0] * (1 - doubt) <= size <= high[0] * (1 + doubt) and low[1] * (1 - doubt) <= packets <= high[1] * (
            1 + doubt
        )


@dataclass(slots=True)
class Scene:
    """Two hosts on a switch, and the collector beside it."""

    space: Namespace
    switch: Switch
    hosts: tuple[Namespace, Namespace]
    collector: Running

    def carry(self, pace_bps: int) -> dict[Pair, Carried]:
        """Four seconds of traffic, twice as much one way as the other; what the kernel counted of it."""
        a, b = self.hosts
        there = Transfer(a, b, 5001, pace_bps // 2, pace_bps)
        carry([there, Transfer(b, a, 6001, there.volume_bytes // 2, pace_bps // 2)])
        before, counted = None, self._counted()
        while counted != before:  # the last acknowledgements are still on their way
            time.sleep(QUIET_S)
            before, counted = counted, self._counted()
        return counted

    def _counted(self) -> dict[Pair, Carried]:
        return {
            (source.address, target.address): Carried(received(self.space, port), received(target))
            for source, target, port in zip(self.hosts, self.hosts[::-1], SWITCH_PORTS, strict=True)
        }


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Everything up, nothing exported yet."""
    need(*TOOLS)
    with star() as (space, a, b), open_vswitch(space, folder) as switch, collecting(space, folder / "out") as collector:
        yield Scene(space, switch, (a, b), collector)


def volumes(flows: Flows, frame: Frame | None = None) -> dict[Pair, tuple[int, int]]:
    """Bytes and packets of each pair, not scaled."""
    rows = flows.frame if frame is None else frame
    size, count = Counter[Pair](), Counter[Pair]()
    columns = (rows[name].tolist() for name in ("src_addr", "dst_addr", "bytes", "packets"))
    for source, target, octets, packets in zip(*columns, strict=True):
        pair = (flows.addresses[source], flows.addresses[target])
        size[pair] += octets
        count[pair] += packets
    return {pair: (size[pair], count[pair]) for pair in size}


def expected_error(size: int, one_in: int) -> float:
    """Standard deviation of a volume estimated from packets sampled one in N, over the volume; at most."""
    return math.sqrt((one_in - 1) * LARGEST_PACKET_BYTES / size)


def counter_growth(frame: Frame, interface: int) -> tuple[int, int]:
    """Frame bytes and packets that came in at an interface between the first and the last reading."""
    rows = frame.take(frame["interface"] == interface).sort("time_ns")
    return int(np.ptp(rows["in_bytes"])), int(np.ptp(rows["in_packets"]))


@pytest.mark.parametrize("one_in", [1, 4, 16])
def test_sflow(tmp_path: Path, one_in: int, record_property: Note) -> None:
    """Samples add up to what was carried, to the byte where all packets are samples; counters tell the same volume."""
    with scene(tmp_path) as there:
        there.switch.export_sflow(one_in)
        time.sleep(POLLED_S)
        carried = there.carry(80 * MEGABYTE if one_in == 1 else 8 * 40 * MEGABYTE)
        time.sleep(POLLED_S)
        settled(there.collector)
        indices = [int(there.space.run("cat", f"/sys/class/net/{port}/ifindex")) for port in SWITCH_PORTS]
    reading = read_lake(tmp_path / "out")
    assert reading.exporters == (AGENT,)
    assert set(reading.flows.frame["sampling_rate"].tolist()) == {one_in}
    assert_estimated(volumes(reading.flows), carried, one_in, record_property)
    counters, book = read_kind(tmp_path / "out", "counters")
    for index, known in zip(indices, carried.values(), strict=True):
        size, packets = known.sent
        assert counter_growth(counters, index) == (size + ETHERNET_HEADER_BYTES * packets, packets)
    assert_reconciled(reading.flows, counters, book, one_in)


def assert_estimated(
    samples: dict[Pair, tuple[int, int]],
    carried: dict[Pair, Carried],
    one_in: int,
    record_property: Note,
) -> None:
    """Each pair's samples times their rate are the pair's volume within five standard deviations."""
    assert samples.keys() == carried.keys()
    for pair, (size, packets) in samples.items():
        error = expected_error(carried[pair].sent[0], one_in)
        seen = one_in * size / carried[pair].sent[0] - 1
        told = f"{pair}: 1 in {one_in}: {error:.4f} expected, {seen:+.4f} seen"
        record_property("relative error", told)
        assert carried[pair].holds(one_in * size, one_in * packets, BOUND_SIGMAS * error), told


def assert_reconciled(flows: Flows, counters: Frame, book: tuple[str, ...], one_in: int) -> None:
    """The rates agree with the counters; a rate three times as high would not, and the true one would be named."""
    agents = np.full(len(counters), flows.addresses.index(AGENT), np.int32)
    assert {book[code] for code in counters["sampler_address"]} == {AGENT}
    counters = counters.replace(sampler_address=agents)
    assert reconcile(flows.frame, counters) == []
    wrong = flows.frame.replace(sampling_rate=3 * flows.frame["sampling_rate"])
    found = reconcile(wrong, counters)
    assert len(found) == len(SWITCH_PORTS)
    overhead = 1 + FRAME_OVERHEAD_BYTES / LARGEST_PACKET_BYTES
    for disagreement in found:
        assert disagreement.exported_rate == 3 * one_in
        bound = BOUND_SIGMAS * expected_error(disagreement.counted_bytes, one_in) + 10 * (overhead - 1)
        assert disagreement.likely_rate == pytest.approx(one_in, rel=bound)


@pytest.mark.parametrize("one_in", [1, 8])
def test_ipfix(tmp_path: Path, one_in: int, record_property: Note) -> None:
    """Records of packets coming in, and those of packets going out, each add up to what was carried.

    Open vSwitch scales bytes and packets by its sampling rate, which it tells nobody: the rate is unknown, and a
    warning says so.
    """
    with scene(tmp_path) as there:
        there.switch.export_ipfix(one_in)
        carried = there.carry(8 * 20 * MEGABYTE)
        time.sleep(EXPIRED_S)
        settled(there.collector)
    flows = read_lake(tmp_path / "out").flows
    assert set(flows.frame["sampling_rate"].tolist()) == {0}
    for direction in (INGRESS, EGRESS):
        rows = flows.frame.take(flows.frame["flow_direction"] == direction)
        for pair, (size, packets) in volumes(flows, rows).items():
            error = expected_error(carried[pair].sent[0], one_in)
            told = f"{pair}: 1 in {one_in}: {error:.4f} expected, {size / carried[pair].sent[0] - 1:+.4f} seen"
            record_property("relative error", told)
            assert carried[pair].holds(size, packets, BOUND_SIGMAS * error), told
        assert volumes(flows, rows).keys() == carried.keys()
    (exporter,) = [e for e in there.collector.status()["exporters"] if e["records"]]
    assert (exporter["protocol"], exporter["domain"]) == ("IPFIX", 7)
    assert exporter["warnings"] == [f"{len(flows)} records come without a sampling rate, and no option gives one"]


def test_netflow(tmp_path: Path) -> None:
    """Records hold every packet once. Open vSwitch counts whole Ethernet frames where NetFlow v5 counts IP packets."""
    with scene(tmp_path) as there:
        there.switch.export_netflow()
        carried = there.carry(8 * 20 * MEGABYTE)
        time.sleep(EXPIRED_S)
        there.switch.stop_exporting("netflow")
        time.sleep(0.5)
        settled(there.collector)
    reading = read_lake(tmp_path / "out")
    seen = volumes(reading.flows)
    assert seen.keys() == carried.keys()
    for pair, (size, packets) in seen.items():
        assert carried[pair].holds(size - ETHERNET_HEADER_BYTES * packets, packets)
    (exporter,) = there.collector.status()["exporters"]
    assert (exporter["protocol"], exporter["domain"], exporter["records"]) == ("NetFlow v5", 7, len(reading.flows))
