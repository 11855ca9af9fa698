"""Keys of whole numbers and the places they have: how exporters, data sources and samplers are found.

The rows that belong to the keys stand in tables of their own, at the same places. (Addresses,
flows of a mirror and templates have hash tables of their own: addresses for speed, the others because their keys are
part of larger entries that move or go.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide

Words = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]

FULL = -1  # answer of `place_of` when there is no room for a new key
_FREE = -1
_ODD = 0x4F1BBCDD  # below 2^31, so that products with 32 bits stay below 2^63, the same compiled and not


class Keys(NamedTuple):
    """A table's arrays, for kernels.

    Attributes:
        words: shape (capacity, words of a key); row `place` is the key.
        slots: hash table of places; -1 where free; its size is a power of two.
        used: shape (1,); how many keys there are.
    """

    words: Words
    slots: Slots
    used: Words


class KeyTable:
    """Gives every key a place, in order of first sight. Memory: 8 bytes a word and 16 to 32 a place."""

    def __init__(self, width: int, places: int) -> None:
        """Begin with no keys, and with room for `places` of `width` words each."""
        self.keys = Keys(np.zeros((places, width), np.int64), _slots(places), np.zeros(1, np.int64))

    def __len__(self) -> int:
        return int(self.keys.used[0])

    @property
    def places(self) -> int:
        """How many keys there is room for."""
        return len(self.keys.words)

    def resize(self, places: int) -> None:
        """Have room for so many keys, at least as many as there are; kernels never make any."""
        words = np.zeros((places, self.keys.words.shape[1]), np.int64)
        words[: len(self)] = self.keys.words[: len(self)]
        self.keys = Keys(words, _slots(places), self.keys.used)
        rehash(self.keys)

    def fill(self, words: Words) -> None:
        """Hold these keys, which differ, at places 0 and on; there must be room for them."""
        self.keys.words[: len(words)] = words
        self.keys.used[0] = len(words)
        self.keys.slots[:] = _FREE
        rehash(self.keys)


def _slots(places: int) -> Slots:
    """Four slots a place: in a table that is half full every other search meets another key first."""
    return np.full(1 << (4 * places - 1).bit_length(), _FREE, np.int32)


@jit
def stirred(state: int, word: int) -> int:
    """A hash so far with one more signed 64-bit word."""
    product = ((state ^ word ^ (word >> 32)) & 0xFFFFFFFF) * _ODD
    return product ^ (product >> 32)


@jit
def slot_of(keys: Keys, key: tuple[int, ...]) -> int:
    """The slot that holds this key, or the free one where it belongs."""
    state = wide(0)
    for word in key:
        state = stirred(state, word)
    mask = len(keys.slots) - 1
    slot = state & mask
    while keys.slots[slot] >= 0:
        place = keys.slots[slot]
        same = True
        for k in range(len(key)):
            same = same and keys.words[place, k] == key[k]
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@jit
def known_place(keys: Keys, key: tuple[int, ...]) -> int:
    """The place of a key; -1 where it has none."""
    return wide(keys.slots[slot_of(keys, key)])


@jit
def place_of(keys: Keys, key: tuple[int, ...]) -> int:
    """The place of a key, given now if it has none yet; FULL where there is no room left for it."""
    slot = slot_of(keys, key)
    if keys.slots[slot] >= 0:
        return wide(keys.slots[slot])
    place = wide(keys.used[0])
    if place >= len(keys.words):
        return wide(FULL)
    for k in range(len(key)):
        keys.words[place, k] = key[k]
    keys.slots[slot] = place
    keys.used[0] = place + 1
    return place


@jit
def rehash(keys: Keys) -> None:
    """Enter all keys into the slots, which are all free."""
    mask = len(keys.slots) - 1
    for place in range(keys.used[0]):
        state = wide(0)
        for k in range(keys.words.shape[1]):
            state = stirred(state, keys.words[place, k])
        slot = state & mask
        while keys.slots[slot] >= 0:
            slot = (slot + 1) & mask
        keys.slots[slot] = place
