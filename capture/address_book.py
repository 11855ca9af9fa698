"""Addresses met while decoding and the codes that rows carry instead of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.addresses import from_words
from capture.compiled import compiled, wide
from capture.flow_table import mixed

Words = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]

_FREE = -1


class AddressBook:
    """Gives every address a code, in order of first sight.

    Memory: 24 to 48 bytes an address. A code is valid until `clear`.

    Attributes:
        words: shape (capacity, 2); row `code` is the address as two signed 64-bit words, IPv4 as IPv4-mapped.
        slots: hash table of codes; -1 where free; its size is a power of two.
        used: shape (1,); how many codes are given.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all addresses."""
        self.words: Words = np.zeros((1 << 10, 2), np.int64)
        self.slots: Slots = np.full(1 << 12, _FREE, np.int32)
        self.used = np.zeros(1, np.int64)
        self._texts: list[str] = []

    def __len__(self) -> int:
        return int(self.used[0])

    def make_room(self, addresses: int) -> None:
        """Have room for so many more addresses; kernels never enlarge the book."""
        used = len(self)
        if used + addresses <= len(self.words):
            return
        words = np.zeros((max(2 * len(self.words), used + addresses), 2), np.int64)
        words[:used] = self.words[:used]
        self.words = words
        self.slots = np.full(1 << (2 * len(words)).bit_length(), _FREE, np.int32)
        rehash(self.words, used, self.slots)

    def code(self, high: int, low: int) -> int:
        """The code of one address."""
        self.make_room(1)
        return int(address_code(self.words, self.slots, self.used, high, low))

    def texts(self) -> tuple[str, ...]:
        """Canonical text of every code."""
        new = self.words[len(self._texts) : len(self)]
        self._texts.extend(from_words(int(high), int(low)) for high, low in new)
        return tuple(self._texts)


@compiled
def slot_of(words: Words, slots: Slots, high: int, low: int) -> int:
    """The slot that holds this address, or the free one where it belongs."""
    state = mixed(wide(0x5BD1E995), low)
    if high:
        state = mixed(state, high)
    mask = len(slots) - 1
    slot = state & mask
    while slots[slot] >= 0:
        code = slots[slot]
        if words[code, 1] == low and words[code, 0] == high:
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def address_code(words: Words, slots: Slots, used: Words, high: int, low: int) -> int:
    """The code of an address, given now if it has none yet; the book must have room for it."""
    slot = slot_of(words, slots, high, low)
    if slots[slot] < 0:
        code = used[0]
        words[code, 0] = high
        words[code, 1] = low
        slots[slot] = code
        used[0] = code + 1
    return wide(slots[slot])


@compiled
def rehash(words: Words, count: int, slots: Slots) -> None:
    """Enter the first `count` addresses into `slots`, which are all free."""
    for code in range(count):
        slots[slot_of(words, slots, words[code, 0], words[code, 1])] = code
