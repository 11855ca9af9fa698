"""sFlow agents: packets sampled on switch ports, interface counters read at a beat, both sent in datagrams."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import pairwise

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from simulate.export.batching import ordinal, packing, placed
from simulate.export.counter_readings import Passing
from simulate.export.exporters import Exporters
from simulate.export.feed_spec import POINTS, FeedSpec, Point
from simulate.export.observations import data_source, observe_trains
from simulate.export.packets import chosen, packets
from simulate.export.sampling import samples
from simulate.export.traffic import FabricTraffic
from simulate.export.trains import DATA
from simulate.export.transport import Sent
from simulate.export.wire.packet_headers import CHECKSUM_BYTES, ETHERNET_BYTES, Rows, frame_bytes, sampled_headers
from simulate.export.wire.sflow_wire import (
    DATAGRAM_HEAD,
    FlowSamples,
    PortCounters,
    counter_samples,
    datagram_heads,
    flow_samples,
)
from simulate.network.fabric import SPINE_PORT, Fabric
from simulate.network.hashing import mixed

MOST_PAYLOAD_BYTES = 1400
_EVERY_PORT: tuple[Point, ...] = ("source", "spine", "destination")  # through each of its switches a packet goes once
_QUEUES_BEFORE = {"source": 0, "spine": 1, "destination": 2, "delivery": 3}
_PORTS = 1 << 16  # more than a switch has


@dataclass(frozen=True, slots=True)
class _Items:
    """Samples on their way into datagrams; (n,) each: their exporter, time and bytes."""

    switch: Int
    time_ns: Int
    rows: Rows
    size_bytes: Int


def agents(
    feed: FeedSpec, traffic: FabricTraffic, seen: Frame, exporters: Exporters, random: np.random.Generator
) -> Sent:
    """All datagrams of a feed, in the order of switches and time.

    Args:
        feed: how packets are sampled and sent.
        traffic: what passed.
        seen: rows of `TRAIN_OBSERVATIONS` at the feed's points.
        exporters: the switches.
        random: what draws.
    """
    items = [_flow_items(feed, traffic, seen, exporters, random)]
    if feed.counters_s > 0:
        items.append(_counter_items(feed, traffic, seen, exporters))
    return _datagrams(feed, items, exporters)


def _flow_items(
    feed: FeedSpec, traffic: FabricTraffic, seen: Frame, exporters: Exporters, random: np.random.Generator
) -> _Items:
    size = traffic.trains["packets"][seen["train"]]
    taken = samples(seen, size, feed.rate, random)
    switch = seen["switch"].astype(np.int64)
    taken = taken.take(exporters.speaks(switch[taken["observation"]], taken["time_ns"]))
    row, time = taken["observation"], taken["time_ns"]
    which = traffic.trains.take(seen["train"][row])
    marked = chosen(_mark_ratio(traffic, seen, row, which), random)
    found = packets(traffic.bursts, traffic.trains, seen["train"][row], taken["number"], marked)
    headers, held = sampled_headers(found, traffic.addresses)
    source = data_source(seen)
    number, pool = _counted(exporters, seen, source, size, row, time)
    stamp = exporters.local_ns(switch[row], time) if feed.stamped else None
    wire, sizes = flow_samples(
        FlowSamples(
            number, source[row], exporters.exported_rate[switch[row]], pool, seen["in_if"][row].astype(np.int64),
            seen["out_if"][row].astype(np.int64), stamp, frame_bytes(found), headers, held,
        )
    )  # fmt: skip
    return _Items(switch[row], time, wire, sizes)


def _mark_ratio(traffic: FabricTraffic, seen: Frame, row: Int, which: Frame) -> Float:
    """(n,) how likely each sampled packet has been marked before it was seen there."""
    before = np.array([_QUEUES_BEFORE[p] for p in POINTS])[seen["point"][row]]
    left = 1 - traffic.marked[which["burst"]]
    passed = np.arange(left.shape[1]) < before[:, None]
    ratio: Float = np.where(which["kind"] == DATA, 1 - np.prod(np.where(passed, left, 1.0), axis=1), 0.0)
    return ratio


def _counted(exporters: Exporters, seen: Frame, source: Int, size: Int, row: Int, time_ns: Int) -> tuple[Int, Int]:
    """Number of each sample on its data source, and that source's pool: packets that could have been sampled."""
    switch = seen["switch"].astype(np.int64)
    port, of = np.unique(switch * _PORTS + source, return_inverse=True)
    passing = Passing(of, seen["start_ns"], seen["end_ns"], size)
    session = exporters.session(switch[row], time_ns)
    again = np.flatnonzero(session)
    before = np.zeros(len(row))
    before[again] = passing.so_far(of[row[again]], exporters.restart_ns[switch[row[again]]])
    key = of[row] * 2 + session
    number, order = ordinal(key)
    pool = np.maximum(np.floor(passing.so_far(of[row], time_ns) - before).astype(np.int64) + 1, number)
    pool[order] = np.maximum.accumulate(pool[order] + key[order] * _APART) - key[order] * _APART
    old = np.where(session == 0, mixed(port)[of[row]], 0)  # an agent that has been up for days begins nowhere near zero
    return number + old // 1000, pool + old


_APART = 1 << 44  # packets; more than pass one port


def _counter_items(feed: FeedSpec, traffic: FabricTraffic, seen: Frame, exporters: Exporters) -> _Items:
    """Counters of all ports of the feed's switches that carry anything, each port at its own beat."""
    every = observe_trains(traffic.fabric, traffic.bursts, traffic.trains, _EVERY_PORT)
    every = every.take(np.isin(every["switch"], np.unique(seen["switch"])))
    trains = traffic.trains.take(every["train"])
    spans = (every["start_ns"], every["end_ns"])
    volume = trains["bytes"] + trains["packets"] * (ETHERNET_BYTES + CHECKSUM_BYTES)
    switch = every["switch"].astype(np.int64)
    ways = [switch * _PORTS + every[name] for name in ("in_if", "out_if")]
    ports = np.unique(np.concatenate(ways))
    port, time = _polls(ports, feed, exporters, (int(every["start_ns"].min()), int(every["end_ns"].max())))
    time_ok = exporters.speaks(ports[port] // _PORTS, time)
    port, time = port[time_ok], time[time_ok]
    counted = [
        _read(Passing(np.searchsorted(ports, way), *spans, amount), exporters, ports, port, time)
        for way in ways
        for amount in (volume, trains["packets"])
    ]
    at, number = ports[port] // _PORTS, ports[port] % _PORTS
    session = exporters.session(at, time)
    sequence = ordinal(port * 2 + session)[0]
    rows, sizes = counter_samples(PortCounters(sequence, number, _speed_bps(traffic.fabric, at, number), *counted))
    return _Items(at, time, rows, sizes)


def _polls(ports: Int, feed: FeedSpec, exporters: Exporters, window_ns: tuple[int, int]) -> tuple[Int, Int]:
    """Index of a port and time of each reading; the last one comes after the window."""
    every = int(feed.counters_s * 1e9)
    count = (window_ns[1] - window_ns[0]) // every + 2
    port = np.repeat(np.arange(len(ports)), count)
    begin = exporters.begin_ns + mixed(ports) % every
    return port, begin[port] + np.tile(np.arange(count), len(ports)) * every


def _read(passing: Passing, exporters: Exporters, ports: Int, port: Int, time_ns: Int) -> Int:
    """Return the value of a counter of each port at each time; it restarts with the switch."""
    switch = ports[port] // _PORTS
    since = np.where(exporters.session(switch, time_ns) == 1, exporters.restart_ns[switch], exporters.begin_ns)
    return np.rint(passing.so_far(port, time_ns) - passing.so_far(port, since)).astype(np.int64)


def _speed_bps(fabric: Fabric, switch: Int, port: Int) -> Int:
    """Nominal speed of switch ports."""
    leaf = switch < fabric.leaves
    up = ~leaf | (port < SPINE_PORT + fabric.spines)
    service = leaf & (switch >= fabric.training_leaves)
    speed = np.where(up, fabric.uplink_gbps, np.where(service, fabric.service_gbps, fabric.nic_gbps))
    return np.rint(speed * 1e9).astype(np.int64)


def _datagrams(feed: FeedSpec, items: list[_Items], exporters: Exporters) -> Sent:
    """Items put together by switch and time, headed and numbered."""
    switch, time, size = (
        np.concatenate([getattr(i, name) for i in items]) for name in ("switch", "time_ns", "size_bytes")
    )
    sender = switch * 2 + exporters.session(switch, time)
    order = np.lexsort([time, sender])
    head = DATAGRAM_HEAD.itemsize
    packed = packing(sender[order], time[order], size[order], int(feed.hold_ms * 1e6), MOST_PAYLOAD_BYTES - head)
    count = np.bincount(packed.datagram, minlength=len(packed.sent_ns))
    first = np.cumsum(count) - count
    of = switch[order][first]
    session = exporters.session(of, time[order][first])
    number = ordinal(of * 2 + session)[0] + np.where(session == 0, mixed(of) % 1_000_000, 0)
    began, sent = exporters.began_ns(of, session), packed.sent_ns
    uptime = (exporters.local_ns(of, sent) - exporters.local_ns(of, began)) // 1_000_000
    agent = np.array([int(IPv4Address(exporters.fabric.agent(n))) for n in range(len(exporters.exported_rate))])
    heads = datagram_heads(agent[of], number, uptime, count)
    place = np.empty(len(size), np.int64)
    place[order] = np.cumsum(size[order]) - size[order] + (packed.datagram + 1) * head
    bounds = np.cumsum([0, *(len(i.rows) for i in items)])
    parts = [(i.rows, i.size_bytes, place[a:b]) for i, (a, b) in zip(items, pairwise(bounds), strict=True)]
    length = np.bincount(packed.datagram, size[order], len(sent)).astype(np.int64) + head
    start = np.cumsum(length) - length
    parts.append((heads, np.full(len(sent), head), start))
    data = placed(parts, int(length.sum()))
    return Sent(data, length, of, sent, count)
