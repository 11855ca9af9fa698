"""What switches exported, against the mirror of the same traffic; docs/feeds-checked.md has the figures."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from capture.reader import read_flows
from capture.tables.addresses import from_words
from datamodel.telemetry.flows import Flows
from tests.acceptance.cases import CAPTURES
from tests.capture.frames import decoded

Connection = tuple[str, str, int, int]  # source and destination: addresses, ports
Place = tuple[str, int]  # an exporter and one of its ports
Integers = NDArray[np.int64]

MS = 1_000_000
ETHERNET_BYTES = 14  # per packet: Open vSwitch counts frames in NetFlow v5, without their checksum
TAPS_NS = MS // 10  # how far apart the mirror and an exporter stamp the same packet
SAMPLING_RATE = 32
ENOUGH_SAMPLES = 30  # expected of a pair, for its error to be about normal
CHANCE = 0.001  # a result rarer than this, on either side, is none


@dataclass(frozen=True, slots=True)
class Train:
    """The packets of one connection in one direction, in order of time: stamps, and sums of IP bytes up to each."""

    times_ns: Integers
    sums_bytes: Integers


@dataclass(frozen=True, slots=True)
class Truth:
    """A capture's mirror by connection, squared packet sizes by pair, and the port each endpoint is attached to."""

    trains: dict[Connection, Train]
    squares: dict[tuple[str, str], float]
    attached: dict[str, Place]


Truths = Callable[[str], Truth]


def attachments(topology: Path) -> dict[str, Place]:
    """Agent and ifIndex of the access port of every address, storage and RPC hosts included."""
    leaves = json.loads(topology.read_text())["leaves"]
    return {
        port["ip"]: (leaf["exporter"], port["ifindex"]) for leaf in leaves for port in leaf["ports"] if "ip" in port
    }


def truth(folder: Path) -> Truth:
    """Packet by packet what went from whom to whom."""
    packets = decoded(gzip.decompress((folder / "mirror.pcap.gz").read_bytes()))
    names = ("src_high", "src_low", "dst_high", "dst_low", "src_port", "dst_port")
    packets = packets[np.lexsort([packets[name] for name in ("time_ns", *names[::-1])])]
    changes = np.any([np.diff(packets[name]) != 0 for name in names], axis=0)
    trains, squares = {}, defaultdict[tuple[str, str], float](float)
    for train in np.split(packets, np.flatnonzero(changes) + 1):
        *words, src_port, dst_port = (int(train[0][name]) for name in names)
        ends = (from_words(words[0], words[1]), from_words(words[2], words[3]))
        sizes = train["ip_bytes"].astype(np.int64)
        trains[(*ends, src_port, dst_port)] = Train(train["time_ns"].astype(np.int64), np.cumsum(sizes))
        squares[ends] += float(np.sum(sizes**2))
    return Truth(trains, dict(squares), attachments(folder / "truth" / "topology.json"))


@pytest.fixture(scope="module")
def truths(shared: Path) -> Truths:
    """`truths(name)` is a capture's truth; a second call gives the same value again."""
    return cache(lambda name: truth(shared / "captures" / name))


Row = dict[str, int]


def rows(flows: Flows) -> list[tuple[Connection, str, Row]]:
    """The records of a feed: connection, exporter, and the columns that are compared."""
    frame, book = flows.frame, flows.addresses
    names = ("bytes", "packets", "in_if", "flow_direction", "time_flow_end_ns", "time_received_ns")
    ends = [[book[code] for code in frame[name]] for name in ("src_addr", "dst_addr", "sampler_address")]
    ports = [frame[name].tolist() for name in ("src_port", "dst_port")]
    columns = zip(*(frame[name].tolist() for name in names), strict=True)
    places = zip(*ends, *ports, columns, strict=True)
    return [((s, d, sp, dp), agent, dict(zip(names, row, strict=True))) for s, d, agent, sp, dp, row in places]


@dataclass(frozen=True, slots=True)
class Exact:
    """A feed that counts every packet.

    Attributes:
        extra_bytes: what it counts per packet beyond the IP packet.
        told_ports: whether its input interfaces are ports; softflowd tells the leaf's number instead.
        behind_ns: how much later than the mirror it may see a packet: a switch's queue on a busy machine.
        held_ns: for how long it holds what it counted before a record tells it; when the exporter is stopped, that
            much before its last datagram stays untold.
    """

    extra_bytes: int
    told_ports: bool
    behind_ns: int
    held_ns: int


EXACT = {
    "netflow5": Exact(ETHERNET_BYTES, True, 5 * MS, 1_000 * MS),
    "nf9": Exact(0, False, 0, 3_000 * MS),
    "ipfix-softflowd": Exact(0, False, 0, 3_000 * MS),
}


def at_the_source(flows: Flows, attached: dict[str, Place], *, told_ports: bool) -> dict[Connection, list[Row]]:
    """Records of the switch and port where a packet enters the fabric, by connection, in order of their ends."""
    found = defaultdict[Connection, list[Row]](list)
    for connection, agent, row in rows(flows):
        leaf, port = attached[connection[0]]
        if agent == leaf and (row["in_if"] == port or not told_ports):
            found[connection].append(row)
    return {key: sorted(records, key=lambda r: r["time_flow_end_ns"]) for key, records in found.items()}


def contradictions(train: Train, records: list[Row], kind: Exact) -> list[str]:
    """What a connection's records say otherwise than its packets.

    After each record the connection's packets so far are the mirror's first ones: as many bytes, and the record's end
    lies between the last one counted and the first one that was not, to the millisecond in which records tell times.
    """
    wrong: list[str] = []
    packets = counted_bytes = 0
    for record in records:
        packets, counted_bytes = packets + record["packets"], counted_bytes + record["bytes"]
        if packets > len(train.times_ns):
            return [*wrong, f"{packets} packets, there were {len(train.times_ns)}"]
        expected = int(train.sums_bytes[packets - 1]) + kind.extra_bytes * packets
        if counted_bytes != expected:
            wrong.append(f"{counted_bytes} bytes, the first {packets} packets have {expected}")
        end_ns, slack_ns = record["time_flow_end_ns"], MS + TAPS_NS
        early = train.times_ns[packets - 1] > end_ns + slack_ns
        if early or (packets < len(train.times_ns) and train.times_ns[packets] < end_ns - slack_ns - kind.behind_ns):
            wrong.append(f"end {end_ns} does not part packets {packets - 1} and {packets}")
    return wrong


@pytest.mark.parametrize("feed", EXACT)
@pytest.mark.parametrize("name", CAPTURES)
def test_exact_feeds_are_the_mirror_to_the_byte(name: str, feed: str, truths: Truths, shared: Path) -> None:
    """Every record counts exactly the packets of its time; only what no record was exported of is missing."""
    kind, known = EXACT[feed], truths(name)
    flows = read_flows(shared / "captures" / name / f"{feed}.pcap.gz").flows
    found = at_the_source(flows, known.attached, told_ports=kind.told_ports)
    assert set(found) <= set(known.trains)
    wrong = {c: w for c, r in found.items() if (w := contradictions(known.trains[c], r, kind))}
    assert wrong == {}
    last_ns = int(flows.frame["time_received_ns"].max())
    assert untold_since(known, found) > last_ns - kind.held_ns


def untold_since(known: Truth, found: dict[Connection, list[Row]]) -> int:
    """When the first packet passed that no record counts; without the capture's last packets there is always one."""
    told = {connection: sum(record["packets"] for record in records) for connection, records in found.items()}
    rest = [train.times_ns[told.get(connection, 0) :] for connection, train in known.trains.items()]
    return int(min(times[0] for times in rest if len(times)))


def sampled(flows: Flows, known: Truth, place: str, direction: int) -> dict[tuple[str, str], float]:
    """Estimated bytes by pair from the packets sampled at one place on their way.

    The place "source" is the port where they enter the fabric, "destination" the leaf of the destination where that
    is another one: both samples are independent of each other.
    """
    found = defaultdict[tuple[str, str], float](float)
    scale = np.where(flows.frame["sampling_rate"] > 1, flows.frame["sampling_rate"], 1).tolist()
    for (connection, agent, row), factor in zip(rows(flows), scale, strict=True):
        src, dst = connection[:2]
        entered = known.attached[src] == (agent, row["in_if"])
        here = entered if place == "source" else not entered and known.attached[dst][0] == agent
        if here and row["flow_direction"] == direction:
            found[src, dst] += row["bytes"] * factor
    return found


def surprise(estimates: dict[tuple[str, str], float], known: Truth, place: str) -> tuple[float, int]:
    """Sum of squared errors of the pairs in units of their variance, and how many pairs.

    Each packet of b bytes is taken with probability 1/N and then counts N b: the variance of the sum is
    (N - 1) times the sum of b squared over all packets sent, sampled or not (Horvitz and Thompson, 1952).
    """
    sums, squares, packets = (defaultdict[tuple[str, str], float](float) for _ in range(3))
    for connection, train in known.trains.items():
        src, dst = connection[:2]
        if place == "destination" and known.attached[src][0] == known.attached[dst][0]:
            continue
        sums[src, dst] += float(train.sums_bytes[-1])
        packets[src, dst] += len(train.times_ns)
        squares[src, dst] = known.squares[src, dst]
    pairs = [pair for pair, count in packets.items() if count >= ENOUGH_SAMPLES * SAMPLING_RATE]
    errors = [(estimates.get(p, 0) - sums[p]) ** 2 / ((SAMPLING_RATE - 1) * squares[p]) for p in pairs]
    return sum(errors), len(pairs)


INGRESS, EGRESS, UNKNOWN = 0, 1, 255
SAMPLED = [("sflow", UNKNOWN), ("ipfix", INGRESS), ("ipfix", EGRESS)]


@pytest.mark.parametrize("place", ["source", "destination"])
@pytest.mark.parametrize(("feed", "direction"), SAMPLED)
@pytest.mark.parametrize("name", CAPTURES)
def test_sampled_feeds_err_as_chance_does(
    name: str, feed: str, direction: int, place: str, truths: Truths, shared: Path
) -> None:
    """The errors of all pairs are neither larger nor smaller than a sampling of 1 in 32 makes them."""
    flows, known = read_flows(shared / "captures" / name / f"{feed}.pcap.gz").flows, truths(name)
    error, pairs = surprise(sampled(flows, known, place, direction), known, place)
    assert pairs >= 8
    assert CHANCE < chi2.sf(error, pairs) < 1 - CHANCE


def test_a_wrong_rate_is_no_chance(truths: Truths, shared: Path) -> None:
    """Bytes scaled by 37 instead of 32 would be noticed: the test above can fail."""
    known = truths("s1-healthy")
    flows = read_flows(shared / "captures" / "s1-healthy" / "sflow.pcap.gz").flows
    wrong = {pair: volume * 37 / 32 for pair, volume in sampled(flows, known, "source", UNKNOWN).items()}
    error, pairs = surprise(wrong, known, "source")
    assert chi2.sf(error, pairs) < 1e-6
