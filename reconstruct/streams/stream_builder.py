"""Flow records -> streams: control traffic and retransmissions left out, one stream a connection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.frame import Array, Frame, constant
from datamodel.reconstructed.streams import Int, Streams
from datamodel.telemetry.flows import Flows
from reconstruct.jit import to_contiguous, to_kernel_column
from reconstruct.parallel import map_slices
from reconstruct.streams.connections import Connections, distribute, gather, measure, number_connections, sort_by_time
from reconstruct.streams.lost_records import find_lost_records, with_lost_records
from reconstruct.streams.observations import find_observation_intervals
from reconstruct.streams.queue_pairs import merge_round_robin

_LOW_32 = 0xFFFFFFFF


def build_streams(flows: Flows, *, filled: int | None = None) -> Streams:
    """Group the data rows of `flows` by connection, in order of time.

    A connection is (source, destination, destination queue pair) for RoCEv2, queue pairs that take turns counting as
    one, and (source, destination, ports) for everything else: a queue pair outweighs the UDP source port, which may
    change. Rows without new payload are control traffic and left out.

    Streams are numbered by (source, destination, first byte): port numbers are arbitrary, times are not.

    Args:
        flows: records of every packet.
        filled: how many of them, at the end, stand for records that packet numbers show to be lost; None where these
            were not looked for.
    """
    frame = flows.frame
    volume = volumes(frame)
    met = _connections(frame, volume)
    place, offsets, ends, name = _numbered(met, np.arange(len(met.ends)))
    order = _ordered(frame, volume, met, place, offsets)
    if filled is None and len((lost := find_lost_records(frame, order, offsets, name)).like):
        del volume, met, place, offsets, ends, name, order  # half a gigabyte of a large window is found again
        return build_streams(Flows(with_lost_records(frame, lost), flows.addresses), filled=len(lost.like))
    apart = np.empty(len(place), np.int64)
    apart[place] = np.arange(len(place))
    ranked = gathered(frame["time_flow_start_ns"], order), gathered(volume, order)
    # of one type whatever the records came from: each other one would be compiled for seconds
    turns = merge_round_robin(ends, met.name[apart], offsets, *map(to_contiguous, ranked))
    together = apart[turns][place]
    if (together[apart] != apart).any():
        place, offsets, ends, name = _numbered(met, together)
        order = _ordered(frame, volume, met, place, offsets)
        ranked = gathered(frame["time_flow_start_ns"], order), gathered(volume, order)
    del volume, met  # of a large window they would take as much as the columns that are gathered now
    found = _streams(flows, ranked, order, (ends, name), offsets)
    return (
        replace(found, filled_rows=np.flatnonzero(order.astype(np.int64) >= len(frame) - filled)) if filled else found
    )


def volumes(frame: Frame) -> Int:
    """(rows,) new payload of each row in bytes; 0 for control traffic."""
    volume = np.empty(len(frame), np.int64)
    sizes = (
        to_kernel_column(frame["bytes"]),
        to_kernel_column(frame["packets"]),
        to_kernel_column(frame["sampling_rate"]),
    )
    measure(
        to_kernel_column(frame["proto"]),
        *sizes,
        to_kernel_column(frame["payload_bytes"]),
        to_kernel_column(frame["retransmitted_packets"]),
        volume,
    )
    return volume


def _connections(frame: Frame, volume: Int) -> Connections:
    of_row = np.empty(len(frame), np.int32)
    ends = to_kernel_column(frame["src_addr"]), to_kernel_column(frame["dst_addr"])
    ports = to_kernel_column(frame["src_port"]), to_kernel_column(frame["dst_port"])
    start_ns = to_contiguous(frame["time_flow_start_ns"])
    return Connections(
        of_row, *number_connections(*ends, to_kernel_column(frame["dst_qp"]), *ports, start_ns, volume, of_row)
    )


def _numbered(met: Connections, together: Int) -> tuple[Int, Int, Int, Int]:
    """Number groups of connections by ends, first byte and smallest name, whatever the order of rows.

    Args:
        met: the connections.
        together: (connections,) one connection of the group that each belongs to.

    Returns:
        (connections,) group of each; (groups + 1,) where the rows of each begin; (groups,) its ends, and its
        smallest name.
    """
    heads, group = np.unique(together, return_inverse=True)
    first_ns, name = met.first_ns[heads], met.name[heads]
    np.minimum.at(first_ns, group, met.first_ns)
    np.minimum.at(name, group, met.name)
    order = np.lexsort([name, first_ns, met.ends[heads]])
    rank = np.empty(len(heads), np.int64)
    rank[order] = np.arange(len(heads))
    count = np.bincount(group, met.rows, len(heads)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(count[order])]).astype(np.int64)
    return rank[group], offsets, met.ends[heads][order], name[order]


def _ordered(frame: Frame, volume: Int, met: Connections, place: Int, offsets: Int) -> Array:
    """Row numbers, by group and time."""
    order = np.empty(int(offsets[-1]), np.int32)
    distribute(met.of_row, place, offsets, order)
    sort_by_time(
        order, offsets, to_contiguous(frame["time_flow_start_ns"]), to_contiguous(frame["time_flow_end_ns"]), volume
    )
    return order


def _streams(flows: Flows, ranked: tuple[Int, Int], order: Array, called: tuple[Int, Int], offsets: Int) -> Streams:
    """Streams whose rows are `order`, by ends and name; `ranked` are the rows' starts and volumes in that order."""
    frame, (ends, name) = flows.frame, called
    watch_start_ns, watch_end_ns = find_observation_intervals(frame, order[offsets[:-1]], order[offsets[1:] - 1])
    return Streams(
        src=ends >> 32,
        dst=ends & _LOW_32,
        name=name,
        trains=np.asarray(frame["payload_bytes"][order[offsets[:-1]]] >= 0),
        offsets=offsets,
        watch_start_ns=watch_start_ns,
        watch_end_ns=watch_end_ns,
        start_ns=ranked[0],
        end_ns=gathered(frame["time_flow_end_ns"], order),
        delivered_ns=gathered(frame["time_acknowledged_ns"], order),
        bytes=ranked[1],
        packets=gathered(frame["packets"], order),
        retransmitted=gathered(frame["retransmitted_packets"], order),
        ecn_ce=gathered(frame["ecn_ce_packets"], order),
        addresses=flows.addresses,
    )


def gathered(column: Int, order: Array) -> Int:
    """A column's entries in another order; of one that is all zeros, a view of one zero."""
    if not column[:1].any() and not column.any():
        return constant(0, np.int64, len(order))  # type: ignore[return-value]  # a column of int64
    out = np.empty(len(order), np.int64)
    values, mask = to_kernel_column(column)
    map_slices(lambda part: gather(values, mask, order[part], out[part]), len(order))
    return out
