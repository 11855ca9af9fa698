"""How the house compiles a hot loop: numba, cached on disk, without the GIL, and visible to the type checker.

Kernels guard every length themselves: compiled code has no bounds checks, and an unchecked read returns garbage in
silence. They also run uncompiled (NUMBA_DISABLE_JIT=1) with equal results, which is how they are fuzzed; hence
multi-byte fields are assembled in int64 and never in uint8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, SupportsInt, TypeVar, cast

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` compiled on first call and cached on disk; it releases the GIL while it runs."""
    return cast("Callable[P, R]", numba.njit(cache=True, nogil=True)(function))


@compiled
def wide(value: SupportsInt) -> int:
    """`value` as a signed 64-bit integer, so that arithmetic neither wraps as uint8 nor turns into floating point."""
    return np.int64(value)  # type: ignore[return-value] # to the type checker a 64-bit integer is an int
