"""Tables under construction: columns side by side in one record, which a kernel takes as one argument.

Passing every column to a kernel on its own costs more than filling them. A block travels as an array of one record:
numba asks NumPy to describe a bare record field by field, each time it is handed to a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from datamodel.frame import Array, Schema

Blocks = npt.NDArray[np.void]  # of one block
Block = Any  # the record in it; numba and NumPy have no static type for its fields in common


BLOCK_ROWS = 8192 + 72  # of flow records, where there is no reason for another number


class BlockWriter:
    """Blocks of some columns of a schema, one after the other."""

    def __init__(self, schema: Schema, columns: Sequence[str], rows: int) -> None:
        """Begin with a block that has room for `rows` rows.

        A power of two of them would make columns lie so far apart that they evict each other from the cache.
        """
        dtypes = {c.name: c.dtype for c in schema}
        self._rows = rows
        self._type = np.dtype([(name, dtypes[name], (rows,)) for name in columns])
        self._places = [(name, kind.base, at) for name, (kind, at, *_) in (self._type.fields or {}).items()]
        self._blocks: Blocks | None = None

    @property
    def blocks(self) -> Blocks:
        """What a kernel fills, shape (1,): `blocks[0]["bytes"][row]`. Values not written yet mean nothing.

        Memory is asked for late: where the block before was let go meanwhile it is that one's, still in the cache.
        """
        if self._blocks is None:
            self._blocks = np.empty(1, self._type)
        return self._blocks

    def taken(self, rows: int) -> dict[str, Array]:
        """The columns of the first `rows` rows; the block can be refilled.

        A block that is mostly full is given away, and another one takes its place.
        """
        memory = self.blocks.view(np.uint8)
        # Half of what naming the field and taking its first rows takes, which a decoder does every millisecond.
        columns: dict[str, Array] = {name: np.ndarray((rows,), kind, memory, at) for name, kind, at in self._places}
        if 2 * rows < self._rows:
            columns = {name: column.copy() for name, column in columns.items()}
        else:
            self._blocks = None
        return columns
