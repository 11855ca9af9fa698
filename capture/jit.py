"""How the house compiles a hot loop: numba, cached on disk, without the GIL, and visible to the type checker.

Kernels guard every length themselves: compiled code has no bounds checks, and an unchecked read returns garbage in
silence. They also run uncompiled (NUMBA_DISABLE_JIT=1) with equal results, which is how they are fuzzed; hence
multi-byte fields are assembled in 64 bits and never in uint8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, SupportsInt, TypeVar, cast

import numba
import numpy as np

from capture.compiled_files import keep_compiled

P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """`function` compiled on first call and cached on disk; it releases the GIL while it runs.

    Literal arguments make a version of their own; `wide` spares that where speed does not need it.

    Kernels work in arrays they are given and allocate none, so they do without reference counting (`_nrt`): counting
    every array handed from one kernel to the next costs half of the running and half of the compilation time.
    What a kernel calls becomes part of it (`forceinline`): a record passes through dozens of small functions, and an
    array handed to one costs seven words a call.
    """
    return _compiled(function, inline=True)


def outlined(function: Callable[P, R]) -> Callable[P, R]:
    """Like `jit`, but called: for what many kernels call, or rarely, and is long to compile."""
    return _compiled(function, inline=False)


def _compiled(function: Callable[P, R], *, inline: bool) -> Callable[P, R]:
    options: dict[str, Any] = {"nogil": True, "_nrt": False, "forceinline": inline}
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in may be written; then it is compiled in every process
        dispatcher = numba.njit(**options)(function)
    keep_compiled(dispatcher, package_stamp(_package(function)))
    return cast("Callable[P, R]", dispatcher)


def _package(function: Callable[..., object]) -> Path:
    """Folder of the top-level package that `function` is defined in; its own folder where it is in none."""
    folder = Path(function.__code__.co_filename).parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return folder


@lru_cache
def package_stamp(folder: Path) -> str:
    """Hash the Python files in and below `folder`; compiled code with another hash is compiled again."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


@jit
def wide(value: SupportsInt) -> int:
    """`value` as a signed 64-bit integer, so that arithmetic neither wraps as uint8 nor turns into floating point."""
    return np.int64(value)  # type: ignore[return-value]  # to the type checker a 64-bit integer is an int
