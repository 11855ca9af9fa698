"""How reconstruct compiles its loops over rows and streams: numba, cached on disk, without the GIL.

Unlike the kernels of capture, these allocate: what one stream needs is small beside what is done with it. They guard
every length themselves and give equal results uncompiled (NUMBA_DISABLE_JIT=1).
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np

from capture.compiled_files import keep_compiled
from datamodel.reconstructed.streams import Int

IMPORT = re.compile(r"^from reconstruct\.([a-z_.]+) import", re.MULTILINE)
P = ParamSpec("P")
R = TypeVar("R")
# What is switched on for one thread is for all.
_ONE_AT_A_TIME = threading.RLock()
# One value serves every row: its index is 0, whatever the row's.
ONE_FOR_ALL = 0
ONE_EACH = -1


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` compiled on first call and cached on disk; compiled anew when it changes, or a module it uses."""
    try:
        dispatcher = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to keep it in may be written; then it is compiled in every process
        dispatcher = numba.njit(nogil=True)(function)
    keep_compiled(dispatcher, _stamp(Path(function.__code__.co_filename)))
    return cast("Callable[P, R]", dispatcher)


def always_compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` compiled, also where compiling is switched off: Python would take longer for it than for the rest.

    numba asks whether compiling is switched off when a function is decorated, and again, as it compiles it, for each of
    numba's own that it calls.
    """
    with _switched_on():
        dispatcher = cast("Any", compiled(function))
    compile_for = dispatcher.compile

    def compile_now(types: object) -> object:
        with _switched_on():
            return compile_for(types)

    dispatcher.compile = compile_now
    return cast("Callable[P, R]", dispatcher)


@contextmanager
def _switched_on() -> Iterator[None]:
    config: Any = numba.config  # its names are made at run time
    with _ONE_AT_A_TIME:
        switched_off, config.DISABLE_JIT = config.DISABLE_JIT, 0
        try:
            yield
        finally:
            config.DISABLE_JIT = switched_off


@lru_cache
def _stamp(file: Path) -> str:
    """What a module, and the modules of this package that it imports, say."""
    files, new = {file}, {file}
    while new:
        new = {one for f in new for one in _imported(f)} - files
        files |= new
    digest = hashlib.sha256()
    for one in sorted(files):
        digest.update(one.name.encode() + b"\0" + _content(one))
    return digest.hexdigest()


@lru_cache
def _content(file: Path) -> bytes:
    return file.read_bytes()


@lru_cache
def _imported(file: Path) -> frozenset[Path]:
    """The modules of this package that one of them imports."""
    names = IMPORT.findall(_content(file).decode())
    return frozenset(Path(__file__).parent / (name.replace(".", "/") + ".py") for name in names)


def to_kernel_column(column: Int) -> tuple[Int, int]:
    """A column as kernels take it and the mask for its index; a column that is a view of one value stays one value.

    Row i is at `column[i & mask]`.
    """
    constant = len(column) > 0 and column.strides == (0,)
    return to_contiguous(column[:1] if constant else column), ONE_FOR_ALL if constant else ONE_EACH


def to_contiguous(column: Int) -> Int:
    """A column as kernels take it, always of one type whatever it came from: contiguous and read-only."""
    values = np.ascontiguousarray(column).view()
    values.flags.writeable = False
    return values
