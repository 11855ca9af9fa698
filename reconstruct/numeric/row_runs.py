"""Runs of rows that agree: where each begins, and the place of every row in its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from datamodel.reconstructed.streams import Bool, Int


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
