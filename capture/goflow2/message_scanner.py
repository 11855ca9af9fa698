"""Finds messages in bytes and has them decoded: length-prefixed ones in a stream, and ones whose bounds are known."""

from __future__ import annotations

from capture.goflow2.flow_message import FINE, MALFORMED, Ints, flow_row, is_flow_message
from capture.goflow2.protobuf import MALFORMED as BROKEN
from capture.goflow2.protobuf import varint
from capture.jit import jit, wide
from capture.tables.address_book import Words
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import BLOCK_ROWS, Blocks

LINE_FEED = 0x0A
LONGEST_MESSAGE_BYTES = 1 << 16  # real ones have some hundreds; a longer one is taken for damage
LONGEST_SOUGHT_BYTES = 1 << 10  # the same for one that ends a search, so that no bytes make a search long
LONGEST_PREFIX_BYTES = 3

# What a scan leaves in its `state`: rows written; offset of the first damage met, -1 where there was none; whether it
# stopped inside a search for a sound message; whether the last message is cut.
ROWS, DAMAGE, SEARCHING, CUT, STATE = 0, 1, 2, 3, 4


@jit
def prefixed(data: Bytes, at: int, end: int, longest: int) -> tuple[int, int]:
    """Length and offset of the message whose prefix is at `at`.

    The length is 0 where there is no such message, -1 where it goes beyond `end`.
    """
    length, first = varint(data, at, min(end, at + LONGEST_PREFIX_BYTES))
    if first == BROKEN:
        return wide(-1 if end < at + LONGEST_PREFIX_BYTES else 0), first
    if length <= 0 or length > longest:
        return wide(0), first
    return (wide(-1) if length > end - first else length), first


@jit
def sound(data: Bytes, at: int, end: int, longest: int, known: Ints, values: Ints, lengths: Ints) -> bool:
    """Whether a whole length-prefixed FlowMessage stands at `at`, beyond reasonable doubt."""
    length, first = prefixed(data, at, end, longest)
    return length > 0 and is_flow_message(data, first, first + length, known, values, lengths)


@jit
def behind_line_feeds(data: Bytes, at: int, end: int) -> int:
    """Offset of the first byte at or behind `at` that is no line feed."""
    while at < end and data[at] == LINE_FEED:
        at += 1
    return at


@jit
def sought(data: Bytes, at: int, end: int, known: Ints, values: Ints, lengths: Ints) -> int:
    """Offset of the first sound message at or behind `at`; `end` where there is none."""
    while at < end and not sound(data, at, end, LONGEST_SOUGHT_BYTES, known, values, lengths):
        at += 1
    return at


@jit
def scan(
    data: Bytes,
    start: int,
    end: int,
    last: bool,
    known: Ints,
    values: Ints,
    lengths: Ints,
    notes: Ints,
    rejected: Ints,
    words: Words,
    slots: Words,
    used: Words,
    blocks: Blocks,
    state: Ints,
) -> int:
    """Decode length-prefixed messages until the block is full or the bytes give out; the offset of what is left.

    A message that is malformed is left out; where what follows it is not sound either, its length is not believed
    and the next sound message is searched from its second byte on.

    Args:
        data: bytes.
        start: offset of the first prefix.
        end: offset one past the bytes at hand.
        last: whether nothing follows them.
        known: `KNOWN`.
        values: scratch, shape (FIELDS,).
        lengths: scratch, shape (FIELDS,).
        notes: shape (NOTES,); see `flow_row`.
        rejected: shape (len(REASONS),); counts what gave no row.
        words: the address book's addresses, with room for three a row.
        slots: its hash table.
        used: how many it holds.
        blocks: receives the rows.
        state: shape (STATE,); what one call leaves for the next and for the caller.
    """
    at, rows = start, wide(0)
    state[DAMAGE] = -1
    while rows < BLOCK_ROWS:
        at = behind_line_feeds(data, at, end)
        if state[SEARCHING]:
            # What may be cut by the end of the bytes at hand is looked at again when there are more.
            found = sought(data, at, end, known, values, lengths)
            state[SEARCHING] = found == end and not last
            at = found if found < end or last else max(at, end - LONGEST_SOUGHT_BYTES - LONGEST_PREFIX_BYTES)
        if at >= end or state[SEARCHING]:
            break
        length, first = prefixed(data, at, end, LONGEST_MESSAGE_BYTES)
        if length < 0 and not last:
            break
        behind = at + 1
        if length > 0:
            behind = behind_line_feeds(data, first + length, end)
            reason = flow_row(
                data, first, first + length, known, values, lengths, notes, words, slots, used, blocks[0], rows
            )
            if reason == FINE:
                rows += 1
            if reason != MALFORMED:
                rejected[reason] += reason != FINE
                at = behind
                continue
            if behind == end or sound(data, behind, end, LONGEST_MESSAGE_BYTES, known, values, lengths):
                state[DAMAGE] = at if state[DAMAGE] < 0 else state[DAMAGE]
                rejected[MALFORMED] += 1
                at = behind
                continue
        elif length < 0 and sought(data, at + 1, end, known, values, lengths) == end:
            state[CUT] = 1
            at = end
            break
        state[DAMAGE] = at if state[DAMAGE] < 0 else state[DAMAGE]
        rejected[MALFORMED] += 1
        state[SEARCHING] = 1
        at += 1
    state[ROWS] = rows
    return at


@jit
def decode_each(
    data: Bytes,
    bounds: Ints,
    has_prefix: bool,
    known: Ints,
    values: Ints,
    lengths: Ints,
    notes: Ints,
    rejected: Ints,
    words: Words,
    slots: Words,
    used: Words,
    blocks: Blocks,
) -> int:
    """Decode messages whose bounds are known; the number of rows.

    Args:
        data: bytes.
        bounds: shape (n + 1,), n at most BLOCK_ROWS; message i lies between bounds[i] and bounds[i + 1].
        has_prefix: whether each begins with its length; one whose length is not its size is malformed.
        known: `KNOWN`.
        values: scratch, shape (FIELDS,).
        lengths: scratch, shape (FIELDS,).
        notes: shape (NOTES,); see `flow_row`.
        rejected: shape (len(REASONS),); counts what gave no row.
        words: the address book's addresses, with room for three a row.
        slots: its hash table.
        used: how many it holds.
        blocks: receives the rows.
    """
    rows = wide(0)
    for i in range(len(bounds) - 1):
        at, end = bounds[i], bounds[i + 1]
        if has_prefix:
            length, at = prefixed(data, at, end, LONGEST_MESSAGE_BYTES)
            if length <= 0 or at + length != end:
                rejected[MALFORMED] += 1
                continue
        reason = flow_row(data, at, end, known, values, lengths, notes, words, slots, used, blocks[0], rows)
        rows += reason == FINE
        rejected[reason] += reason != FINE
    return rows
