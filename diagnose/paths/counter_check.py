"""Loads of cables against what their interfaces count: traffic that records do not show, or bytes that are too many.

A connection whose path is unknown may have passed a cable or not, so that records give a least and a most.
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.path_plan import CountedCable, Port
from diagnose.paths.current_routes import OpenRoutes
from diagnose.paths.path_options import PATHS
from diagnose.paths.shortest_routes import DirectedCables, ShortestRoutes
from reconstruct.jit import compiled

# Counters and records are read by clocks that differ, and agents send samples up to a second after they took them.
_EDGE_NS = 1_000_000_000
# Chance of sampled packets: so many standard deviations.
_CHANCE = 4.0
# A cable that is used less is no load to plan by.
_USED = 0.01


def counted_cables(
    counted: Frame, payloads: Frame, now: OpenRoutes, routes: ShortestRoutes, cables: DirectedCables
) -> tuple[CountedCable, ...]:
    """Cables whose counters were read, with what records show between the readings, in order of cables.

    Args:
        counted: rows of `CABLE_COUNTS`.
        payloads: rows of `PAYLOADS`, connections by their place in `now`.
        now: routes open to each connection.
        routes: of pairs of switches.
        cables: of the fabric.
    """
    taken_ns = counted["end_ns"] - counted["start_ns"]
    counted = counted.take((taken_ns > _EDGE_NS) & _is_used(counted, cables))
    if not len(counted):
        return ()
    first, last = (np.zeros(len(cables.tail), np.int64) for _ in range(2))
    first[counted["cable"]], last[counted["cable"]] = counted["start_ns"], counted["end_ns"]
    least, most, samples = (np.zeros(len(cables.tail)) for _ in range(3))
    _between(
        least, most, samples, now.offsets, now.route, routes.cables,
        payloads["connection"], payloads["start_ns"], payloads["end_ns"], payloads["bytes"], first, last,
    )  # fmt: skip
    found = []
    for row in range(len(counted)):
        cable, size = int(counted["cable"][row]), int(counted["bytes"][row])
        tolerated = PATHS.counted_ratio + _EDGE_NS / int(last[cable] - first[cable])
        tolerated += _CHANCE / max(samples[cable], 1.0) ** 0.5 if samples[cable] else 0.0
        more, less = size > most[cable] * (1 + tolerated), size < least[cable] * (1 - tolerated)
        found.append(
            CountedCable(
                link=(_port(cables, cable), _port(cables, cable ^ 1)),
                counted_bytes=size,
                least_bytes=round(float(least[cable])),
                most_bytes=round(float(most[cable])),
                agrees=not (more or less),
            )
        )
    return tuple(found)


def counter_notes(found: tuple[CountedCable, ...]) -> tuple[str, ...]:
    """A line on cables that carry more than records show, and one on those that carry less."""
    more = [one for one in found if not one.agrees and one.counted_bytes > one.most_bytes]
    less = [one for one in found if not one.agrees and one.counted_bytes < one.least_bytes]
    lines = []
    if more:
        worst = max(more, key=lambda one: one.counted_bytes - one.most_bytes)
        lines.append(
            f"interface counters show more than the records on {len(more)} of {len(found)} cables "
            f"({_shown(worst, worst.most_bytes)}): what else these carry is not planned for"
        )
    if less:
        worst = max(less, key=lambda one: one.least_bytes - one.counted_bytes)
        lines.append(
            f"interface counters show less than the records on {len(less)} of {len(found)} cables "
            f"({_shown(worst, worst.least_bytes)}): check the sampling rate and the interfaces of the inventory"
        )
    return tuple(lines)


def _shown(one: CountedCable, size: int) -> str:
    return f"such as {one.link[0]}: {one.counted_bytes / 1e9:.3g} GB, {size / 1e9:.3g} GB in records"


def _port(cables: DirectedCables, cable: int) -> Port:
    switch, port = cables.port(cable)
    return Port(switch=switch, port=port)


def _is_used(counted: Frame, cables: DirectedCables) -> Bool:
    """(rows,) whether a counter grew by enough of what its cable could have carried."""
    room = cables.bytes_per_s[counted["cable"]] * (counted["end_ns"] - counted["start_ns"]) / 1e9
    return np.asarray(counted["bytes"] >= _USED * room)


@compiled
def _between(
    least: Float,
    most: Float,
    samples: Float,
    offsets: Int,
    route: Int,
    hops: Int,
    connection: Int,
    start_ns: Int,
    end_ns: Int,
    sent: Int,
    first: Int,
    last: Int,
) -> None:
    """Add to each cable the bytes between its readings: of connections that pass it, and of those that may."""
    seen = np.full(len(first), -1, np.int64)
    for row in range(len(connection)):
        begin, end = offsets[connection[row]], offsets[connection[row] + 1]
        until = max(end_ns[row], start_ns[row] + 1)
        for taken in route[begin:end]:
            for cable in hops[taken]:
                if cable < 0 or seen[cable] == row:
                    continue
                seen[cable] = row
                inside = min(until, last[cable]) - max(start_ns[row], first[cable])
                if inside <= 0:
                    continue
                size = sent[row] * inside / (until - start_ns[row])
                most[cable] += size
                if end - begin == 1:
                    least[cable] += size
                if end_ns[row] <= start_ns[row]:
                    samples[cable] += 1
