"""Keys get places in order of first sight and are found again, however the table grew."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.tables.key_table import FULL, KeyTable, known_place, place_of

WORD = st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(WORD, WORD), unique=True, max_size=200))
def test_every_key_keeps_its_place(keys: list[tuple[int, int]]) -> None:
    """Places are given in order; the same key has the same place, also after the table was made larger."""
    table = KeyTable(2, 4)
    for n, key in enumerate(keys):
        if len(table) == table.places:
            table.resize(2 * table.places)
        assert place_of(table.keys, key) == n
    assert [place_of(table.keys, key) for key in keys] == list(range(len(keys)))
    assert len(table) == len(keys)


def test_a_full_table_takes_no_more() -> None:
    """A new key finds no place, a known one still does."""
    table = KeyTable(2, 2)
    keys = [(n, -n) for n in range(3)]
    assert [place_of(table.keys, key) for key in keys] == [0, 1, FULL]
    assert known_place(table.keys, keys[1]) == 1
    assert known_place(table.keys, keys[2]) == -1


def test_filling_takes_the_place_of_what_was_there() -> None:
    """Keys from elsewhere get the places they had there; older ones are forgotten."""
    table = KeyTable(2, 8)
    old = (7, 7)
    place_of(table.keys, old)
    table.fill(np.array([[1, 2], [3, 4]]))
    assert known_place(table.keys, (3, 4)) == 1
    assert known_place(table.keys, old) == -1


def test_regular_keys_are_spread() -> None:
    """Addresses of one fabric and ports of its switches lie near the slot where the search for them begins."""
    for keys in (
        [(0, 0xFFFF << 32 | 0x0A000001 | n << 8) for n in range(4096)],
        [(n >> 6, n & 63) for n in range(4096)],
        [(0x20010DB8 << 32 | n >> 4, n & 15) for n in range(4096)],
    ):
        table = KeyTable(2, 4096)
        table.fill(np.array(keys))
        slots = table.keys.slots
        taken = np.flatnonzero(slots >= 0)
        longest = max(len(run) for run in np.split(taken, np.flatnonzero(np.diff(taken) > 1) + 1))
        assert longest < 64  # of 8,192 slots half are taken; chance alone makes runs of about thirty
