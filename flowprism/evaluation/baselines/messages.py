"""What the published methods start from: whole messages, pair by pair, with what flows back left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capture.configured_rates import SamplingRates
from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import Flows
from flowprism.inputs.feed_files import read_inputs

# Packets smaller than this on average are acknowledgements and clear-to-send writes, no data.
_LEAST_PACKET_BYTES = 300
# A mirror's rows of one connection closer than this are pieces of one message; a flow record is one already.
_SAME_MESSAGE_NS = 20_000


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages sorted by pair and time; (n,) int64 each.

    Attributes:
        src, dst: address codes.
        start_ns, end_ns, bytes: of the message.
        first: (pairs + 1,) where each pair's messages begin.
        addresses: text of each code.
    """

    src: Int
    dst: Int
    start_ns: Int
    end_ns: Int
    bytes: Int
    first: Int
    addresses: tuple[str, ...]

    @property
    def pairs(self) -> Int:
        """(pairs, 2) source and destination."""
        return np.stack([self.src[self.first[:-1]], self.dst[self.first[:-1]]], axis=1)

    def pair_of(self) -> Int:
        """(n,) number of each message's pair."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def take(self, kept: Int) -> Messages:
        """Some of the messages, in order."""
        rows = (self.src[kept], self.dst[kept], self.start_ns[kept], self.end_ns[kept], self.bytes[kept])
        return Messages(*rows, _first(rows[0], rows[1]), self.addresses)


def list_messages(records: Path, inventory: Inventory | None) -> Messages:
    """The data messages of a file's records; those from and to services of the inventory are left out."""
    flows = read_inputs([records], None, SamplingRates()).flows
    src, dst, start, end, size, flow = _data(flows, _served(inventory, flows.addresses))
    order = np.lexsort((start, flow, dst, src))
    src, dst, start, end, size, flow = (column[order] for column in (src, dst, start, end, size, flow))
    begins = np.ones(len(src), bool)
    mirrored = bool(flows.frame["payload_bytes"].any())
    same = mirrored & (src[1:] == src[:-1]) & (dst[1:] == dst[:-1]) & (flow[1:] == flow[:-1])
    begins[1:] = ~(same & (start[1:] - end[:-1] < _SAME_MESSAGE_NS))
    heads = np.flatnonzero(begins)
    if len(heads):
        end, size = np.maximum.reduceat(end, heads), np.add.reduceat(size, heads)
    src, dst, start = src[heads], dst[heads], start[heads]
    order = np.lexsort((start, dst, src))
    src, dst, start, end, size = (column[order] for column in (src, dst, start, end, size))
    return Messages(src, dst, start, end, size, _first(src, dst), flows.addresses)


def _data(flows: Flows, served: Int) -> tuple[Int, Int, Int, Int, Int, Int]:
    """Select columns of data rows between endpoints that are no services; the last identifies connections."""
    f = flows.frame
    data = f["bytes"] > _LEAST_PACKET_BYTES * np.maximum(f["packets"], 1)
    kept = np.flatnonzero(data & ~np.isin(f["src_addr"], served) & ~np.isin(f["dst_addr"], served))
    columns = [f[c][kept].astype(np.int64) for c in ("src_addr", "dst_addr", "time_flow_start_ns", "time_flow_end_ns")]
    connection = f["src_port"][kept].astype(np.int64) << 24 | f["dst_qp"][kept].astype(np.int64) & 0xFFFFFF
    size = f["bytes"][kept].astype(np.int64)
    return columns[0], columns[1], columns[2], columns[3], size, connection


def _served(inventory: Inventory | None, addresses: tuple[str, ...]) -> Int:
    """Codes of addresses that belong to no training host of the inventory."""
    if inventory is None:
        return np.zeros(0, np.int64)
    known = {a for host in inventory.hosts for endpoint in host.endpoints for a in endpoint.all_addresses}
    return np.array([n for n, address in enumerate(addresses) if address not in known], np.int64)


def _first(src: Int, dst: Int) -> Int:
    changes = np.flatnonzero((src[1:] != src[:-1]) | (dst[1:] != dst[:-1])) + 1
    return np.concatenate([[0], changes, [len(src)]]) if len(src) else np.zeros(1, np.int64)
