"""Which packets are sampled: each with probability 1 in N, by itself."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Column, Frame, Schema
from datamodel.streams import Int

SAMPLES = Schema(
    "samples",
    (
        Column("sighting", "i8", "", "row of the sighting"),
        Column("number", "i8", "", "number of the packet in its train, from 0"),
        Column("time_ns", "i8", "ns", "when it was seen, UTC"),
    ),
)


def samples(seen: Frame, packets: Int, rate: int, random: np.random.Generator) -> Frame:
    """The sampled packets, by time.

    Packets of a train are evenly apart. Skips between sampled packets are drawn (geometric), so that the work grows
    with the samples and not with the packets.

    Args:
        seen: rows of `SIGHTINGS`.
        packets: (n,) of each.
        rate: N.
        random: what draws.
    """
    until = np.cumsum(packets)
    total = int(until[-1]) if len(until) else 0
    place = np.arange(total) if rate == 1 else _drawn(total, rate, random)
    sighting = np.searchsorted(until, place, "right")
    number = place - (until - packets)[sighting]
    start, end = seen["start_ns"][sighting], seen["end_ns"][sighting]
    share = (number + 0.5) / packets[sighting]
    time = start + np.floor((end - start) * share).astype(np.int64)
    order = np.lexsort([number, sighting, time])
    return Frame(SAMPLES, {"sighting": sighting[order], "number": number[order], "time_ns": time[order]})


def _drawn(total: int, rate: int, random: np.random.Generator) -> Int:
    """Ascending places below `total`, each with probability 1 / rate."""
    parts: list[Int] = []
    reached = -1
    while reached < total:
        expected = (total - reached) / rate
        skips = random.geometric(1 / rate, int(expected + 4 * np.sqrt(expected)) + 16)
        places = reached + np.cumsum(skips)
        parts.append(places)
        reached = int(places[-1])
    found = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return found[found < total]
