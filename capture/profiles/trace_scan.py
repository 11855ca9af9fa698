"""Kernels that read Chrome trace JSON, event by event, from a window of a file into rows of numbers.

They skip what is not asked for without building it, so a file of any size needs a window of bounded size and the rows.
Text becomes a code of `Texts`' table; times become nanoseconds without passing through a float.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from capture.jit import jit

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

# Fields of a row, in order. Codes of texts are -1 where a field is missing, numbers `MISSING`.
FIELDS = ("ph", "name", "cat", "ts", "dur", "pid", "tid", "op", "group", "ranks", "dtype", "sent", "got", "seq", "size")
PH, NAME, CAT, TS, DUR, PID, TID, OP, GROUP, RANKS, DTYPE, SENT, GOT, SEQ, SIZE = range(len(FIELDS))
_ARGS = len(FIELDS)
MISSING = -(1 << 62)
# Keys of an event, then keys of its `args`, with the field that each fills.
_EVENT_KEYS = (
    ("ph", PH), ("name", NAME), ("cat", CAT), ("ts", TS), ("dur", DUR), ("pid", PID), ("tid", TID), ("args", _ARGS),
)  # fmt: skip
_ARGS_KEYS = (
    ("Collective name", OP), ("Process Group Name", GROUP), ("Process Group Ranks", RANKS), ("dtype", DTYPE),
    ("In msg nelems", SENT), ("Out msg nelems", GOT), ("Seq", SEQ), ("Group size", SIZE),
)  # fmt: skip

# What the state holds: where the window was read to, rows filled, texts and bytes of texts kept, why it stopped.
POSITION, ROWS, TEXTS, TEXT_BYTES, STATUS = range(5)
MORE, ROWS_FULL, TEXTS_FULL, END, BROKEN = range(5)

_HASH_MASK = (1 << 38) - 1
_PRIME = 16777619
_MOST_TENTH = (2**63 - 1) // 10 - 1
_QUOTE, _BACKSLASH, _COMMA, _COLON, _DOT, _MINUS, _PLUS = (ord(c) for c in '"\\,:.-+')
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST, _ZERO, _NINE, _E = (ord(c) for c in "{}[]09e")
_SPACES = (ord(" "), ord("\n"), ord("\r"), ord("\t"))
_TRACE_EVENTS = np.frombuffer(b"traceEvents", np.uint8)
_INCOMPLETE, _NOT_JSON, _NO_ROOM = -1, -2, -3


def _hash(text: str) -> int:
    value = 0
    for byte in text.encode():
        value = ((value ^ byte) * _PRIME) & _HASH_MASK
    return value


_WANTED = np.array([(_hash(key), len(key), field) for key, field in (*_EVENT_KEYS, *_ARGS_KEYS)], dtype=np.int64)
_OWN_KEYS = len(_EVENT_KEYS)


@dataclass(slots=True)
class Texts:
    """Every distinct text once: `data[offsets[n] : offsets[n + 1]]`, found by an open hash table of codes."""

    data: Bytes
    offsets: Ints
    hashes: Ints
    slots: Ints

    @classmethod
    def with_room(cls, texts: int, size: int) -> Texts:
        """An empty table."""
        slots = np.full(4 * texts, -1, dtype=np.int64)
        return cls(np.zeros(size, np.uint8), np.zeros(texts + 1, np.int64), np.zeros(texts, np.int64), slots)

    def doubled(self, count: int) -> Texts:
        """The same `count` texts in a table with twice the room."""
        new = Texts.with_room(2 * len(self.hashes), 2 * len(self.data))
        new.data[: len(self.data)], new.offsets[: count + 1] = self.data, self.offsets[: count + 1]
        new.hashes[:count] = self.hashes[:count]
        _fill_slots(new.slots, new.hashes, count)
        return new


@jit
def _fill_slots(slots: Ints, hashes: Ints, count: int) -> None:
    for code in range(count):
        slot = hashes[code] % len(slots)
        while slots[slot] >= 0:
            slot = (slot + 1) % len(slots)
        slots[slot] = code


@jit
def same_bytes(one: Bytes, one_begin: int, other: Bytes, other_begin: int, count: int) -> bool:
    """Whether two stretches hold the same."""
    for n in range(count):  # noqa: SIM110 - compiled code has no generators
        if one[one_begin + n] != other[other_begin + n]:
            return False
    return True


@jit
def find_events(data: Bytes, begin: int, end: int, found: Ints) -> None:
    """Where in the window the list of events begins: `found` becomes (its key's place, the place after its bracket).

    The second is -1 where the window ends before, -2 where there is no such list. A bare list has no key: the same
    place twice.
    """
    found[0] = found[1] = -1
    i = _after_spaces(data, begin, end)
    if i < end and data[i] == _OPEN_LIST:
        found[0], found[1] = i, i + 1
        return
    if i < end and data[i] != _OPEN:
        found[1] = -2
        return
    depth = 0
    while i < end:
        c = data[i]
        if c == _QUOTE:
            stop = _string_end(data, i + 1, end)
            if stop < 0:
                return
            if depth == 1 and _is_trace_events(data, i + 1, stop):
                after = _after_spaces(data, stop + 1, end)
                if after < end and data[after] == _COLON:
                    after = _after_spaces(data, after + 1, end)
                    if after >= end:
                        return
                    found[0], found[1] = i, (after + 1 if data[after] == _OPEN_LIST else -2)
                    return
            i = stop
        elif c in (_OPEN, _OPEN_LIST):
            depth += 1
        elif c in (_CLOSE, _CLOSE_LIST):
            depth -= 1
            if depth <= 0:
                found[1] = -2
                return
        i += 1


@jit
def _is_trace_events(data: Bytes, begin: int, end: int) -> bool:
    if end - begin != len(_TRACE_EVENTS):
        return False
    return same_bytes(data, begin, _TRACE_EVENTS, 0, end - begin)


@jit
def scan_events(
    data: Bytes, end: int, rows: Ints, text: Bytes, offsets: Ints, hashes: Ints, slots: Ints, state: Ints
) -> None:
    """Read complete events from `state[POSITION]` on, one row each, until the status says why it stopped.

    An event that does not end within the window, or finds no room, is read again from its begin by the next call.
    """
    i = state[POSITION]
    state[STATUS] = MORE
    while True:
        i = _after_spaces(data, i, end)
        if i >= end:
            break
        c = data[i]
        if c == _COMMA:
            i += 1
            continue
        if c == _CLOSE_LIST:
            state[STATUS] = END
            i += 1
            break
        if c != _OPEN:
            state[STATUS] = BROKEN
            break
        if state[ROWS] >= len(rows):
            state[STATUS] = ROWS_FULL
            break
        row = rows[state[ROWS]]
        after = _scan_event(data, i, end, row, text, offsets, hashes, slots, state)
        if after < 0:
            if after == _NOT_JSON:
                state[STATUS] = BROKEN
            elif after == _NO_ROOM:
                state[STATUS] = TEXTS_FULL
            break
        i = after
        if row[PH] == 88 and row[TS] != MISSING and row[DUR] != MISSING:  # X: an event with a duration
            state[ROWS] += 1
    state[POSITION] = i


@jit
def _scan_event(  # noqa: C901 - as above
    data: Bytes, i: int, end: int, row: Ints, text: Bytes, offsets: Ints, hashes: Ints, slots: Ints, state: Ints
) -> int:
    for n in range(len(row)):
        row[n] = -1
    row[TS] = row[DUR] = row[SENT] = row[GOT] = row[SEQ] = row[SIZE] = MISSING
    depth, field, key_comes, in_args = 0, -1, False, False
    while i < end:
        c = data[i]
        if c == _QUOTE:
            stop = _string_end(data, i + 1, end)
            if stop < 0:
                return _INCOMPLETE
            if key_comes:
                field = _field(data, i + 1, stop, in_args)
                key_comes = False
            elif field >= 0:
                if not _keep(data, i + 1, stop, field, row, text, offsets, hashes, slots, state):
                    return _NO_ROOM
                field = -1
            i = stop
        elif c == _COMMA:
            key_comes = depth == 1 or (depth == 2 and in_args)
            field = -1
        elif c in (_OPEN, _OPEN_LIST):
            depth += 1
            if depth == 1:
                key_comes = True
            elif depth == 2 and field == _ARGS and c == _OPEN:
                in_args = key_comes = True
            elif depth == 3 and field == RANKS and c == _OPEN_LIST:
                stop = i
                while stop < end and data[stop] != _CLOSE_LIST:
                    stop += 1
                if stop >= end:
                    return _INCOMPLETE
                if not _keep(data, i, stop + 1, field, row, text, offsets, hashes, slots, state):
                    return _NO_ROOM
                i = stop - 1
            field = -1
        elif c in (_CLOSE, _CLOSE_LIST):
            depth -= 1
            field = -1
            key_comes = False
            if depth == 1:
                in_args = False
            elif depth == 0:
                return i + 1
        elif field >= 0 and (c == _MINUS or (_ZERO <= c <= _NINE)):
            stop = _number_end(data, i, end)
            if stop >= end:
                return _INCOMPLETE
            if not _keep(data, i, stop, field, row, text, offsets, hashes, slots, state):
                return _NO_ROOM
            field = -1
            i = stop - 1
        elif c == 0:
            return _NOT_JSON
        i += 1
    return _INCOMPLETE


@jit
def _after_spaces(data: Bytes, i: int, end: int) -> int:
    while i < end and data[i] in _SPACES:
        i += 1
    return i


@jit
def _string_end(data: Bytes, i: int, end: int) -> int:
    """Place of the quote that ends a string; -1 where the window ends before."""
    while i < end:
        c = data[i]
        if c == _QUOTE:
            return i
        i += 2 if c == _BACKSLASH else 1
    return -1


@jit
def _number_end(data: Bytes, i: int, end: int) -> int:
    while i < end and (_ZERO <= data[i] <= _NINE or data[i] in (_DOT, _MINUS, _PLUS) or (data[i] | 32) == _E):
        i += 1
    return i


@jit
def _hashed(data: Bytes, begin: int, end: int) -> int:
    value = 0
    for i in range(begin, end):
        value = ((value ^ int(data[i])) * _PRIME) & _HASH_MASK
    return value


@jit
def _field(data: Bytes, begin: int, end: int, in_args: bool) -> int:
    size = end - begin
    value = _hashed(data, begin, end)
    first, last = (_OWN_KEYS, len(_WANTED)) if in_args else (0, _OWN_KEYS)
    for n in range(first, last):
        if _WANTED[n, 0] == value and _WANTED[n, 1] == size:
            return int(_WANTED[n, 2])
    return -1


@jit
def _keep(
    data: Bytes, begin: int, end: int, field: int, row: Ints, text: Bytes, offsets: Ints, hashes: Ints, slots: Ints,
    state: Ints,
) -> bool:  # fmt: skip
    """Put a value into its row; False where the table of texts has no room."""
    if field == PH:
        row[PH] = int(data[begin]) if end == begin + 1 else -1
    elif field in (TS, DUR):
        row[field] = _decimal(data, begin, end, 3)
    elif field in (SENT, GOT, SEQ, SIZE):
        row[field] = _decimal(data, begin, end, 0)
    elif field < _ARGS:
        code = _code(data, begin, end, text, offsets, hashes, slots, state)
        row[field] = code
        return code >= 0
    return True


@jit
def _code(data: Bytes, begin: int, end: int, text: Bytes, offsets: Ints, hashes: Ints, slots: Ints, state: Ints) -> int:
    value = _hashed(data, begin, end)
    slot = value % len(slots)
    while slots[slot] >= 0:
        code = slots[slot]
        first = offsets[code]
        alike = hashes[code] == value and offsets[code + 1] - first == end - begin
        if alike and same_bytes(data, begin, text, first, end - begin):
            return int(code)
        slot = (slot + 1) % len(slots)
    code = state[TEXTS]
    first = state[TEXT_BYTES]
    if code >= len(hashes) or first + end - begin > len(text):
        return -1
    for n in range(end - begin):
        text[first + n] = data[begin + n]
    hashes[code] = value
    offsets[code], offsets[code + 1] = first, first + end - begin
    slots[slot] = code
    state[TEXTS] += 1
    state[TEXT_BYTES] = first + end - begin
    return int(code)


@jit
def _decimal(data: Bytes, begin: int, end: int, decimals: int) -> int:  # noqa: C901 - a kernel
    """A decimal number times 10 ** `decimals`, rounded; `MISSING` where it is none or too large."""
    value, exponent, digits, negative, after_dot = 0, decimals, 0, False, False
    i = begin
    while i < end:
        c = data[i]
        if _ZERO <= c <= _NINE:
            digits += 1
            if value < _MOST_TENTH:
                value = value * 10 + int(c) - _ZERO
                exponent -= after_dot
            else:
                exponent += not after_dot
        elif c == _DOT:
            after_dot = True
        elif c == _MINUS:
            negative = True
        elif (c | 32) == _E:
            break
        elif c != _PLUS:
            return MISSING
        i += 1
    if i < end:
        exponent += _decimal_exponent(data, i + 1, end)
    if digits == 0:
        return MISSING
    while exponent > 0:
        if value >= _MOST_TENTH:
            return MISSING
        value, exponent = value * 10, exponent - 1
    while exponent < -1 and value > 0:
        value, exponent = value // 10, exponent + 1
    if exponent == -1:
        value = (value + 5) // 10
    return -value if negative else value


@jit
def _decimal_exponent(data: Bytes, begin: int, end: int) -> int:
    value, sign = 0, 1
    for i in range(begin, end):
        if data[i] == _MINUS:
            sign = -1
        elif _ZERO <= data[i] <= _NINE and value < 1000:
            value = value * 10 + int(data[i]) - _ZERO
    return sign * value
