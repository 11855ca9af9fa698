"""Rows of a table as text that JSON holds: compressed, since tables of many exporters consist of zeros mostly."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
import zstandard

_LEVEL = 1
_MOST_BYTES = 1 << 30  # the largest table, of 65,536 exporters, takes a fifth of it


def pack_rows(rows: npt.NDArray[Any]) -> str:
    """Pack the rows, for `unpack_rows`."""
    content = np.ascontiguousarray(rows).data.cast("B") if len(rows) else b""
    return base64.b64encode(zstandard.ZstdCompressor(level=_LEVEL).compress(content)).decode()


def unpack_rows(text: str, kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """The rows of a type that were packed; they cannot be written to.

    Raises:
        ValueError: the text is damaged, or holds rows of another type.
    """
    try:
        content = zstandard.ZstdDecompressor().decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    return np.frombuffer(content, kind)
