"""Who trains now: a job whose hosts were exchanged inside the window is laid out as it was last."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.streams import Int

# Fewer iterations than these after a change say too little.
FEWEST = 3


def select_current(transfers: Frame, endpoints: Int, iterations: int) -> tuple[Frame, Int]:
    """Transfers and endpoints since the last exchange of members; all where nobody was exchanged.

    Endpoints that stop while others, silent until then, begin have been replaced: the groups before and after overlap
    and tile no common grid. That somebody only stops or only begins is no exchange.

    Args:
        transfers: the job's transfers.
        endpoints: (e,) address codes.
        iterations: how many complete iterations there are.
    """
    rows = np.flatnonzero(transfers["iteration"] >= 0)
    inside = transfers["iteration"][rows].astype(np.int64)
    codes = int(endpoints.max(initial=0)) + 1
    first, last = np.full(codes, iterations, np.int64), np.full(codes, -1, np.int64)
    for side in ("src", "dst"):
        np.minimum.at(first, transfers[side][rows], inside)
        np.maximum.at(last, transfers[side][rows], inside)
    left = (last[endpoints] >= 0) & (last[endpoints] < iterations - FEWEST)
    if not left.any():
        return transfers, endpoints
    since = int(last[endpoints][left].max())
    joined = (first[endpoints] > since // 2) & (first[endpoints] < iterations) & ~left
    if not joined.any():
        return transfers, endpoints
    return transfers.take(transfers["iteration"] > since), endpoints[~left]
