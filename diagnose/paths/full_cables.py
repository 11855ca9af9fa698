"""Links found to be slow -> those that are slow because they are full.

A slow_uplink finding compares one job's streams. Where a cable carries as much as it can while anything is under way on
it, jobs share it, and there is nothing wrong with it: leaving it out would make others fuller.
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Int
from diagnose.paths.shortest_routes import NONE, DirectedCables

# What is under way together fills a cable to this share of its speed, as where collisions are named.
FULL = 0.8


def are_full(payloads: Frame, hops: Int, cables: DirectedCables, suspects: Bool) -> Bool:
    """(directions,) suspects that at least two connections share and fill, and their other direction.

    Args:
        payloads: rows of `PAYLOADS`, connections by their place in `hops`.
        hops: (n, hops) cables that each connection takes; NONE where that is unknown.
        cables: of the fabric.
        suspects: (directions,) those to look at.
    """
    found = np.zeros(len(suspects), np.bool_)
    for cable in np.flatnonzero(suspects & np.isin(np.arange(len(suspects)), hops[hops != NONE])).tolist():
        passing = (hops == cable).any(axis=1)
        rows = payloads.take(passing[payloads["connection"]])
        if passing.sum() > 1 and len(rows) and _bytes_per_s(rows) >= FULL * cables.bytes_per_s[cable]:
            found[[cable, cable ^ 1]] = True
    return found


def _bytes_per_s(rows: Frame) -> float:
    """Bytes over the time in which any of them is under way."""
    rows = rows.sort("start_ns", "end_ns")
    reach = np.maximum.accumulate(rows["end_ns"])
    idle_ns = np.maximum(rows["start_ns"][1:] - reach[:-1], 0).sum()
    return float(rows["bytes"].sum()) * 1e9 / max(int(reach[-1] - rows["start_ns"][0] - idle_ns), 1)
