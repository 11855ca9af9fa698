"""NumPy columns as Arrow arrays and the other way around.

`pyarrow.array` and `to_numpy` import pandas where it is installed, which takes as long as a process takes to start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datamodel.frame import Array


def to_arrow(values: Array, known: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Convert numbers or truths to Arrow's type of their dtype; those that are not `known` become null."""
    content = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    validity = None if known is None or known.all() else _bits(known)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, content])


def texts_to_arrow(texts: Iterable[str]) -> pa.StringArray:
    """Convert texts that are all there."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def to_numpy(column: pa.ChunkedArray) -> Array:
    """Copy a column of numbers or truths; what `to_numpy` makes of it where values are missing."""
    kind = column.type
    parts = [chunk for chunk in column.chunks if len(chunk)]
    if not parts or column.null_count:
        return cast("Array", column.to_numpy())
    if pa.types.is_boolean(kind):
        return np.concatenate([truths_to_numpy(part) for part in parts])
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.concatenate([np.from_dlpack(part) for part in parts])
    return cast("Array", column.to_numpy())


def codes_to_numpy(indices: pa.Array, missing: int) -> npt.NDArray[np.int64]:
    """Copy the indices of a dictionary array; those that are missing become a number of their own."""
    if not len(indices):
        return np.empty(0, np.int64)
    stored = pa.Array.from_buffers(indices.type, len(indices), [None, indices.buffers()[1]], offset=indices.offset)
    return np.where(truths_to_numpy(indices.is_valid()), np.from_dlpack(stored), missing).astype(np.int64, copy=False)


def truths_to_numpy(truths: pa.Array) -> npt.NDArray[np.bool_]:
    """Copy truths that are all there."""
    return np.from_dlpack(truths.cast(pa.uint8())).astype(np.bool_) if len(truths) else np.empty(0, np.bool_)


def _bits(truths: Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths.astype(np.bool_, copy=False), bitorder="little"))
