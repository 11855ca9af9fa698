"""Sightings of connections -> the cable by which each left each switch, and whether connections keep to one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int

# Connections that are hashed keep to a cable; of packets that are sprayed or routed adaptively, far more change it.
SPRAYED = 0.05
# A connection whose records show other cables more often than this was moved, or its packets are spread.
STEADY = 0.9


@dataclass(frozen=True, slots=True)
class Choices:
    """Which cable each connection was seen to take out of a switch.

    Attributes:
        connection, switch, cable: (n,) of those that keep to one cable, by connection and switch.
        moved: connections, counted at each switch, that do not.
        sprayed: whether packets of connections are spread over cables, so that none has a path.
    """

    connection: Int
    switch: Int
    cable: Int
    moved: int
    sprayed: bool


def choices(sightings: Frame, tail: Int) -> Choices:
    """The cable that most records of a connection show at each switch.

    Args:
        sightings: rows of `CABLE_SIGHTINGS`.
        tail: (directed cables,) switch that each leaves.
    """
    records = sightings["records"]
    key = sightings["connection"] << 32 | tail[sightings["cable"]]
    order = np.lexsort([sightings["cable"], -records, key])
    keys, first, which = np.unique(key[order], return_index=True, return_inverse=True)
    total = np.bincount(which, records[order])
    most = records[order][first]
    steady = most >= STEADY * total
    sprayed = bool(records.sum() - most.sum() > SPRAYED * records.sum())
    best = sightings["cable"][order][first]
    kept = np.flatnonzero(steady)
    return Choices(keys[kept] >> 32, keys[kept] & 0xFFFFFFFF, best[kept], int((~steady).sum()), sprayed)
