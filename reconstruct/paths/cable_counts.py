"""Readings of interface counters -> bytes that each cable between switches carried, by its interfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame, concat
from datamodel.reconstructed.connections import CABLE_COUNTS
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.counters import PortReadings
from reconstruct.paths.cable_ends import CableEnds, Side

_SIDES: tuple[Side, ...] = ("out", "in")


def cable_counts(
    readings: PortReadings, switches: Mapping[str, str], links: Sequence[Link], window_ns: tuple[int, int]
) -> Frame:
    """Rows of `CABLE_COUNTS`: of each directed cable whose counter was read twice in the window.

    The interface that it leaves by counts, where that has no counter the one that it enters. A counter that began again
    in between says nothing.

    Args:
        readings: of all exporters.
        switches: name of the switch of each exporter's address.
        links: of the inventory, with interface indices.
        window_ns: first and last time of the flow records.
    """
    frame = readings.frame
    frame = frame.take((frame["time_ns"] >= window_ns[0]) & (frame["time_ns"] <= window_ns[1]))
    ends = CableEnds.of(links)
    parts = [
        _grown(frame, ends.cables(frame, readings.addresses, switches, side, "interface"), side) for side in _SIDES
    ]
    found = concat(CABLE_COUNTS, parts)
    _, first = np.unique(found["cable"], return_index=True)  # the first of equal ones: what leaves
    return found.take(first)


def _grown(frame: Frame, cable: Int, side: str) -> Frame:
    """By how much one counter of each cable grew from its first to its last reading."""
    rows = np.flatnonzero((cable >= 0) & (frame[f"{side}_bytes"] >= 0))
    rows = rows[np.lexsort([frame["time_ns"][rows], cable[rows]])]
    own, time, count = cable[rows], frame["time_ns"][rows], frame[f"{side}_bytes"][rows]
    same = np.diff(own, prepend=-1) == 0
    began_again = np.unique(own[same & (np.diff(count, prepend=0) < 0)])
    every, first, number = np.unique(own, return_index=True, return_counts=True)
    last = first + number - 1
    kept = (time[last] > time[first]) & ~np.isin(every, began_again)
    first, last = first[kept], last[kept]
    return Frame(
        CABLE_COUNTS,
        {"cable": every[kept], "start_ns": time[first], "end_ns": time[last], "bytes": count[last] - count[first]},
    )
