"""Flow records -> progress curves: how many bytes each connection had sent at the time of each sample, exactly.

A sampled header carries a sequence number: TCP's counts bytes modulo 2^32 (RFC 9293), RoCE's packets modulo 2^24
(InfiniBand Architecture Specification, chapter 9). Two samples of one connection thus tell what lay between them to the
byte or packet, whatever the sampling rate; the rate only says how many points of the curve are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import FLOWS, TCP, Flows
from reconstruct.jit import to_contiguous
from reconstruct.numeric.factorize import factorize
from reconstruct.sampled.curves.curve_builder import AMBIGUOUS, DRAWN, drawn, in_turn, typical
from reconstruct.sampled.curves.sample_times import stamps

# Packets no larger than this carry no payload: headers of TCP with options, RoCE acknowledgements.
CONTROL_BYTES = 100
# What curves are not made of: rows of these columns need not be taken.
_ASKED = {"src_port", "dst_port", "proto", "dst_qp", "sampling_rate", "psn_first", "tcp_seq_first"}
_ASKED |= {"time_received_ns", "time_uncertainty_ns"}
UNASKED = frozenset(FLOWS.names) - FLOWS.required - _ASKED


@dataclass(frozen=True, slots=True)
class ProgressCurves:
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


def has_sequence_number(flows: Flows) -> Bool:
    """(rows,) which flow records are sampled data packets with a sequence number."""
    frame = flows.frame
    single = (frame["packets"] == 1) & (frame["time_flow_start_ns"] == frame["time_flow_end_ns"])
    data = (frame["bytes"] > CONTROL_BYTES) & (frame["payload_bytes"] < 0)
    return np.asarray(single & data & (sequence_numbers(frame) >= 0), np.bool_)


def progress(flows: Flows) -> ProgressCurves:
    """The progress curves of all connections that sequence-numbered samples show."""
    told = has_sequence_number(flows)
    frame = flows.frame.without(UNASKED)
    frame = frame if told.all() else frame.take(np.flatnonzero(told))
    number, connections = _numbers(frame)
    when, sequence = stamps(frame), to_contiguous(sequence_numbers(frame))
    rows, bounds = in_turn(number, connections, to_contiguous(when.time_ns), sequence)
    leading = rows[bounds[:-1]]
    packet_bytes = typical(number, to_contiguous(frame["bytes"]), rows, bounds)
    rates = typical(number, to_contiguous(np.maximum(frame["sampling_rate"], 1)), rows, bounds)
    spans = to_contiguous(when.time_ns), to_contiguous(when.earliest_ns), to_contiguous(when.latest_ns)
    came_out, points = drawn(rows, bounds, sequence, packet_bytes, rates, frame["proto"][leading] == TCP, spans)
    kept = came_out == DRAWN
    time_ns, earliest_ns, doubt_ns, position_bytes = _of(points, np.repeat(kept, np.diff(bounds)))
    src, dst = (frame[name][leading].astype(np.int64) for name in ("src_addr", "dst_addr"))
    return ProgressCurves(
        src=src[kept],
        dst=dst[kept],
        offsets=np.concatenate([[0], np.cumsum(np.diff(bounds)[kept])]),
        time_ns=time_ns,
        earliest_ns=earliest_ns,
        doubt_ns=doubt_ns,
        position_bytes=position_bytes,
        faint=np.stack([src[~kept], dst[~kept]], axis=1),
        packet_bytes=packet_bytes[kept],
        faint_packet_bytes=packet_bytes[~kept],
        ambiguous=int(np.count_nonzero(came_out == AMBIGUOUS)),
        addresses=flows.addresses,
    )


def _of(columns: Iterable[Float], chosen: Bool) -> list[Float]:
    """Some points of each column; the columns themselves where all are chosen."""
    return [column if chosen.all() else column[chosen] for column in columns]


def sequence_numbers(frame: Frame) -> Int:
    """(rows,) TCP's sequence number of each, or RoCE's packet sequence number; -1 where there is none."""
    return np.where(frame["proto"] == TCP, frame["tcp_seq_first"], frame["psn_first"])


def _numbers(frame: Frame) -> tuple[Int, int]:
    """(number of each row's connection, in the order in which their names sort; how many there are).

    RoCE's source port may change, its queue pair does not.
    """
    queue_pair = frame["dst_qp"]
    ports = frame["src_port"].astype(np.int64) << 16 | frame["dst_port"]
    names, pair = factorize(frame["src_addr"].astype(np.int64) << 32 | frame["dst_addr"])
    doors, door = factorize(np.where(queue_pair >= 0, queue_pair + 1 << 32, ports))
    if len(doors) > 1:
        names, pair = factorize(pair * len(doors) + door)
    return to_contiguous(pair), len(names)
