"""IPFIX and NetFlow meters: flow records by address and port, cut by timeouts, sent in datagrams with templates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import TCP
from simulate.export.batching import ordinal, packing, placed
from simulate.export.cache import cached
from simulate.export.exporters import Exporters
from simulate.export.feed_spec import POINTS, FeedSpec
from simulate.export.packets import packets
from simulate.export.sampling import samples
from simulate.export.traffic import FabricTraffic
from simulate.export.trains import TRAINS
from simulate.export.transport import Sent
from simulate.export.wire.netflow_wire import (
    BYTES,
    DIRECTION,
    DST,
    DST_PORT,
    END_MS,
    FIRST_UPTIME,
    IN_IF,
    LAST_UPTIME,
    ONLY_SAMPLER,
    OPTIONS_RECORDS,
    OUT_IF,
    PACKETS,
    PROTO,
    SAMPLER,
    SELECTOR,
    SRC,
    SRC_PORT,
    START_MS,
    TCP_FLAGS,
    TOS,
    Heads,
    flow_records,
    heads,
    record_bytes,
    template_bytes,
)

MOST_PAYLOAD_BYTES = 1400
_MOST_COUNTED_BYTES = {"netflow5": 1 << 31, "netflow9": 1 << 62, "ipfix": 1 << 62}  # v5 has 32 bits for them
_MS = 1_000_000
_TCP_FLAGS = 0x18  # acknowledgement and push: what a connection shows that was open before and stays so


def meters(
    feed: FeedSpec, traffic: FabricTraffic, seen: Frame, exporters: Exporters, random: np.random.Generator
) -> Sent:
    """All datagrams of a feed, in the order of switches and time.

    Args:
        feed: how flows are sampled, cut and sent.
        traffic: what passed.
        seen: rows of `TRAIN_OBSERVATIONS` at the feed's points.
        exporters: the switches.
        random: what draws.
    """
    row, metered = _metered(feed, traffic, seen, random)
    switch = seen["switch"][row].astype(np.int64)
    awake = exporters.speaks(switch, metered["start_ns"])
    row, metered, switch = row[awake], metered.take(awake), switch[awake]
    session = exporters.session(switch, metered["start_ns"])
    none, unmarked = np.zeros(len(row), np.int64), np.zeros(len(row), np.bool_)
    packet = packets(traffic.bursts, traffic.trains, seen["train"][row], none, unmarked)
    flow = _flows(seen.take(row), session, packet)
    found = cached(flow, metered, int(feed.active_s * 1e9), int(feed.inactive_s * 1e9), _MOST_COUNTED_BYTES[feed.kind])
    of = found["train"]
    # What a cache holds when its exporter restarts is lost.
    kept = exporters.session(switch[of], found["cut_ns"]) == session[of]
    found, of = found.take(kept), of[kept]
    if feed.prescaled:
        found = found.replace(packets=found["packets"] * feed.rate, bytes=found["bytes"] * feed.rate)
    return _datagrams(feed, traffic, exporters, _MeterRecords(found, seen.take(row[of]), packet.take(of), session[of]))


@dataclass(frozen=True, slots=True)
class _MeterRecords:
    """Flow records; (n,) each: rows of `RECORDS`, where each was seen, a packet of it, the exporter's life."""

    records: Frame
    seen: Frame
    packet: Frame
    session: Int

    def take(self, order: Int) -> _MeterRecords:
        """In another order."""
        return _MeterRecords(
            self.records.take(order), self.seen.take(order), self.packet.take(order), self.session[order]
        )


def _metered(feed: FeedSpec, traffic: FabricTraffic, seen: Frame, random: np.random.Generator) -> tuple[Int, Frame]:
    """What the meters count, as trains, and the observation of each: all packets, or those that are sampled."""
    trains = traffic.trains.take(seen["train"])
    if feed.rate == 1:
        return np.arange(len(seen)), trains.replace(start_ns=seen["start_ns"], end_ns=seen["end_ns"])
    taken = samples(seen, trains["packets"], feed.rate, random)
    row, time = taken["observation"], taken["time_ns"]
    unmarked = np.zeros(len(row), np.bool_)
    each = packets(traffic.bursts, traffic.trains, seen["train"][row], taken["number"], unmarked)
    one = np.ones(len(row), np.int64)
    columns = {"burst": each["burst"], "kind": each["kind"], "first": taken["number"], "packets": one}
    return row, Frame(TRAINS, {**columns, "start_ns": time, "end_ns": time, "bytes": each["bytes"]})


def _flows(seen: Frame, session: Int, packet: Frame) -> Int:
    """(n,) number of the flow: same exporter and life, place, addresses, ports and protocol."""
    keys = [seen[name] for name in ("switch", "point", "in_if", "out_if")]
    keys += [session, *(packet[name] for name in ("src", "dst", "src_port", "dst_port", "proto"))]
    order = np.lexsort(keys)
    changes = np.zeros(len(order), np.int64)
    changes[1:] = np.any([k[order][1:] != k[order][:-1] for k in keys], axis=0)
    flow = np.empty(len(order), np.int64)
    flow[order] = np.cumsum(changes)
    return flow


def _datagrams(feed: FeedSpec, traffic: FabricTraffic, exporters: Exporters, metered: _MeterRecords) -> Sent:
    """Records put together by exporter and time, headed and numbered."""
    kind, size = feed.kind, record_bytes(feed.kind)
    sender = metered.seen["switch"].astype(np.int64) * 2 + metered.session
    order = np.lexsort([metered.records["last_ns"], metered.records["cut_ns"], sender])
    metered, sender = metered.take(order), sender[order]
    head = 64 + template_bytes(kind)
    sizes = np.full(len(sender), size)
    packed = packing(sender, metered.records["cut_ns"], sizes, int(feed.hold_ms * 1e6), MOST_PAYLOAD_BYTES - head)
    count = np.bincount(packed.datagram, minlength=len(packed.sent_ns))
    first = np.cumsum(count) - count
    of, session, sent = sender[first] // 2, metered.session[first], packed.sent_ns
    number, _ = ordinal(sender[first])
    with_templates = _has_templates(feed, sender[first], number, sent)
    rows, head_bytes = heads(kind, _heads(feed, exporters, (of, session, sent), count, (number, with_templates)))
    last = np.zeros(len(sender), np.int64)
    if kind != "netflow5":
        last[first + count - 1] = -(count * size) & 3
    sizes = sizes + last
    place = np.cumsum(sizes) - sizes + np.cumsum(head_bytes)[packed.datagram]
    wire = np.pad(flow_records(kind, _values(traffic, exporters, metered)), ((0, 0), (0, 3)))
    length = np.bincount(packed.datagram, sizes, len(sent)).astype(np.int64) + head_bytes
    start = np.cumsum(length) - length
    data = placed([(rows, head_bytes, start), (wire, sizes, place)], int(length.sum()))
    return Sent(data, length, of, sent, count)


def _has_templates(feed: FeedSpec, sender: Int, number: Int, sent_ns: Int) -> Bool:
    """Select datagrams with templates: an exporter's first, and then one each interval."""
    turn = sent_ns // int(feed.templates_s * 1e9)
    due: Bool = (number == 1) | (np.diff(turn, prepend=0) != 0) | (np.diff(sender, prepend=-1) != 0)
    return due


def _heads(
    feed: FeedSpec, exporters: Exporters, origin: tuple[Int, Int, Int], count: Int, sequence: tuple[Int, Bool]
) -> Heads:
    of, session, sent = origin
    number, with_templates = sequence
    local = exporters.local_ns(of, sent)
    began = exporters.local_ns(of, exporters.began_ns(of, session))
    units = {"netflow9": np.ones(len(of), np.int64), "netflow5": count}.get(
        feed.kind, count + with_templates * OPTIONS_RECORDS
    )
    total = np.cumsum(units) - units
    start = np.maximum.accumulate(np.where(number == 1, np.arange(len(of)), 0))
    return Heads(
        local, (local - began) // _MS, total - total[start], count, exporters.exported_rate[of], with_templates
    )


def _values(traffic: FabricTraffic, exporters: Exporters, metered: _MeterRecords) -> dict[int, Int]:
    """Fields of flow records by element."""
    r, seen, packet = metered.records, metered.seen, metered.packet
    switch = seen["switch"].astype(np.int64)
    began = exporters.local_ns(switch, exporters.began_ns(switch, metered.session))
    first, last = exporters.local_ns(switch, r["first_ns"]), exporters.local_ns(switch, r["last_ns"])
    wide = {name: packet[name].astype(np.int64) for name in ("src", "dst", "src_port", "dst_port", "proto", "tos")}
    only = np.full(len(r), ONLY_SAMPLER)
    return {
        SRC: traffic.addresses[wide["src"]],
        DST: traffic.addresses[wide["dst"]],
        SRC_PORT: wide["src_port"],
        DST_PORT: wide["dst_port"],
        PROTO: wide["proto"],
        TOS: wide["tos"],
        TCP_FLAGS: np.where(wide["proto"] == TCP, _TCP_FLAGS, 0),
        DIRECTION: (seen["point"] == POINTS.index("delivery")).astype(np.int64),
        IN_IF: seen["in_if"].astype(np.int64),
        OUT_IF: seen["out_if"].astype(np.int64),
        BYTES: r["bytes"],
        PACKETS: r["packets"],
        FIRST_UPTIME: (first - began) // _MS,
        LAST_UPTIME: (last - began) // _MS,
        START_MS: first // _MS,
        END_MS: last // _MS,
        SAMPLER: only,
        SELECTOR: only,
    }
