"""The bundled mirror as the IPFIX that a meter of all packets at each leaf would send: real packets, real times.

A row of what a mirror becomes is a burst of one connection: bytes, packets, first and last packet. Here each row is one
IPFIX record (RFC 7011) of the leaf that its sender is plugged into, with times in nanoseconds, as a meter exports it
that samples nothing and ends a flow after a short pause. What is made here is only what such a meter adds: templates,
sequence numbers and the grouping into datagrams. Nothing of the traffic is simulated.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from ipaddress import IPv4Address
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import DATAGRAM, IPFIX, Datagrams
from capture.reader import read_all
from capture.tables.read_buffer import as_array
from datamodel.cluster.inventory import Inventory
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int

# The capture's sixth iteration ends here: until then all is well, from then on a link is slow. Between the last
# iteration's end and the first packet nothing is missing, so that either part can be followed by either.
FAULT_FROM_S, END_S = 5.965, 15.30
HOLD_NS = 50_000_000  # what a meter has gathered is sent at this beat, or when a datagram is full
MOST_RECORDS = 24  # of 54 bytes: with a template still less than 1500 bytes
TEMPLATE_EVERY = 20  # datagrams: a collector that begins in the middle waits a second at most
_TEMPLATE, _TEMPLATES_SET = 256, 2
_NTP_S = 2_208_988_800  # from 1900 to 1970 (RFC 5905)
# IANA's information elements with their lengths; times are NTP's 64 bits (RFC 7011 section 6.1.10).
_ELEMENTS = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (6, 1), (1, 8), (2, 8), (156, 8), (157, 8), (10, 4), (34, 4))
_RECORD = np.dtype([(str(element), f">u{size}") for element, size in _ELEMENTS])


@dataclass(frozen=True, slots=True)
class DemoBursts:
    """What the leaves export, in order of time.

    Attributes:
        rows: records (`datamodel.telemetry.flows.FLOWS`).
        leaf: (n,) number of the leaf that exports each, from 1: its observation domain.
        port: (n,) port its sender is plugged into.
        addresses: (codes,) IPv4 addresses as numbers.
    """

    rows: Frame
    leaf: Int
    port: Int
    addresses: Int

    def between(self, begin_s: float, end_s: float) -> DemoBursts:
        """Those that begin in a stretch of time, counted from the first packet."""
        at_s = (self.rows["time_flow_start_ns"] - self.rows["time_flow_start_ns"].min()) / 1e9
        kept = np.flatnonzero((at_s >= begin_s) & (at_s < end_s))
        return DemoBursts(self.rows.take(kept), self.leaf[kept], self.port[kept], self.addresses)


def load_bundled(inventory: Inventory) -> DemoBursts:
    """The bundled mirror, as the leaves of its inventory see it.

    From its flow records, which are bundled too: at a first start nothing has to be compiled to decode packets.
    """
    with as_file(files("flowprism.demo") / "bursts.parquet") as path:
        flows = read_all([path], None, SamplingRates()).flows
    return export_flows(flows.frame, flows.addresses, inventory)


def export_flows(records: Frame, book: Sequence[str], inventory: Inventory) -> DemoBursts:
    """Flow records as the leaves of an inventory export them; those of other senders are left out.

    Args:
        records: flow records (`datamodel.telemetry.flows.FLOWS`) of IPv4.
        book: address of each code.
        inventory: which leaf and port each sender is plugged into.
    """
    doors = _doors(inventory)
    door = np.array([doors.get(address, (0, 0)) for address in book], np.int64)
    kept = np.flatnonzero(door[records["src_addr"], 0])
    rows = records.take(kept).sort("time_flow_end_ns", "time_flow_start_ns", "src_addr", "dst_addr", "src_port")
    addresses = np.array([int(IPv4Address(address)) for address in book], np.int64)
    return DemoBursts(rows, door[rows["src_addr"], 0], door[rows["src_addr"], 1], addresses)


def build_datagrams(bursts: DemoBursts, begin_ns: int, numbers: Counter[int]) -> Datagrams:
    """The datagrams that the leaves send, in order of time.

    Args:
        bursts: what they export.
        begin_ns: when the first packet passes, UTC; all times are moved by as much.
        numbers: leaf -> records it has sent before; counted on.
    """
    moved_ns = begin_ns - int(bursts.rows["time_flow_start_ns"].min())
    records = _records(bursts, moved_ns)
    content: list[bytes] = []
    sent: list[int] = []
    for leaf in np.unique(bursts.leaf).tolist():
        own = np.flatnonzero(bursts.leaf == leaf)
        for place, part in enumerate(_grouped(bursts.rows["time_flow_end_ns"][own])):
            chosen = own[part]
            sent_ns = int(bursts.rows["time_flow_end_ns"][chosen[-1]]) + moved_ns + HOLD_NS
            templates = place % TEMPLATE_EVERY == 0
            content.append(_message(leaf, numbers[leaf], sent_ns, records[chosen].tobytes(), templates=templates))
            sent.append(sent_ns)
            numbers[leaf] += len(chosen)
    order = np.argsort(sent, kind="stable")
    index = np.zeros(len(content), DATAGRAM)
    index["bytes"] = [len(content[n]) for n in order]
    index["offset"] = np.cumsum(index["bytes"]) - index["bytes"]
    index["time_ns"], index["protocol"] = np.array(sent)[order], IPFIX
    return Datagrams(as_array(b"".join(content[n] for n in order)), index)


def _grouped(end_ns: Int) -> Iterator[slice]:
    """Records that one datagram takes: those of one beat, as many as there is room for."""
    begins = [0, *(np.flatnonzero(np.diff(end_ns // HOLD_NS)) + 1).tolist(), len(end_ns)]
    for first, last in pairwise(begins):
        for begin in range(first, last, MOST_RECORDS):
            yield slice(begin, min(begin + MOST_RECORDS, last))


def _records(bursts: DemoBursts, moved_ns: int) -> npt.NDArray[np.void]:
    rows = bursts.rows
    records = np.zeros(len(rows), _RECORD)
    records["8"], records["12"] = bursts.addresses[rows["src_addr"]], bursts.addresses[rows["dst_addr"]]
    for element, name in (("7", "src_port"), ("11", "dst_port"), ("4", "proto"), ("6", "tcp_flags")):
        records[element] = rows[name]
    records["1"], records["2"] = rows["bytes"], rows["packets"]
    records["156"] = _ntp(rows["time_flow_start_ns"] + moved_ns)
    records["157"] = _ntp(rows["time_flow_end_ns"] + moved_ns)
    records["10"], records["34"] = bursts.port, 1  # every packet is counted
    return records


def _ntp(time_ns: Int) -> npt.NDArray[np.uint64]:
    """Seconds since 1900 and, below them, the fraction of a second in 2^-32."""
    second, rest = time_ns.astype(np.uint64) // 10**9, time_ns.astype(np.uint64) % 10**9
    # rounded up, so that the same nanosecond comes out again
    fraction = ((rest << np.uint64(32)) + np.uint64(10**9 - 1)) // np.uint64(10**9)
    return (second + np.uint64(_NTP_S) << np.uint64(32)) + fraction


def _message(leaf: int, number: int, sent_ns: int, records: bytes, *, templates: bool) -> bytes:
    sets = struct.pack("!HH", _TEMPLATE, 4 + len(records)) + records
    if templates:
        fields = b"".join(struct.pack("!HH", *field) for field in _ELEMENTS)
        template = struct.pack("!HH", _TEMPLATE, len(_ELEMENTS)) + fields
        sets = struct.pack("!HH", _TEMPLATES_SET, 4 + len(template)) + template + sets
    return struct.pack("!HHIII", 10, 16 + len(sets), sent_ns // 10**9, number & 0xFFFFFFFF, leaf) + sets


def _doors(inventory: Inventory) -> dict[str, tuple[int, int]]:
    """Address of an endpoint -> number of its switch, from 1, and the port it is plugged into."""
    numbers = {switch.name: number for number, switch in enumerate(inventory.switches, 1)}
    return {
        address: (numbers[link.switch], link.port or 0)
        for host in inventory.hosts
        for endpoint in host.endpoints
        for link in endpoint.attachments
        for address in endpoint.all_addresses
    }
