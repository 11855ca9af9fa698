"""Flow records -> streams: control traffic and retransmissions left out, one stream a connection."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.frame import Array, Frame, constant
from datamodel.reconstructed.streams import Int, Streams
from datamodel.telemetry.flows import Flows
from reconstruct.jit import to_contiguous, to_kernel_column
from reconstruct.parallel import map_slices
from reconstruct.streams.connections import Connections, distribute, gather, measure, number_connections, sort_by_time
from reconstruct.streams.lost_records import Filled, LostRecords, find_lost_records, insert_filled, lost_rows
from reconstruct.streams.observations import find_observation_intervals
from reconstruct.streams.queue_pairs import merge_round_robin

_LOW_32 = 0xFFFFFFFF
_NOWHERE = np.zeros(0, np.int64)


class _Grouped(NamedTuple):
    """Rows by group of connections and time.

    Attributes:
        order: (rows,) row numbers; of one that was filled in, the row that it is like.
        offsets: (groups + 1,) where the rows of each begin.
        ends, name: (groups,) of each.
        filled: rows that were filled in, in their order.
        at: (n,) where they stand.
    """

    order: Array
    offsets: Int
    ends: Int
    name: Int
    filled: Filled
    at: Int


def build_streams(flows: Flows) -> Streams:
    """Group the data rows of `flows` by connection, in order of time.

    A connection is (source, destination, destination queue pair) for RoCEv2, queue pairs that take turns counting as
    one, and (source, destination, ports) for everything else: a queue pair outweighs the UDP source port, which may
    change. Rows without new payload are control traffic and left out. Records that packet numbers show to be lost are
    filled in.

    Streams are numbered by (source, destination, first byte): port numbers are arbitrary, times are not.
    """
    frame = flows.frame
    volume = volumes(frame)
    met = _connections(frame, volume)
    place, offsets, ends, name = _numbered(met, np.arange(len(met.ends)))
    order = _ordered(frame, volume, met, place, offsets)
    filled = _filled(frame, find_lost_records(frame, order, offsets, name))
    found = _inserted(frame, volume, met, place, _Grouped(order, offsets, ends, name, filled, _NOWHERE))
    apart = np.empty(len(place), np.int64)
    apart[place] = np.arange(len(place))
    ranked = _starts_and_volumes(frame, volume, found)
    # of one type whatever the records came from: each other one would be compiled for seconds
    turns = merge_round_robin(ends, met.name[apart], found.offsets, *map(to_contiguous, ranked))
    together = apart[turns][place]
    if (together[apart] != apart).any():
        place, offsets, ends, name = _numbered(met, together)
        order = _ordered(frame, volume, met, place, offsets)
        found = _inserted(frame, volume, met, place, _Grouped(order, offsets, ends, name, filled, _NOWHERE))
        ranked = _starts_and_volumes(frame, volume, found)
    del volume, met  # of a large window they would take as much as the columns that are gathered now
    return _streams(flows, ranked, found)


def _filled(frame: Frame, lost: LostRecords) -> Filled:
    """Rows that stand for lost records and carry data."""
    rows = lost_rows(frame, lost)
    volume = volumes(rows)
    data = np.flatnonzero(volume > 0)
    return Filled(rows.take(data), lost.like[data], volume[data])


def _inserted(frame: Frame, volume: Int, met: Connections, place: Int, of: _Grouped) -> _Grouped:
    """The groups with their filled rows; none begins sooner for them, so that groups keep their numbers."""
    if not len(of.filled.like):
        return of
    group = place[met.of_row[of.filled.like]]
    order, offsets, filled, at = insert_filled(of.order, of.offsets, group, of.filled, frame, volume)
    return of._replace(order=order, offsets=offsets, filled=filled, at=at)


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


def _starts_and_volumes(frame: Frame, volume: Int, found: _Grouped) -> tuple[Int, Int]:
    """(rows,) start and volume of each, in their order."""
    return _gathered(frame, "time_flow_start_ns", found), _with(
        gathered(volume, found.order), found.filled.volume, found
    )


def _streams(flows: Flows, ranked: tuple[Int, Int], found: _Grouped) -> Streams:
    """Streams of groups; `ranked` are the rows' starts and volumes in their order."""
    frame, order, offsets = flows.frame, found.order, found.offsets
    end_ns = _gathered(frame, "time_flow_end_ns", found)
    edges = np.concatenate([offsets[:-1], offsets[1:] - 1])
    rows = frame.take(order[edges]).replace(time_flow_start_ns=ranked[0][edges], time_flow_end_ns=end_ns[edges])
    watch_start_ns, watch_end_ns = find_observation_intervals(rows)
    return Streams(
        src=found.ends >> 32,
        dst=found.ends & _LOW_32,
        name=found.name,
        trains=np.asarray(frame["payload_bytes"][order[offsets[:-1]]] >= 0),
        offsets=offsets,
        watch_start_ns=watch_start_ns,
        watch_end_ns=watch_end_ns,
        start_ns=ranked[0],
        end_ns=end_ns,
        delivered_ns=_gathered(frame, "time_acknowledged_ns", found),
        bytes=ranked[1],
        packets=_gathered(frame, "packets", found),
        retransmitted=_gathered(frame, "retransmitted_packets", found),
        ecn_ce=_gathered(frame, "ecn_ce_packets", found),
        addresses=flows.addresses,
        filled_rows=found.at,
    )


def _gathered(frame: Frame, name: str, found: _Grouped) -> Int:
    """(rows,) a column in the order of the groups."""
    return _with(gathered(frame[name], found.order), found.filled.rows[name], found)


def _with(values: Int, own: Int, found: _Grouped) -> Int:
    """A column in the order of the groups, with what the filled rows have of it."""
    if not values.flags.writeable and not own.any():
        return values
    column = values if values.flags.writeable else values.copy()
    column[found.at] = own
    return column


def gathered(column: Int, order: Array) -> Int:
    """A column's entries in another order; of one that is all zeros, a view of one zero."""
    if not column[:1].any() and not column.any():
        return constant(0, np.int64, len(order))  # type: ignore[return-value]  # a column of int64
    out = np.empty(len(order), np.int64)
    values, mask = to_kernel_column(column)
    map_slices(lambda part: gather(values, mask, order[part], out[part]), len(order))
    return out
