"""Packets to flow records under construction: a state machine over wire columns, one kernel a step.

Per flow two records are open at a time: one takes the packets that bring new transport payload, the other those that
do not (acknowledgements, congestion notifications, keep-alives, retransmissions). A data record ends where the
flow pauses, so that no gap worth fitting lies inside a record.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide
from capture.mirror.acknowledgements import roce_acknowledges, tcp_acknowledges
from capture.mirror.flow_table import (
    EXPORTER_ENTRY,
    NONE,
    PAIR_ENTRY,
    Slots,
    Table,
    mixed,
    open_flow,
    open_row,
    pair_key,
    port_key,
    slot_of,
)
from capture.mirror.sequence_numbers import await_packets, count_new_units, restart, take_packet, unwrapped
from capture.packets.headers import is_congested
from capture.packets.packet_columns import REASONS, Packets, Record
from capture.packets.roce import (
    ACKNOWLEDGES,
    CNP,
    ENDS_MESSAGE,
    PSN_BITS,
    RESPONSE,
    TRAITS,
    UNNUMBERED,
    is_negative,
)
from datamodel.telemetry.flows import TCP

Counts = npt.NDArray[np.int64]

# Places in the array of counts; one place a reject reason follows them.
FLOWS, ROWS, PACKETS, DUPLICATES, FRAGMENTS, HEADERS_CUT, RESTARTS, FIRST_REASON = range(8)
COUNTS = FIRST_REASON + len(REASONS)
NEW_FLOWS_A_PACKET, NEW_ROWS_A_PACKET = 3, 1

SHORTEST_PAUSE_NS = 20_000
LONGEST_PAUSE_NS = 1_000_000  # more than eight 1500-byte packets at 100 Mb/s take
PAUSE_IN_PACKETS = 8
SPAN_NS = 5_000_000
SPAN_PACKETS = 64
CONTROL_SPAN_NS = 100_000_000

TCP_ACK, TCP_SYN = 0x10, 0x02
TCP_FAR = 1 << 30  # no window is wider (RFC 7323)
PSN_FAR = 1 << 16
TCP_BEFORE, PSN_BEFORE = 1 << 20, 1 << 8  # what may precede the first packet seen, out of order

RECENT = np.dtype([("what", "i8", (2,)), ("origin", "i8"), ("time_ns", "i8"), ("network", "i8")], align=True)
DUPLICATE_NS = 10_000_000  # two mirrors of one packet lie closer
DUPLICATE_SAME_ORIGIN_NS = 1_000_000


@jit
def track_packets(packets: Packets, flows: Table, slots: Slots, rows: Table, recent: Table, counts: Counts) -> None:
    """Take in a batch of packets.

    Args:
        packets: wire columns (`capture.packets.packet_columns.PACKET`).
        flows: flow table with room for NEW_FLOWS_A_PACKET entries a packet.
        slots: its hash index, at least twice as long as the table will be filled.
        rows: record table with room for NEW_ROWS_A_PACKET entries a packet.
        recent: packets seen of late (`RECENT`), a power of two of places.
        counts: see the places above.
    """
    for i in range(len(packets)):
        packet = packets[i]
        if packet["reason"]:
            counts[FIRST_REASON + packet["reason"]] += 1
            continue
        sampler = exporter_of(packet, flows, slots, counts)
        f = flow_of(packet, flows, slots, counts)
        if is_duplicate(packet, wide(flows[f]["twin"]), sampler, recent):
            counts[DUPLICATES] += 1
            continue
        counts[PACKETS] += 1
        counts[FRAGMENTS] += packet["fragment"]
        counts[HEADERS_CUT] += packet["header_cut"]
        count_packet(packet, f, sampler, flows, rows, counts)


@jit
def exporter_of(packet: Record, flows: Table, slots: Slots, counts: Counts) -> int:
    """The flow table's entry for the packet's exporter; NONE where it names none."""
    high, low = packet["sampler_high"], packet["sampler_low"]
    if high == 0 and low == 0:
        return NONE
    return entry_of(flows, slots, counts, high, low, wide(0), wide(0), wide(EXPORTER_ENTRY), wide(0))


@jit
def entry_of(
    flows: Table,
    slots: Slots,
    counts: Counts,
    src_high: int,
    src_low: int,
    dst_high: int,
    dst_low: int,
    kind: int,
    network: int,
) -> int:
    """The exporter or address-pair entry of this key, made where there is none."""
    key = pair_key(0, network)
    slot = slot_of(flows, slots, src_high, src_low, dst_high, dst_low, kind, key)
    if slots[slot] < 0:
        slots[slot] = counts[FLOWS]
        open_flow(flows[counts[FLOWS]], src_high, src_low, dst_high, dst_low, kind, key)
        counts[FLOWS] += 1
    return wide(slots[slot])


@jit
def flow_of(packet: Record, flows: Table, slots: Slots, counts: Counts) -> int:
    """The packet's flow; a new one is linked with what answers it."""
    src_high, src_low, dst_high, dst_low = packet["src_high"], packet["src_low"], packet["dst_high"], packet["dst_low"]
    opcode, network = packet["opcode"], wide(packet["network"])
    queue_pair = pair_key(packet["queue_pair"], network)
    response = wide(1 if opcode >= 0 and TRAITS[opcode] & RESPONSE else 0)
    src_port = packet["src_port"] if opcode < 0 else wide(0)  # a queue pair outweighs it, each packet may have another
    ports = port_key(src_port, packet["dst_port"], packet["proto"], response)
    slot = slot_of(flows, slots, src_high, src_low, dst_high, dst_low, ports, queue_pair)
    if slots[slot] >= 0:
        return wide(slots[slot])
    f = wide(counts[FLOWS])
    counts[FLOWS] += 1
    slots[slot] = f
    flow = flows[f]
    open_flow(flow, src_high, src_low, dst_high, dst_low, ports, queue_pair)
    flow["src_port"] = packet["src_port"]
    if packet["proto"] == TCP:
        back = port_key(packet["dst_port"], packet["src_port"], packet["proto"], wide(0))
        other = slots[slot_of(flows, slots, dst_high, dst_low, src_high, src_low, back, queue_pair)]
        if other >= 0:
            flow["opposite"] = other
            flows[other]["opposite"] = f
    elif response:
        flow["opposite"] = entry_of(
            flows, slots, counts, dst_high, dst_low, src_high, src_low, wide(PAIR_ENTRY), network
        )
    elif opcode >= 0:
        pair = flows[entry_of(flows, slots, counts, src_high, src_low, dst_high, dst_low, wide(PAIR_ENTRY), network)]
        flow["sibling"] = pair["sibling"]
        pair["sibling"] = f
    return f


@jit
def is_duplicate(packet: Record, twin: int, sampler: int, recent: Table) -> bool:
    """Whether a mirror showed this very packet a moment ago at another place (leaf and spine, ingress and egress).

    The same sequence numbers and IP identification at another exporter, session or interface are the same packet. At
    the same one they are so only for TCP with an IP identification, which a retransmission does not repeat. What is
    seen in an overlay's network and outside of any may be the same packet, what is seen in two networks is not.
    """
    tcp = packet["proto"] == TCP
    sequenced = tcp or is_numbered(packet["opcode"])
    if packet["fragment"] or (packet["ip_id"] == 0 and not sequenced):
        return False
    a = packet["sequence"] << 32 | packet["acknowledged"]
    b = twin << 32 | (wide(packet["ip_id"]) & 0xFFFF) << 16 | (wide(packet["payload_bytes"]) & 0xFFFF)
    origin = (wide(sampler) + 1) << 32 | wide(packet["session"]) << 16 | wide(packet["interface"])
    entry = recent[mixed(mixed(wide(0x2545F491), a), b) & (len(recent) - 1)]
    apart_ns = abs(packet["time_ns"] - entry["time_ns"])
    network, other = wide(packet["network"]), wide(entry["network"])
    related = other in (network, 0) or network == 0
    if entry["what"][0] == a and entry["what"][1] == b and related:
        if entry["origin"] != origin:
            if apart_ns <= DUPLICATE_NS:
                return True
        elif tcp and packet["ip_id"] != 0 and apart_ns <= DUPLICATE_SAME_ORIGIN_NS:
            return True
    entry["what"][0] = a
    entry["what"][1] = b
    entry["origin"] = origin
    entry["network"] = network
    entry["time_ns"] = packet["time_ns"]
    return False


@jit
def is_numbered(opcode: int) -> bool:
    """Whether a packet has a number among those of its queue pair."""
    return opcode >= 0 and TRAITS[opcode] & UNNUMBERED == 0


@jit
def count_packet(packet: Record, f: int, sampler: int, flows: Table, rows: Table, counts: Counts) -> None:
    """Enter one packet into its flow's open records, and what it acknowledges into the flow it answers."""
    flow = flows[f]
    time_ns, payload, opcode = packet["time_ns"], wide(packet["payload_bytes"]), packet["opcode"]
    sequenced, units, first = False, payload, wide(0)
    if packet["trimmed"]:
        payload = wide(0)  # what it should have brought comes once more
    elif packet["fragment"]:
        pass
    elif packet["proto"] == TCP:
        sequenced = True
        skip = wide(1 if packet["tcp_flags"] & TCP_SYN else 0)
        first = position(packet, flow, wide(32), skip, wide(TCP_FAR), wide(TCP_BEFORE), counts)
        if packet["tcp_flags"] & TCP_ACK and flow["opposite"] >= 0:
            tcp_acknowledges(flows[flow["opposite"]], rows, packet["acknowledged"], time_ns)
    elif opcode >= 0 and TRAITS[opcode] & ACKNOWLEDGES:
        roce_acknowledges(packet, f, flows, rows)
    elif is_numbered(opcode):
        sequenced, units = True, wide(1)
        first = position(packet, flow, wide(PSN_BITS), wide(0), wide(PSN_FAR), wide(PSN_BEFORE), counts)
    repeated = False
    if sequenced and units:
        before_next = first == flow["next"] - 1
        fresh = count_new_units(flow, first, units) if opcode < 0 else take_packet(flow, first)
        repeated = fresh == 0 and not (units == 1 and opcode < 0 and before_next)  # the exception is TCP's keep-alive
        payload = min(payload, fresh) if opcode < 0 else payload * fresh
    if payload:
        enter_data(packet, f, flow, sampler, rows, counts, payload, first + units)
    else:
        enter_control(packet, f, flow, sampler, rows, counts, repeated)


@jit
def position(packet: Record, flow: Record, bits: int, skip: int, far: int, before: int, counts: Counts) -> int:
    """The unwrapped position of the packet's first unit.

    The flow is followed afresh where this is its first packet, opens a connection (`skip` units), or lies so far from
    what went before that it belongs to another connection.
    """
    raw = packet["sequence"] + skip
    if flow["started"]:
        at = unwrapped(flow["next"], raw, bits)
        if (
            -far <= at - flow["next"]
            and (at - flow["next"] <= far or bits == PSN_BITS)
            and not (skip and at != flow["next"])
        ):
            return at
        counts[RESTARTS] += 1
    flow["data_row"] = NONE
    restart(flow, raw, 0 if skip else before)
    if bits == PSN_BITS:
        await_packets(flow, raw - before, raw)
    return wide(raw)


@jit
def enter_data(
    packet: Record, f: int, flow: Record, sampler: int, rows: Table, counts: Counts, payload: int, last_unit: int
) -> None:
    """Add a packet with `payload` new bytes to the flow's data record, ending the record first where it must."""
    time_ns = packet["time_ns"]
    gap_ns = time_ns - flow["last_ns"]
    if flow["data_row"] >= 0:
        row = rows[flow["data_row"]]
        pause_ns = min(max(SHORTEST_PAUSE_NS, PAUSE_IN_PACKETS * flow["spacing_ns"]), LONGEST_PAUSE_NS)
        if gap_ns > pause_ns or time_ns - row["start_ns"] > SPAN_NS or row["packets"] >= SPAN_PACKETS:
            close_data(flow, rows)
    if flow["last_ns"]:
        # A pause moves the estimate by an eighth at most, a longer spacing that lasts is soon learnt.
        flow["spacing_ns"] += (min(max(gap_ns, 0), 2 * flow["spacing_ns"]) - flow["spacing_ns"]) // PAUSE_IN_PACKETS
        flow["spacing_ns"] = max(flow["spacing_ns"], PAUSE_IN_PACKETS)  # below that, the division stops all change
    flow["last_ns"] = max(flow["last_ns"], time_ns)
    if flow["data_row"] < 0:
        flow["data_row"] = counts[ROWS]
        open_row(rows[counts[ROWS]], f, sampler, packet)
        counts[ROWS] += 1
    row = rows[flow["data_row"]]
    enter(packet, row)
    row["payload_bytes"] += payload
    row["last_unit"] = max(row["last_unit"], last_unit)
    row["acknowledged_ns"] = 0
    if flow["acknowledged_ns"] and flow["acknowledged"] >= row["last_unit"]:  # the answer overtook the data
        row["acknowledged_ns"] = max(flow["acknowledged_ns"], time_ns)
    if packet["opcode"] >= 0 and TRAITS[packet["opcode"]] & ENDS_MESSAGE:
        close_data(flow, rows)


@jit
def close_data(flow: Record, rows: Table) -> None:
    """End the flow's data record; until its last unit is acknowledged, it waits."""
    r = flow["data_row"]
    flow["data_row"] = NONE
    if rows[r]["acknowledged_ns"]:
        return
    if flow["pending_first"] < 0:
        flow["pending_first"] = r
    else:
        rows[flow["pending_last"]]["next_pending"] = r
    flow["pending_last"] = r


@jit
def enter_control(
    packet: Record, f: int, flow: Record, sampler: int, rows: Table, counts: Counts, repeated: bool
) -> None:
    """Add a packet that brings nothing new to the flow's control record, which spans CONTROL_SPAN_NS at most."""
    r = flow["control_row"]
    if r < 0 or packet["time_ns"] - rows[r]["start_ns"] >= CONTROL_SPAN_NS:
        r = counts[ROWS]
        counts[ROWS] += 1
        flow["control_row"] = r
        open_row(rows[r], f, sampler, packet)
    row = rows[r]
    enter(packet, row)
    row["retransmitted"] += 1 if repeated else 0
    row["cnp"] += 1 if packet["opcode"] == CNP else 0
    row["nak"] += 1 if is_negative(packet["syndrome"]) else 0
    row["trimmed"] += packet["trimmed"]


@jit
def enter(packet: Record, row: Record) -> None:
    """Count a packet in a record, whatever it brings."""
    row["start_ns"] = min(row["start_ns"], packet["time_ns"])
    row["end_ns"] = max(row["end_ns"], packet["time_ns"])
    row["bytes"] += packet["ip_bytes"]
    row["packets"] += 1
    row["message_bytes"] += packet["message_bytes"]
    row["ecn_ce"] += 1 if is_congested(packet["tos"]) else 0
    row["tcp_flags"] |= packet["tcp_flags"]
    row["opcode_last"] = packet["opcode"]
    if is_numbered(packet["opcode"]):
        row["psn_last"] = packet["sequence"]
        if row["psn_first"] < 0:
            row["psn_first"] = packet["sequence"]
