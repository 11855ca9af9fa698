"""Which packets are sampled: each with probability 1 in N, by itself."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Column, Frame, Schema
from datamodel.reconstructed.streams import Int

SAMPLES = Schema(
    "samples",
    (
        Column("observation", "i8", "", "row of the observation"),
        Column("number", "i8", "", "number of the packet in its train, from 0"),
        Column("time_ns", "i8", "ns", "when it was seen, UTC"),
    ),
)


def samples(seen: Frame, packets: Int, rate: int, random: np.random.Generator) -> Frame:
    """The sampled packets, by time.

    Packets of a train are evenly apart. Skips between sampled packets are drawn (geometric), so that the work grows
    with the samples and not with the packets.

    Args:
        seen: rows of `TRAIN_OBSERVATIONS`.
        packets: (n,) of each.
        rate: N.
        random: what draws.
    """
    until = np.cumsum(packets)
    total = int(until[-1]) if len(until) else 0
    place = np.arange(total) if rate == 1 else _drawn(total, rate, random)
    observation = np.searchsorted(until, place, "right")
    number = place - (until - packets)[observation]
    start, end = seen["start_ns"][observation], seen["end_ns"][observation]
    share = (number + 0.5) / packets[observation]
    time = start + np.floor((end - start) * share).astype(np.int64)
    order = np.lexsort([number, observation, time])
    return Frame(SAMPLES, {"observation": observation[order], "number": number[order], "time_ns": time[order]})


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
