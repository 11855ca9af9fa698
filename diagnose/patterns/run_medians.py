"""Medians of runs of a column, many of them and most of few values."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.row_order import sorted_order
from reconstruct.jit import compiled
from reconstruct.numeric.row_runs import run_starts


def run_medians(values: Float, first: Int) -> Float:
    """(runs,) median of each run; all are finite.

    Args:
        values: (n,).
        first: (runs,) row at which each run begins, from 0 on; the next one ends it.
    """
    return _medians(np.ascontiguousarray(values), np.append(first, len(values)))


def medians_of_peers(values: Float, group: Int) -> Float:
    """(n,) median of each value's group; all are finite.

    Args:
        values: (n,).
        group: (n,) numbers of groups.
    """
    order = sorted_order([group])
    begins = run_starts(group[order])
    found = np.empty(len(values))
    found[order] = run_medians(values[order], np.flatnonzero(begins))[np.cumsum(begins) - 1]
    return found


@compiled
def _medians(values: Float, begins: Int) -> Float:
    found, few = np.empty(len(begins) - 1), np.empty(64)
    for run in range(len(found)):
        own = values[begins[run] : begins[run + 1]]
        count = len(own)
        if count > len(few):  # fewer are sorted by insertion
            found[run] = np.median(own)
            continue
        for n in range(count):
            place = n
            while place > 0 and few[place - 1] > own[n]:
                few[place] = few[place - 1]
                place -= 1
            few[place] = own[n]
        found[run] = (few[(count - 1) // 2] + few[count // 2]) / 2
    return found
