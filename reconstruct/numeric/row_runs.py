"""Runs of rows that agree, where each begins, and the place of every row in its own; runs of values that are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from datamodel.reconstructed.streams import Bool, Float, Int


def run_starts(*columns: NDArray[Any]) -> Bool:
    """(n,) whether a row differs from the one before it in any of some (n,) columns; the first row does."""
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = False
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def place_within(*columns: NDArray[Any]) -> Int:
    """(n,) how many rows before each belong to the same run."""
    first = np.flatnonzero(run_starts(*columns))
    count = len(columns[0])
    return np.arange(count) - np.repeat(first, np.diff(np.append(first, count)))


def runs(values: Float, step_share: float | Float, step: float = 0.0) -> Int:
    """(n,) number of the run each value is in: the next larger one exceeds it by at most `step` and `step_share`."""
    order = np.argsort(values, kind="stable")
    ascending, share = values[order], np.broadcast_to(step_share, len(values))[order]
    found = np.empty(len(values), np.int64)
    found[order] = np.cumsum(np.diff(ascending, prepend=ascending[:1]) > step + share * np.abs(ascending))
    return found
