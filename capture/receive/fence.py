"""A memory fence for kernels that share memory with another process."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, overload


def fence() -> None:
    """All writes before it are seen by every processor before any write behind it (and reads likewise).

    x86 keeps that order among writes by itself, ARM does not. Uncompiled it does nothing: the interpreter is too slow
    to be overtaken, and such runs are for tests.
    """


@intrinsic
def _fenced(_typing: Any) -> Any:  # noqa: ANN401 - numba's own protocol
    def emit(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:  # noqa: ANN401
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), emit


@overload(fence)
def _compiled_fence() -> Any:  # noqa: ANN401
    def emitted() -> None:
        _fenced()  # type: ignore[call-arg]  # numba passes the typing context itself

    return emitted
