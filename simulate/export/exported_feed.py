"""What a collector receives of a feed: datagrams in the order they arrive, and what is true of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from ipaddress import IPv4Address

import numpy as np

from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import DATAGRAM, IPFIX, NETFLOW5, NETFLOW9, SFLOW5, Datagrams
from capture.ingest_log import IngestLog
from capture.tables.addresses import MAPPED
from datamodel.errors import InputError
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.counters import PortReadings
from datamodel.telemetry.ingest_result import IngestResult
from simulate.export.exporters import Exporters, exporters
from simulate.export.feed_spec import KINDS, FeedSpec, Kind
from simulate.export.meter import meters
from simulate.export.observations import observe_trains
from simulate.export.sflow import agents
from simulate.export.traffic import FabricTraffic
from simulate.export.transport import Arrived, Sent, carried
from simulate.export.wire.pcap import PORTS, source_port

PROTOCOL: dict[Kind, int] = {"sflow": SFLOW5, "ipfix": IPFIX, "netflow9": NETFLOW9, "netflow5": NETFLOW5}


@dataclass(frozen=True, slots=True)
class Export:
    """One feed as it reaches the collector.

    Attributes:
        feed: what was asked for.
        datagrams: in order of arrival.
        truth: how it was made, exporter by exporter.
    """

    feed: FeedSpec
    datagrams: Datagrams
    truth: dict[str, object]


def export_feed(feed: FeedSpec, seen: FabricTraffic, seed: int) -> Export:
    """A feed of some traffic; equal feeds, traffic and seeds give equal datagrams.

    Raises:
        InputError: nothing passed that the feed's points could see.
    """
    # Each with draws of its own: what is wrong with exporters or on the way changes nothing of what is sampled.
    seeds = np.random.SeedSequence((seed, 0xFEED, KINDS.index(feed.kind))).spawn(3)
    of_switches, of_packets, of_datagrams = (np.random.default_rng(s) for s in seeds)
    views = observe_trains(seen.fabric, seen.bursts, seen.trains, feed.points)
    if not len(views):
        raise InputError(f"feed {feed.kind}: nothing passes {', '.join(feed.points)}")
    window = (int(views["start_ns"].min()), int(views["end_ns"].max()))
    used = np.unique(views["switch"].astype(np.int64))
    switches = exporters(feed, seen.fabric, used, window, of_switches)
    send = agents if feed.kind == "sflow" else meters
    sent = send(feed, seen, views, switches, of_packets)
    arrived = carried(sent, switches.speaks(sent.switch, sent.sent_ns), feed.transport, of_datagrams)
    truth = {**asdict(feed), "exporters": switches.truth(used, arrived.counts)}
    return Export(feed, _datagrams(sent, arrived, switches, PROTOCOL[feed.kind]), truth)


def _datagrams(sent: Sent, arrived: Arrived, switches: Exporters, protocol: int) -> Datagrams:
    start = np.cumsum(sent.size_bytes) - sent.size_bytes
    which, switch = arrived.which, sent.switch[arrived.which]
    index = np.zeros(len(which), DATAGRAM)
    index["offset"], index["bytes"] = start[which], sent.size_bytes[which]
    index["time_ns"], index["protocol"] = arrived.time_ns, protocol
    index["source_low"] = MAPPED | _agents(switches)[switch]
    index["source_port"], index["destination_port"] = source_port(switch), PORTS[protocol]
    return Datagrams(sent.data, index)


def _agents(switches: Exporters) -> Int:
    return np.array([int(IPv4Address(switches.fabric.agent(n))) for n in range(len(switches.exported_rate))])


def received(datagrams: Datagrams) -> IngestResult:
    """What reading a capture of the datagrams gives."""
    ingest_log, exports = IngestLog(), ExportDecoder()
    exports.feed(datagrams)
    exports.account(ingest_log)
    accounts = exports.exporters()
    decoded = exports.take()
    flows, counters = decoded.canonical_flows(), PortReadings.of(decoded.counters, decoded.addresses)
    agents = tuple(sorted({account.agent for account in accounts}))
    size = int(flows.frame["bytes"].sum())
    return IngestResult(flows, ingest_log.notes(), exports.records, size, agents, accounts, counters=counters)
