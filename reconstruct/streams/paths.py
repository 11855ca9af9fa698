"""Records of several feeds -> paths: which cables between switches each stream was seen to pass.

A mirror, or the switch that saw most of a connection, tells its bytes; whoever else saw it tells by which interface it
came in and by which it left (sFlow samples, IPFIX and NetFlow records).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame, empty
from datamodel.reconstructed.paths import PATH_INTERVALS, Paths
from datamodel.reconstructed.streams import Int, Streams
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.ragged_arrays import expanded
from reconstruct.numeric.row_runs import run_starts
from reconstruct.streams.stream_builder import volumes

# Where a stream came in, and where it left.
SIDES = (("in_if", False), ("out_if", True))


def select_uplink_records(flows: Flows, switches: Mapping[str, str], cables: Sequence[Link]) -> Flows | None:
    """The records with payload that came in, or left, by a cable between switches; None where there are none.

    Args:
        flows: of all feeds, duplicate observations included.
        switches: name of the switch of each exporter's address.
        cables: between switches, with interface indices.
    """
    doors = find_uplink_ports(cables)
    if not len(flows) or not any(flows.frame[column].any() for column, _ in SIDES):
        return None
    seen = np.zeros(len(flows), np.bool_)
    for column, _ in SIDES:
        seen |= _door(flows, column, switches, doors) >= 0
    if not seen.any():
        return None
    return flows.take(seen & (volumes(flows.frame) > 0))


def find_uplink_ports(cables: Sequence[Link]) -> tuple[tuple[str, int], ...]:
    """Switch and interface index of the ends of cables, in order; ends whose index is not known are left out."""
    ends = {(end, port) for c in cables for end, port in ((c.a, c.a_port), (c.b, c.b_port)) if port is not None}
    return tuple(sorted(ends))


def paths(seen: Flows, flow: Streams, switches: Mapping[str, str], cables: Sequence[Link]) -> Paths:
    """Where each stream was seen; sightings one after the other at the same door are one stay.

    A sighting is its stream's by addresses and ports, or the queue pair. One of a queue pair that has no stream of its
    own counts for all queue pairs between the two: it takes turns with one of them.

    Args:
        seen: what `select_uplink_records` found, with times set right.
        flow: the streams.
        switches: name of the switch of each exporter's address.
        cables: between switches.
    """
    doors = find_uplink_ports(cables)
    row, stream = _streams_of(seen.frame, flow)
    parts = []
    for column, leaves in SIDES:
        door = _door(seen, column, switches, doors)[row]
        known = np.flatnonzero(door >= 0)
        side = {"stream": stream[known], "door": door[known], "leaves": np.full(len(known), leaves)}
        times = {"first_ns": seen.frame["time_flow_start_ns"], "last_ns": seen.frame["time_flow_end_ns"]}
        parts.append(side | {name: time[row[known]] for name, time in times.items()})
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    switch = np.unique([name for name, _ in doors], return_inverse=True)[1]
    return Paths(_stays(columns, switch), doors, tuple(cables))


def _door(flows: Flows, column: str, switches: Mapping[str, str], doors: Sequence[tuple[str, int]]) -> Int:
    """(rows,) the door that each record tells; -1 for an interface that is no cable's, or an unknown switch."""
    index = {name: {p: n for n, (s, p) in enumerate(doors) if s == name} for name in set(switches.values())}
    known = sorted(
        (code << 32 | port, door)
        for code, address in enumerate(flows.addresses)
        if address in switches
        for port, door in index[switches[address]].items()
    )
    if not known:
        return np.full(len(flows), -1, np.int64)
    keys, found = np.array(known, np.int64).T
    key = flows.frame["sampler_address"].astype(np.int64) << 32 | flows.frame[column]
    place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    return np.where(keys[place] == key, found[place], -1)


def _streams_of(frame: Frame, flow: Streams) -> tuple[Int, Int]:
    """Records, and the stream of each; a record may stand several times, or not at all."""
    ends = frame["src_addr"].astype(np.int64) << 32 | frame["dst_addr"]
    ports = frame["src_port"].astype(np.int64) << 16 | frame["dst_port"]
    name = np.where(frame["dst_qp"] >= 0, frame["dst_qp"], ports - (1 << 32))
    pairs = flow.src << 32 | flow.dst  # ascending
    low, high = np.searchsorted(pairs, ends), np.searchsorted(pairs, ends, side="right")
    row, stream = expanded(low, high - low)
    same = flow.name[stream] == name[row]
    alone = np.bincount(row[same], minlength=len(frame)) == 0
    shares = alone[row] & (name[row] >= 0) & (flow.name[stream] >= 0)
    kept = same | shares
    return row[kept], stream[kept]


def _stays(columns: dict[str, Int], switch: Int) -> Frame:
    """Sightings in order, those that follow one another at one door as one; `switch` is each door's."""
    if not len(columns["stream"]):
        return empty(PATH_INTERVALS)
    at = switch[columns["door"]]
    order = np.lexsort(
        [columns["door"], columns["last_ns"], columns["first_ns"], columns["leaves"], at, columns["stream"]]
    )
    rows = {name: values[order] for name, values in columns.items()}
    first = np.flatnonzero(run_starts(*(rows[name] for name in ("stream", "door", "leaves"))))
    return Frame(
        PATH_INTERVALS,
        {
            **{name: rows[name][first] for name in ("stream", "door", "leaves", "first_ns")},
            "last_ns": np.maximum.reduceat(rows["last_ns"], first),
            "sightings": np.diff(np.append(first, len(order))),
        },
    )
