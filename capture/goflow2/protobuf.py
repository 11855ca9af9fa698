"""Protocol buffers on the wire: varints and fields, bounds checked, without an opinion on any message.

Source: protobuf.dev, "Encoding". Groups (wire types 3 and 4) are obsolete since proto2 and count as malformed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.compiled import compiled, wide
from capture.window import Bytes

Ints = npt.NDArray[np.int64]

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
LONGEST_VARINT_BYTES = 10

# Where `varint` leaves its results.
AT, VALUE = 0, 1


@compiled
def varint(data: Bytes, at: int, end: int, out: Ints) -> bool:
    """Read the varint at `at`, all of it before `end`; False where it is cut or longer than ten bytes.

    Args:
        data: bytes.
        at: offset of its first byte.
        end: offset one past the last byte that may be read.
        out: shape (2,); receives the offset behind the varint, and its low 64 bits as a signed number.
    """
    value = wide(0)
    for i in range(min(end - at, LONGEST_VARINT_BYTES)):
        byte = wide(data[at + i])
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            out[AT] = at + i + 1
            out[VALUE] = value
            return True
    return False


@compiled
def behind_value(data: Bytes, at: int, end: int, wire_type: int, out: Ints) -> bool:
    """Step over the value at `at`; False where it is malformed or reaches beyond `end`.

    Args:
        data: bytes.
        at: offset of the value, behind its tag.
        end: offset one past the message.
        wire_type: the tag's low three bits.
        out: shape (2,); receives the offset behind the value, and the value of a varint or the length of a string.
    """
    if wire_type == VARINT:
        return varint(data, at, end, out)
    if wire_type == LENGTH:
        if not varint(data, at, end, out):
            return False
        length = out[VALUE]
        if length < 0 or length > end - out[AT]:
            return False
        out[AT] += length
        return True
    size = 8 if wire_type == FIXED64 else 4 if wire_type == FIXED32 else -1
    out[AT] = at + size
    return size > 0 and at + size <= end
