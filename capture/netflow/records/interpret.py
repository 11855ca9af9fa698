"""The matrix to rows of `FLOWS`: what loaded values mean."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide
from capture.netflow.records.flow_times import times
from capture.netflow.records.irregular_records import rows_without_section, section_rows
from capture.netflow.records.record_rates import rates
from capture.netflow.wire.netflow_layout import (
    BYTES,
    BYTES_OUT,
    COUNTS_LAYER2,
    COUNTS_TOTALS,
    DESTINATION,
    DIRECTION,
    DST_PORT,
    IN_IF,
    OUT_IF,
    PACKETS,
    PACKETS_OUT,
    PROTO,
    SAMPLER,
    SECTIONED,
    SOURCE,
    SRC_PORT,
    TCP_FLAGS,
    TOS,
    Row,
    Tables,
    Words,
)
from capture.netflow.wire.reasons import HUGE_COUNT, LAYER2, TOTALS
from capture.tables.address_book import Book, code_of

_UNKNOWN_DIRECTION = 255
_MASK8, _MASK16, _MASK63, _ALL_BITS = 0xFF, 0xFFFF, 0x7FFFFFFFFFFFFFFF, -1

# What is written in every row.
FLOW_COLUMNS = (
    "time_received_ns", "observation_domain_id", "sampler_address", "src_addr", "dst_addr", "src_port", "dst_port",
    "proto", "ip_tos", "tcp_flags", "in_if", "out_if", "bytes", "packets", "flow_direction", "time_flow_start_ns",
    "time_flow_end_ns", "time_uncertainty_ns", "sampling_rate",
)  # fmt: skip

Column = npt.NDArray[np.integer]


@jit
def interpret(tables: Tables, template: Row, present: int, rows: int) -> None:
    """Turn the first `rows` columns of the matrix into as many rows of the block, which has room for them.

    Args:
        tables: with the matrix, the block and, in `progress`, all there is to know of the datagram.
        template: what the columns were loaded by.
        present: bit t: target t of the matrix is filled.
        rows: how many.
    """
    progress, matrix, block = tables.progress[0], tables.matrix, tables.blocks[0]
    source = tables.sources[progress["exporter"]]
    row = wide(progress["rows"])
    fill(block["time_received_ns"], row, rows, progress["received_ns"])
    fill(block["observation_domain_id"], row, rows, progress["domain"])
    fill(block["sampler_address"], row, rows, progress["sampler"])
    if present >> SAMPLER & 1:
        named_samplers(tables.book, matrix, block["sampler_address"], row, rows)
    addresses(tables.book, matrix[SOURCE], matrix[SOURCE + 1], block["src_addr"], row, rows)
    addresses(tables.book, matrix[DESTINATION], matrix[DESTINATION + 1], block["dst_addr"], row, rows)
    copy(matrix[SRC_PORT], present >> SRC_PORT & 1, _MASK16, block["src_port"], row, rows)
    copy(matrix[DST_PORT], present >> DST_PORT & 1, _MASK16, block["dst_port"], row, rows)
    copy(matrix[PROTO], present >> PROTO & 1, _MASK8, block["proto"], row, rows)
    copy(matrix[TOS], present >> TOS & 1, _MASK8, block["ip_tos"], row, rows)
    copy(matrix[TCP_FLAGS], present >> TCP_FLAGS & 1, _MASK16, block["tcp_flags"], row, rows)
    copy(matrix[IN_IF], present >> IN_IF & 1, _MASK63, block["in_if"], row, rows)
    copy(matrix[OUT_IF], present >> OUT_IF & 1, _MASK63, block["out_if"], row, rows)
    if present >> BYTES_OUT & 1:
        fill_in(matrix[BYTES], matrix[BYTES_OUT], rows)
    if present >> PACKETS_OUT & 1:
        fill_in(matrix[PACKETS], matrix[PACKETS_OUT], rows)
    counts(source, matrix[BYTES], present >> BYTES & 1, block["bytes"], row, rows)
    counts(source, matrix[PACKETS], present >> PACKETS & 1, block["packets"], row, rows)
    directions(matrix[DIRECTION], present >> DIRECTION & 1, block["flow_direction"], row, rows)
    times(progress, source, tables.sources[source["agent"]], matrix, block, template, present, rows)
    rates(progress, source, tables.samplers, matrix, block, present, rows)
    if template["flags"] & SECTIONED:
        section_rows(tables.packets, tables.sections[0], row, rows)
    elif progress["sectioned"]:
        rows_without_section(tables.sections[0], row, rows)
    if template["flags"] & COUNTS_TOTALS:
        source["doubts"][TOTALS] += rows
    if template["flags"] & COUNTS_LAYER2:
        source["doubts"][LAYER2] += rows
    progress["rows"] = row + rows
    tables.exporters[progress["exporter"]]["records"] += rows


@jit
def fill(out: Column, row: int, rows: int, value: int) -> None:
    """Write one value into `rows` rows."""
    for i in range(row, row + rows):
        out[i] = value


@jit
def copy(column: Words, there: int, mask: int, out: Column, row: int, rows: int) -> None:
    """Write loaded values, as many bits of them as `mask` has; 0 where none were loaded."""
    if there:
        for i in range(rows):
            out[row + i] = column[i] & mask
    else:
        fill(out, row, rows, 0)


@jit
def fill_in(column: Words, other: Words, rows: int) -> None:
    """Take another column's values where this one has zeros."""
    for i in range(rows):
        column[i] = column[i] or other[i]


@jit
def counts(source: Row, column: Words, there: int, out: Column, row: int, rows: int) -> None:
    """Write counters; those too large for the column are set to 0 and counted."""
    copy(column, there, _ALL_BITS, out, row, rows)
    least = wide(0)
    for i in range(row, row + rows):
        least = min(least, out[i])
    if least < 0:
        for i in range(row, row + rows):
            if out[i] < 0:
                out[i] = 0
                source["doubts"][HUGE_COUNT] += 1


@jit
def directions(column: Words, there: int, out: Column, row: int, rows: int) -> None:
    """Write flowDirection: 0 ingress, 1 egress, anything else unknown."""
    if there:
        for i in range(rows):
            out[row + i] = column[i] if column[i] in (0, 1) else _UNKNOWN_DIRECTION
    else:
        fill(out, row, rows, _UNKNOWN_DIRECTION)


@jit
def addresses(book: Book, high: Words, low: Words, out: Column, row: int, rows: int) -> None:
    """Write the address codes of one end."""
    for i in range(rows):
        out[row + i] = code_of(book, high[i], low[i])


@jit
def named_samplers(book: Book, matrix: Words, out: Column, row: int, rows: int) -> None:
    """Write the exporters that records name (exporterIPv4Address, exporterIPv6Address), unless they are zero."""
    for i in range(rows):
        high, low = matrix[SAMPLER, i], matrix[SAMPLER + 1, i]
        if high or low & 0xFFFFFFFF:
            out[row + i] = code_of(book, high, low)
