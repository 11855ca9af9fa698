"""Tables under construction: a schema's columns side by side in one record that a kernel takes as one argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from datamodel.frame import Frame, Schema

Block = Any  # one record; numba and NumPy have no static type for its fields in common

# More than the largest datagram has samples, and no power of two, which would make columns evict each other.
ROWS = 4096 + 72


def block_of(schema: Schema) -> Block:
    """An empty block of `ROWS` rows."""
    return np.zeros(1, np.dtype([(c.name, c.dtype, (ROWS,)) for c in schema]))[0]


def frame_of(schema: Schema, block: Block, rows: int) -> Frame:
    """The first `rows` rows as a frame of their own; the block can be filled anew."""
    return Frame(schema, {c.name: block[c.name][:rows].copy() for c in schema})
