"""Which of a job's transfers show its layout: those since it was last changed, of groups that were seen as a whole."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from strategy.closure import components

# Fewer iterations than these after a change say too little.
FEWEST = 3


def select_current(transfers: Frame, endpoints: Int, iterations: int) -> tuple[Frame, Int]:
    """Transfers and endpoints since connections were last replaced; all where none were.

    Connections that stop while others, silent until then, begin have been replaced: those before and after a restart
    would count twice, and the groups before and after an exchange of hosts overlap and tile no common grid. That
    something only stops or only begins is no exchange.

    Args:
        transfers: the job's transfers.
        endpoints: (e,) address codes.
        iterations: how many complete iterations there are.
    """
    rows = transfers.take(transfers["iteration"] >= 0)
    stream, index = np.unique(rows["stream"], return_inverse=True)
    inside = rows["iteration"].astype(np.int64)
    first, last = np.full(len(stream), iterations, np.int64), np.full(len(stream), -1, np.int64)
    np.minimum.at(first, index, inside)
    np.maximum.at(last, index, inside)
    left = last < iterations - FEWEST
    since = int(last[left].max(initial=-1))
    if not ((first > since // 2) & ~left).any() or since < 0:
        return transfers, endpoints
    current = transfers.take(transfers["iteration"] > since)
    gone = np.setdiff1d(_ends(rows), _ends(current))
    return current, np.setdiff1d(endpoints, gone)


def select_whole(transfers: Frame, unreported: Int) -> Frame:
    """Transfers between endpoints that nothing ties to `unreported` ones; all where there are none.

    Where a switch exports nothing, groups of its endpoints are seen in part, and look like other ones. Rails run the
    same program: those that were seen as a whole show it, and the grid has the others.
    """
    if not len(unreported) or not len(transfers):
        return transfers
    part = components(transfers["src"], transfers["dst"])
    broken = np.isin(transfers["src"], unreported) | np.isin(transfers["dst"], unreported)
    whole = ~np.isin(part, part[broken])
    return transfers.take(whole) if whole.any() else transfers


def _ends(transfers: Frame) -> Int:
    return np.union1d(transfers["src"], transfers["dst"])
