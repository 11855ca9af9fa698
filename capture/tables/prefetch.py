"""Bytes that will be read soon, asked of memory before they are needed.

Datagrams lie one behind the other, but decoding skips through them, which the processor cannot foresee: without
asking, a seventh of the time for an sFlow sample was spent on waiting for its first bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from capture.tables.key_table import Words
from capture.tables.read_buffer import Bytes

LINE_BYTES = 64  # that come at once

Compiler = Any  # numba's and LLVM's objects, which have no static types

_INLINE: Compiler = {"nogil": True, "_nrt": False, "forceinline": True}  # as `capture.jit` has it
_READ, _KEEP, _DATA = 0, 3, 1  # arguments of `llvm.prefetch`: for reading, into all caches, no code


def prefetch(data: Bytes | Words, at: int) -> None:
    """Ask for the line of memory with element `at` of `data`; nothing waits for it. Uncompiled it does nothing."""


@intrinsic
def _asked(_context: Compiler, data: Compiler, at: Compiler) -> tuple[Compiler, Callable[..., Compiler]]:
    def code(context: Compiler, builder: Compiler, signature: Compiler, arguments: Compiler) -> Compiler:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        ir, word = cgutils.ir, cgutils.int32_t  # type: ignore[attr-defined]  # what numba builds LLVM's code with
        place = builder.gep(array.data, [arguments[1]])
        kind = ir.FunctionType(ir.VoidType(), [place.type, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(function, [place, word(_READ), word(_KEEP), word(_DATA)])
        return context.get_dummy_value()

    return types.void(data, at), code


@overload(prefetch, strict=False, jit_options=_INLINE)
def _compiled(data: Compiler, at: Compiler) -> Compiler:  # noqa: ARG001 - numba goes by the names
    def ask(data: Bytes | Words, at: int) -> None:
        _asked(data, at)  # type: ignore[call-arg]  # numba adds the first argument

    return ask
