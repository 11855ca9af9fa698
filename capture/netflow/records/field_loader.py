"""Data records to the matrix: what the wire says, target by target, nothing interpreted.

Records of one length are loaded a field at a time over all of them; others, and those with peculiarities, one by one.
"""

from __future__ import annotations

from capture.jit import jit, wide
from capture.netflow.wire.netflow_layout import (
    GATHERED,
    IPV4_ADDRESS,
    IPV6_ADDRESS,
    PLACE,
    PROBABILITY,
    SKIP,
    VARIABLE,
    Row,
    Table,
    Words,
)
from capture.packets.headers import MAPPED, be16, be32, be64
from capture.tables.read_buffer import Bytes

BEYOND = -1  # answer of `load_record`: the record is longer than its set


@jit
def load_columns(
    data: Bytes, at: int, records: int, record_bytes: int, fields: Table, first: int, count: int, matrix: Words
) -> None:
    """Load fields `first` to `first + count` of `records` records that begin at `at` into columns 0 to `records`."""
    for k in range(first, first + count):
        field = fields[k]
        column = matrix[field["target"]]
        place, length, how = at + field["offset"], field["length"], field["how"]
        if how == IPV4_ADDRESS:
            for i in range(records):
                column[i] = 0
            load_ipv4(data, place, records, record_bytes, matrix[field["target"] + 1])
        elif how == IPV6_ADDRESS:
            load_8(data, place, records, record_bytes, column)
            load_8(data, place + 8, records, record_bytes, matrix[field["target"] + 1])
        elif how == GATHERED:
            gather(data, place, length, records, record_bytes, column)
        elif how == PROBABILITY:
            load_probability(data, place, length, records, record_bytes, column)
        elif length == 4:
            load_4(data, place, records, record_bytes, column)
        elif length == 8:
            load_8(data, place, records, record_bytes, column)
        elif length == 2:
            load_2(data, place, records, record_bytes, column)
        else:
            for i in range(records):
                column[i] = unsigned(data, place + i * record_bytes, length)


@jit
def load_2(data: Bytes, at: int, records: int, stride: int, column: Words) -> None:
    """Load 16-bit integers that lie `stride` bytes apart."""
    for i in range(records):
        column[i] = be16(data, at + i * stride)


@jit
def load_4(data: Bytes, at: int, records: int, stride: int, column: Words) -> None:
    """Load 32-bit integers that lie `stride` bytes apart."""
    for i in range(records):
        column[i] = be32(data, at + i * stride)


@jit
def load_8(data: Bytes, at: int, records: int, stride: int, column: Words) -> None:
    """Load 64-bit integers that lie `stride` bytes apart; those from 2^63 on become negative."""
    for i in range(records):
        column[i] = be64(data, at + i * stride)


@jit
def load_ipv4(data: Bytes, at: int, records: int, stride: int, column: Words) -> None:
    """Load IPv4 addresses as the low words of IPv4-mapped ones."""
    for i in range(records):
        column[i] = MAPPED | be32(data, at + i * stride)


@jit
def gather(data: Bytes, at: int, length: int, records: int, stride: int, column: Words) -> None:
    """Load integers that are not zero over what is in the column."""
    for i in range(records):
        value = unsigned(data, at + i * stride, length)
        column[i] = value or column[i]


@jit
def load_probability(data: Bytes, at: int, length: int, records: int, stride: int, column: Words) -> None:
    """Load probabilities that lie `stride` bytes apart."""
    for i in range(records):
        column[i] = probability(data, at + i * stride, length)


@jit
def unsigned(data: Bytes, at: int, length: int) -> int:
    """The big-endian integer of `length` bytes at `at`, its last 64 bits; 0 where there are no bytes."""
    value = wide(0)
    for i in range(length):
        value = value << 8 | wide(data[at + i])
    return wide(value)


@jit
def probability(data: Bytes, at: int, length: int) -> int:
    """The IEEE 754 number of 4 or 8 bytes at `at` in parts of CERTAIN; 0 where it is not above 0 and at most 1."""
    bits = be64(data, at) if length == 8 else wide(0)
    exponent, digits, places = bits >> 52, bits & 0xFFFFFFFFFFFFF, wide(52)
    bias = wide(1023)
    if length == 4:
        bits = be32(data, at)
        exponent, digits, places, bias = bits >> 23, bits & 0x7FFFFF, wide(23), wide(127)
    if exponent <= 0 or exponent > bias or (exponent == bias and digits):  # zero, negative, or more than 1
        return wide(0)
    shift = 62 - places - (bias - exponent)
    value = digits | 1 << places
    if shift >= 0:
        return wide(value << shift)
    return wide(value >> min(-shift, wide(63)))


@jit
def load_record(data: Bytes, at: int, end: int, template: Row, fields: Table, matrix: Words, column: int) -> int:
    """Load the record at `at`, which ends at `end` at the latest, into one column; where it ends, or BEYOND."""
    if not template["variable"]:
        stop = at + wide(template["record_bytes"])
        if stop > end:
            return BEYOND
        for k in range(template["first_field"], template["first_field"] + template["fields"]):
            load_field(data, at + fields[k]["offset"], fields[k]["length"], fields[k], matrix, column)
        return stop
    for k in range(template["first_field"], template["first_field"] + template["fields"]):
        length = wide(fields[k]["length"])
        if length == VARIABLE:  # RFC 7011 section 7: one byte, or 255 and two bytes
            if at + 1 > end:
                return BEYOND
            length = wide(data[at])
            at += 1
            if length == 255:
                if at + 2 > end:
                    return BEYOND
                length = be16(data, at)
                at += 2
        if at + length > end:
            return BEYOND
        if fields[k]["target"] != SKIP:
            load_field(data, at, length, fields[k], matrix, column)
        at += length
    return at


@jit
def load_field(data: Bytes, at: int, length: int, field: Row, matrix: Words, column: int) -> None:
    """Load one field of `length` bytes, all of them at hand, into one column."""
    target, how = field["target"], field["how"]
    if how == IPV4_ADDRESS:
        matrix[target, column] = 0
        matrix[target + 1, column] = MAPPED | be32(data, at)
    elif how == IPV6_ADDRESS:
        matrix[target, column] = be64(data, at)
        matrix[target + 1, column] = be64(data, at + 8)
    elif how == PLACE:
        matrix[target, column] = at
        matrix[target + 1, column] = length
    elif how == PROBABILITY:
        matrix[target, column] = probability(data, at, length)
    else:
        value = unsigned(data, at, length) if length <= 8 else wide(0)
        if how != GATHERED or value:
            matrix[target, column] = value
