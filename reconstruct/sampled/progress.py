"""Flow records -> progress curves: how many bytes each connection had sent at the time of each sample, exactly.

A sampled header carries a sequence number: TCP's counts bytes modulo 2^32 (RFC 9293), RoCE's packets modulo 2^24
(InfiniBand Architecture Specification, chapter 9). Two samples of one connection thus tell what lay between them to the
byte or packet, whatever the sampling rate; the rate only says how many points of the curve are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from datamodel.flows import FLOWS, TCP, Flows
from datamodel.frame import Frame
from datamodel.streams import Bool, Float, Int
from reconstruct.sampled.ranks import ranks
from reconstruct.sampled.robust import median
from reconstruct.sampled.stamps import Stamps, stamps

_TCP_MODULUS, _PSN_MODULUS = 1 << 32, 1 << 24
# Samples lie as many packets apart in the mean as the rate says, geometrically distributed: an advance of so many times
# the mean comes by a chance of e^-8. Where half the modulus is less, wraps cannot be told.
SURE_ADVANCES = 8.0
# Packets no larger than this carry no payload: headers of TCP with options, RoCE acknowledgements.
CONTROL_BYTES = 100
# Fewer points show no rhythm.
FEWEST_POINTS = 12
# What curves are not made of: rows of these columns need not be taken.
_ASKED = {"src_port", "dst_port", "proto", "dst_qp", "sampling_rate", "psn_first", "tcp_seq_first"}
UNASKED = frozenset(FLOWS.names) - FLOWS.required - _ASKED


@dataclass(frozen=True, slots=True)
class Progress:
    """Points of progress curves, grouped by connection.

    Connection i owns the points `offsets[i]:offsets[i + 1]`, ascending in position and in time.

    Attributes:
        src, dst: (n,) address codes.
        offsets: (n + 1,) point bounds.
        time_ns: (points,) when.
        earliest_ns: (points,) before when each cannot have been.
        doubt_ns: (points,) width of the span of time, from there on, that it may lie in.
        position_bytes: (points,) sequence numbers without wraps, 0 at the connection's first point; RoCE's packets
            count as large as the connection's typical data packet.
        faint: (f, 2) source and destination of connections left out: too few samples, or numbers that may wrap between
            two of them.
        packet_bytes: (n,) typical packet of each connection.
        faint_packet_bytes: (f,) typical packet of each one left out.
        ambiguous: how many of them for the latter reason.
        addresses: address of each code.
    """

    src: Int
    dst: Int
    offsets: Int
    time_ns: Float
    earliest_ns: Float
    doubt_ns: Float
    position_bytes: Float
    faint: Int
    packet_bytes: Float
    faint_packet_bytes: Float
    ambiguous: int
    addresses: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.src)

    def curve(self, connection: int) -> tuple[Float, Float]:
        """(time_ns, position_bytes) of one connection."""
        points = slice(int(self.offsets[connection]), int(self.offsets[connection + 1]))
        return self.time_ns[points], self.position_bytes[points]

    def spans(self, connection: int) -> tuple[Float, Float]:
        """(earliest_ns, doubt_ns) of one connection."""
        points = slice(int(self.offsets[connection]), int(self.offsets[connection + 1]))
        return self.earliest_ns[points], self.doubt_ns[points]

    def volume_bytes(self) -> Float:
        """(n,) bytes between the first and the last point of each connection."""
        if not len(self):
            return np.zeros(0)
        return np.asarray(self.position_bytes[self.offsets[1:] - 1], np.float64)


def numbered(flows: Flows) -> Bool:
    """(rows,) which flow records are sampled data packets with a sequence number."""
    frame = flows.frame
    single = (frame["packets"] == 1) & (frame["time_flow_start_ns"] == frame["time_flow_end_ns"])
    data = (frame["bytes"] > CONTROL_BYTES) & (frame["payload_bytes"] < 0)
    return np.asarray(single & data & (_sequence(frame) >= 0), np.bool_)


def progress(flows: Flows) -> Progress:
    """The progress curves of all connections that sequence-numbered samples show."""
    rows = np.flatnonzero(numbered(flows))
    when = stamps(flows.frame)
    frame = flows.frame.without(UNASKED)
    frame = frame.take(rows) if len(rows) < len(frame) else frame
    key = _connection_keys(frame)
    number, sequence = _numbers(key), _sequence(frame)
    order = _order(number, when.time_ns[rows], sequence)
    bounds, sequence, sent = _bounds(number[order]), sequence[order], frame["bytes"][order].astype(np.float64)
    rates, leading = frame["sampling_rate"][order], order[bounds[:-1]]
    rows = rows[order]
    when = Stamps(when.time_ns[rows], when.earliest_ns[rows], when.latest_ns[rows])
    tcp = frame["proto"][leading] == TCP
    curves, kept, faint, sizes, ambiguous = [], [], [], [], 0
    for n, (first, last) in enumerate(pairwise(bounds.tolist())):
        own = slice(first, last)
        enough = last - first >= FEWEST_POINTS
        sizes.append(median(sent[own]))
        position = _positions(sequence[own], sizes[-1], rates[own], tcp=bool(tcp[n])) if enough else None
        ambiguous += enough and position is None
        if position is None:
            faint.append(n)
        else:
            some = Stamps(when.time_ns[own], when.earliest_ns[own], when.latest_ns[own])
            curves.append(_in_order(position, some))
            kept.append(n)
    src, dst = (frame[name][leading].astype(np.int64) for name in ("src_addr", "dst_addr"))
    packet_bytes = np.array(sizes, np.float64)
    return Progress(
        src=src[kept],
        dst=dst[kept],
        offsets=np.concatenate([[0], np.cumsum([len(c[0]) for c in curves])]).astype(np.int64),
        time_ns=np.concatenate([c[0] for c in curves]) if curves else np.zeros(0),
        earliest_ns=np.concatenate([c[1] for c in curves]) if curves else np.zeros(0),
        doubt_ns=np.concatenate([c[2] for c in curves]) if curves else np.zeros(0),
        position_bytes=np.concatenate([c[3] for c in curves]) if curves else np.zeros(0),
        faint=np.stack([src[faint], dst[faint]], axis=1),
        packet_bytes=packet_bytes[kept],
        faint_packet_bytes=packet_bytes[faint],
        ambiguous=ambiguous,
        addresses=flows.addresses,
    )


def _sequence(frame: Frame) -> Int:
    return np.where(frame["proto"] == TCP, frame["tcp_seq_first"], frame["psn_first"])


def _connection_keys(frame: Frame) -> list[Int]:
    """Sort keys that name a connection; RoCE's source port may change, its queue pair does not."""
    queue_pair = frame["dst_qp"]
    ports = [np.where(queue_pair >= 0, 0, frame[c].astype(np.int64)) for c in ("src_port", "dst_port")]
    return [frame["src_addr"].astype(np.int64), frame["dst_addr"].astype(np.int64), queue_pair, *ports]


def _numbers(key: list[Int]) -> Int:
    """(rows,) number of each row's connection, in the order in which their names sort."""
    number, count = np.zeros(len(key[0]), np.int64), 1
    for column in key:
        names, rank = ranks(column)
        if len(names) > 1:
            names, number = ranks(number * len(names) + rank)
            count = len(names)
    return number.astype(np.uint16) if count <= 1 << 16 else number  # numpy sorts so short ones by counting


def _order(number: Int, time_ns: Int, sequence: Int) -> Int:
    """Rows by connection, time and sequence number; equal ones as they were.

    Those of a connection mostly stand by time, and few came at one time, so that there is little to be sorted.
    """
    order = np.argsort(number, kind="stable")
    same = np.diff(number[order]) == 0
    if (np.diff(time_ns[order])[same] < 0).any():
        order = np.argsort(time_ns, kind="stable")
        order = order[np.argsort(number[order], kind="stable")]
    at_once = same & (np.diff(time_ns[order]) == 0)
    if at_once.any():
        tied = np.flatnonzero(np.append(at_once, False) | np.insert(at_once, 0, False))
        run = np.cumsum(np.insert(~at_once, 0, True))[tied]
        order[tied] = order[tied][np.lexsort([sequence[order[tied]], run])]
    return order


def _bounds(number: Int) -> Int:
    """Where ascending numbers change, both ends included; one bound where there are none."""
    if not len(number):
        return np.zeros(1, np.int64)
    return np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1, [len(number)]])


def _positions(sequence: Int, packet_bytes: float, rates: Int, *, tcp: bool) -> Float | None:
    """Bytes before each of one connection's samples, in order of time; None where wraps cannot be told.

    Args:
        sequence: (n,) their sequence numbers.
        packet_bytes: a typical packet.
        rates: (n,) 1 in how many was sampled.
        tcp: whether the numbers count bytes, else packets.
    """
    modulus = _TCP_MODULUS if tcp else _PSN_MODULUS
    advance = float(np.median(np.maximum(rates, 1))) * (packet_bytes if tcp else 1.0)
    if SURE_ADVANCES * advance > modulus / 2:
        return None
    step = (np.diff(sequence) + modulus // 2) % modulus - modulus // 2
    position = np.concatenate([[0.0], np.cumsum(step)])
    return np.asarray((position - position.min()) * (1.0 if tcp else packet_bytes), np.float64)


def _in_order(position: Float, when: Stamps) -> tuple[Float, Float, Float, Float]:
    """(time_ns, earliest_ns, doubt_ns, position) by position: a byte is sampled no later than any that follows it."""
    order = np.argsort(position, kind="stable")
    earliest = np.maximum.accumulate(when.earliest_ns[order])
    latest = np.minimum.accumulate(when.latest_ns[order][::-1])[::-1]
    time_ns = np.clip(when.time_ns[order], earliest, np.maximum(latest, earliest))
    steady = (np.maximum.accumulate(time_ns) + np.minimum.accumulate(time_ns[::-1])[::-1]) / 2
    return steady, earliest.astype(np.float64), np.maximum(latest - earliest, 0).astype(np.float64), position[order]
