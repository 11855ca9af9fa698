"""Addresses -> endpoints: a NIC with an address in each plane, on two ports, or of IPv4 and IPv6, is one endpoint.

Done once, before anything else looks at who sent to whom: the addresses of a NIC become one, and the parts of a message
that took several of them become one record again. Which addresses are one NIC the inventory declares; without it,
packets of one queue pair that take addresses by turns tell it, for each address then shows the numbers of all packets,
but carries only its share of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from datamodel.cluster.inventory import Inventory
from datamodel.frame import Array, Frame
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import FLOWS, Flows, recode
from reconstruct.jit import compiled
from reconstruct.jit import to_contiguous as contiguous
from reconstruct.numeric.factorize import factorize_rows
from reconstruct.numeric.row_runs import run_starts
from reconstruct.streams.locators import locators
from reconstruct.streams.observations import is_unsampled
from reconstruct.streams.stream_builder import volumes

PSNS = 1 << 24
# An address that carries all packets of its queue pairs numbers as many as it carries, but for what a mirror lost.
SHARE_OF_NUMBERS = 0.75
# Addresses that share out the packets of a queue pair advance by as many numbers as all of them carry together.
SAME_ADVANCE = 0.02
# The first packets seen of each of them are no further apart than so many numbers.
NEAR_NUMBERS = 256
# Fewer packets of a queue pair show nothing.
FEWEST_PACKETS = 64
# Parts of one message begin before the others have ended, but for the time that a packet takes.
PACKET_NS = 1_000
SUMMED = (
    "bytes", "packets", "message_bytes", "ecn_ce_packets", "cnp_packets", "nak_packets", "retransmitted_packets",
    "trimmed_packets",
)  # fmt: skip
LATEST = ("time_received_ns", "time_flow_end_ns", "time_acknowledged_ns", "time_uncertainty_ns")


@dataclass(frozen=True, slots=True)
class Merged:
    """Records by endpoint.

    Attributes:
        flows: with one address for each endpoint: the first one declared, else the lowest.
        kept: (rows,) which of them carry the volume.
        inferred: endpoints that the inventory does not declare, but packet numbers show.
        addresses: of each endpoint that has several, by its name.
        parts: times, ends and bytes of the records that carry their volume, by address.
        lost: destinations that look like segments of SRv6 and belong to no NIC that is known.
    """

    flows: Flows
    kept: Bool
    inferred: int = 0
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Flows | None = None
    lost: tuple[str, ...] = ()


def by_endpoint(flows: Flows, kept: Bool, inventory: Inventory | None) -> Merged:
    """Records whose addresses are endpoints, each message in one record.

    Args:
        flows: records by address.
        kept: (rows,) which of them carry the volume (`reconstruct.streams.observations.select_primary`).
        inventory: declares the addresses of a NIC; None for nothing.
    """
    declared = _declared(inventory)
    located, lost = locators(flows, declared)
    names = _names(flows.addresses, declared, located, _sharing(flows, kept))
    if not names:
        return Merged(flows, kept, lost=lost)
    own = [names.get(a, a) for a in flows.addresses]
    book = tuple(sorted({*own, *flows.addresses}))
    place = {address: code for code, address in enumerate(book)}
    endpoint = np.array([place[a] for a in own], np.int32)
    exporter = np.array([place[a] for a in flows.addresses], np.int32)
    frame = flows.frame.recoded(endpoint, ("src_addr", "dst_addr")).recoded(exporter, ("sampler_address",))
    ends = flows.frame["src_addr"].astype(np.int64) << 32 | flows.frame["dst_addr"]
    frame, still = _whole_messages(frame, ends, kept)
    several: dict[str, tuple[str, ...]] = {}
    for address, name in sorted(names.items(), key=lambda item: _in_order(item[0])):
        several[name] = (*several.get(name, (name,)), address)
    inferred = {name for address, name in names.items() if address not in declared and address not in located}
    return Merged(recode(frame, book), still, len(inferred), several, _parts(flows, kept, several), lost)


def _parts(flows: Flows, kept: Bool, several: Mapping[str, tuple[str, ...]]) -> Flows:
    """Records of the volume to and from addresses of which an endpoint has several."""
    among = {a for addresses in several.values() for a in addresses}
    own = np.array([a in among for a in flows.addresses])
    frame = flows.frame
    rows = kept & is_unsampled(frame) & (own[frame["src_addr"]] | own[frame["dst_addr"]]) & (volumes(frame) > 0)
    names = ("time_flow_start_ns", "time_flow_end_ns", "src_addr", "dst_addr", "bytes")
    return Flows(Frame(FLOWS, {name: frame[name][rows] for name in names}), flows.addresses)


def _declared(inventory: Inventory | None) -> dict[str, str]:
    """Name of each address that the inventory names."""
    hosts = inventory.hosts if inventory is not None else ()
    return {a: e.all_addresses[0] for host in hosts for e in host.endpoints for a in e.all_addresses}


def _names(
    addresses: tuple[str, ...], declared: Mapping[str, str], located: Mapping[str, str], shared: list[Int]
) -> dict[str, str]:
    """The endpoint's name of each address that has another one.

    Addresses that the inventory declares to be of several NICs stay apart, whatever packets show.
    """
    names = {locator: declared.get(nic, nic) for locator, nic in located.items()}
    names |= {a: declared[a] for a in addresses if declared.get(a, a) != a}
    for codes in shared:
        own = {addresses[code] for code in codes.tolist()}
        called = sorted({names.get(a, a) for a in own}, key=_in_order)
        known = {declared[a] for a in called if a in declared}
        if len(called) > 1 and len(known) <= 1:
            name = known.pop() if known else called[0]
            names.update({a: name for a in own if a != name})
    return names


def _in_order(address: str) -> tuple[int, int, str]:
    """IPv4 before IPv6, each by number; what is no address, last."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return 7, 0, address
    return parsed.version, int(parsed), address


def _sharing(flows: Flows, kept: Bool) -> list[Int]:
    """Codes of addresses that share the packets of queue pairs, endpoint by endpoint."""
    frame = flows.frame
    numbered = kept & (frame["dst_qp"] >= 0) & (frame["psn_first"] >= 0) & (frame["packets"] > 0)
    if not numbered.any():
        return []
    numbered &= is_unsampled(frame)
    senders = np.unique(frame["src_addr"][numbered & _with_holes(frame)])
    if not len(senders):
        return []
    rows = frame.take(numbered & np.isin(frame["src_addr"], senders))
    rows = rows.take(
        np.lexsort([rows["psn_first"], rows["time_flow_start_ns"], rows["dst_addr"], rows["src_addr"], rows["dst_qp"]])
    )
    first = _first_rows(rows, ("dst_qp", "src_addr", "dst_addr"))
    advance, packets = _advance(rows, first), np.add.reduceat(rows["packets"], first)
    few = (packets < FEWEST_PACKETS) | (packets > SHARE_OF_NUMBERS * advance)
    heads, advance, packets = rows.take(first[~few]), advance[~few], packets[~few]
    return _of_one_nic(heads, advance, packets, len(flows.addresses)) if len(heads) > 1 else []


def _with_holes(rows: Frame) -> Bool:
    """(rows,) those between whose first and last packet others are missing."""
    numbers = (rows["psn_last"] - rows["psn_first"]) % PSNS + 1
    return np.asarray((rows["psn_last"] >= 0) & (rows["packets"] <= SHARE_OF_NUMBERS * numbers))


def _first_rows(rows: Frame, names: tuple[str, ...]) -> Int:
    """Where a row differs from the one before it in some column."""
    return np.flatnonzero(run_starts(*(rows[name] for name in names)))


def _advance(rows: Frame, first: Int) -> Int:
    """(groups,) numbers from the first packet to the last one, through all wraps."""
    begin, end = rows["psn_first"], np.where(rows["psn_last"] >= 0, rows["psn_last"], rows["psn_first"])
    inside, between = (end - begin) % PSNS, np.zeros(len(rows), np.int64)
    between[1:] = _signed(begin[1:] - end[:-1])
    between[first] = 1
    return np.maximum(np.add.reduceat(_signed(inside) + between, first), 1)


def _signed(numbers: Int) -> Int:
    """Differences of packet numbers, the nearer way round."""
    return (numbers + PSNS // 2) % PSNS - PSNS // 2


def _of_one_nic(heads: Frame, advance: Int, packets: Int, addresses: int) -> list[Int]:
    """Codes of addresses by endpoint, from address pairs whose queue pair has the same number and advances alike."""
    order = np.lexsort([heads["src_addr"], heads["psn_first"], heads["dst_qp"]])
    heads, advance, packets = heads.take(order), advance[order], packets[order]
    apart = (np.diff(heads["dst_qp"]) != 0) | (np.diff(heads["psn_first"]) > NEAR_NUMBERS)
    apart |= abs(np.diff(advance)) > SAME_ADVANCE * advance[1:] + NEAR_NUMBERS
    run = np.append(0, np.cumsum(apart))
    together, most = np.bincount(run, packets), np.zeros(run[-1] + 1)
    np.maximum.at(most, run, advance)
    complete = (abs(together - most) <= SAME_ADVANCE * most + NEAR_NUMBERS) & (np.bincount(run) > 1)
    tied = complete[run[1:]] & (run[1:] == run[:-1])
    ends = [heads[name][side][tied] for name in ("src_addr", "dst_addr") for side in (slice(None, -1), slice(1, None))]
    a, b = np.concatenate([ends[0], ends[2]]), np.concatenate([ends[1], ends[3]])
    graph = coo_matrix((np.ones(len(a)), (a, b)), (addresses, addresses))
    label = connected_components(graph, directed=False)[1]
    several = np.flatnonzero(np.bincount(label) > 1)
    return [np.flatnonzero(label == one) for one in several.tolist()]


def _whole_messages(frame: Frame, ends: Int, kept: Bool) -> tuple[Frame, Bool]:
    """Records of which each holds all of a message that several addresses carried parts of.

    Rows of a mirror are pieces anyway and stay as they are; so do samples.

    Args:
        frame: records by endpoint.
        ends: (rows,) the two addresses of each as one number.
        kept: (rows,) which of them carry the volume.
    """
    some = np.flatnonzero(kept & is_unsampled(frame) & (frame["payload_bytes"] < 0))
    if not len(some):
        return frame, kept
    rows = frame.take(some)
    ports = rows["src_port"].astype(np.int64) << 16 | rows["dst_port"]
    name = np.where(rows["dst_qp"] >= 0, rows["dst_qp"], ports - (1 << 32))
    within = (rows["bytes"], ends[some], rows["time_flow_end_ns"], rows["time_flow_start_ns"])
    order = np.lexsort([*within, name, rows["dst_addr"], rows["src_addr"]])
    some, rows = some[order], rows.take(order)
    columns = (rows["src_addr"], rows["dst_addr"], name[order])
    connection = np.cumsum(run_starts(*columns)) - 1
    _, lane = factorize_rows(connection, ends[some])
    message = np.empty(len(some), np.int64)
    times = contiguous(rows["time_flow_start_ns"]), contiguous(rows["time_flow_end_ns"])
    _number_messages(contiguous(connection), contiguous(lane), *times, message)
    first = np.flatnonzero(run_starts(message))
    if len(first) == len(some):
        return frame, kept
    parts = {name: np.add.reduceat(rows[name], first) for name in SUMMED}
    parts |= {name: np.maximum.reduceat(rows[name], first) for name in LATEST}
    stays = np.ones(len(frame), np.bool_)
    stays[some] = False
    stays[some[first]] = True
    joint = {name: _exchanged(frame[name], some[first], values)[stays] for name, values in parts.items()}
    return frame.take(stays).replace(**joint), kept[stays]


def _exchanged(column: Array, rows: Int, values: Array) -> Array:
    changed = column.copy()
    changed[rows] = values
    return changed


@compiled
def _number_messages(connection: Int, lane: Int, start_ns: Int, end_ns: Int, message: Int) -> None:
    """Number messages; a record is a part of the one before it where that is under way and lacks its addresses.

    Args:
        connection: (rows,) ascending, rows of each in order of time.
        lane: (rows,) a number for each connection and pair of addresses.
        start_ns: (rows,) first packet.
        end_ns: (rows,) last packet.
        message: (rows,) written.
    """
    last = np.full(np.max(lane) + 1 if len(lane) else 0, -1, np.int64)
    number, until = -1, np.int64(0)
    for i in range(len(lane)):
        part = i > 0 and connection[i] == connection[i - 1] and last[lane[i]] != number
        if not (part and start_ns[i] <= until + PACKET_NS):
            number += 1
            until = end_ns[i]
        until = max(until, end_ns[i])
        last[lane[i]] = number
        message[i] = number
