"""Protocol buffers on the wire: varints and fields, bounds checked, without an opinion on any message.

Source: protobuf.dev, "Encoding". Groups (wire types 3 and 4) are obsolete since proto2 and count as malformed.
"""

from __future__ import annotations

from capture.jit import jit, wide
from capture.tables.read_buffer import Bytes

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
LONGEST_VARINT_BYTES = 10

MALFORMED = -1  # instead of an offset


@jit
def varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The varint at `at`, all of it before `end`: its low 64 bits as a signed number, and the offset behind it.

    The offset is MALFORMED where the varint is cut or longer than ten bytes.
    """
    value = wide(0)
    for i in range(min(end - at, LONGEST_VARINT_BYTES)):
        byte = wide(data[at + i])
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, wide(at + i + 1)
    return value, wide(MALFORMED)


@jit
def field_value(data: Bytes, at: int, end: int, wire_type: int) -> tuple[int, int]:
    """The value at `at`, behind its tag, and the offset behind it.

    The value is that of a varint, the length of a string, and 0 for others, which no FlowMessage has. The offset is
    MALFORMED where the value reaches beyond `end` or the wire type is none.
    """
    if wire_type in (FIXED64, FIXED32):
        behind = at + (8 if wire_type == FIXED64 else 4)
        return wide(0), wide(behind if behind <= end else MALFORMED)
    value, behind = varint(data, at, end)
    if wire_type == VARINT:
        return value, behind
    if wire_type != LENGTH or behind == MALFORMED or value < 0 or value > end - behind:
        return value, wide(MALFORMED)
    return value, behind + value
