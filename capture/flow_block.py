"""Flow records under construction: one array a column, side by side in one record that a kernel takes as one argument.

Passing every column to a kernel on its own costs more than filling them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from datamodel.flows import FLOWS
from datamodel.frame import Frame

# Not a power of two: columns whose distance is a multiple of 4096 bytes would evict each other from the cache.
BLOCK_ROWS = 8192 + 72

FlowRows = Any  # one FLOW_BLOCK record; numba and NumPy have no static type for its fields in common

FLOW_BLOCK = np.dtype([(c.name, "u1" if c.dtype == "?" else c.dtype, (BLOCK_ROWS,)) for c in FLOWS])


def flow_block() -> FlowRows:
    """A block whose columns all hold their defaults; a kernel writes `block["bytes"][row]` and leaves the rest."""
    blocks = np.zeros(1, FLOW_BLOCK)
    for column in FLOWS:
        blocks[0][column.name][:] = column.default
    return blocks[0]


def flow_frame(block: FlowRows, rows: int) -> Frame:
    """The first `rows` rows as a frame of their own; the block can be filled anew."""
    return Frame(FLOWS, {c.name: block[c.name][:rows].astype(c.dtype, copy=True) for c in FLOWS})
