"""How reconstruct compiles its loops over rows and streams: numba, cached on disk, without the GIL.

Unlike the kernels of capture, these allocate: what one stream needs is small beside what is done with it. They guard
every length themselves and give equal results uncompiled (NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

import numba
import numpy as np

from capture.compiled import package_stamp
from datamodel.streams import Int

P = ParamSpec("P")
R = TypeVar("R")
# One value serves every row: its index is 0, whatever the row's.
ONE_FOR_ALL = 0
ONE_EACH = -1


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` compiled on first call and cached on disk; compiled anew when any module of this package changes."""
    try:
        dispatcher = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to keep it in may be written; then it is compiled in every process
        dispatcher = numba.njit(nogil=True)(function)
    index = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if index is not None:
        # numba looks at the function's own file only, but compiles in what it calls from others of the package.
        index._source_stamp = package_stamp(Path(__file__).parent)  # noqa: SLF001
    return cast("Callable[P, R]", dispatcher)


def flat(column: Int) -> tuple[Int, int]:
    """A column as kernels take it and the mask for its index; a column that is a view of one value stays one value.

    Row i is at `column[i & mask]`.
    """
    constant = len(column) > 0 and column.strides == (0,)
    return whole(column[:1] if constant else column), ONE_FOR_ALL if constant else ONE_EACH


def whole(column: Int) -> Int:
    """A column as kernels take it, always of one type whatever it came from: contiguous and read-only."""
    values = np.ascontiguousarray(column).view()
    values.flags.writeable = False
    return values
