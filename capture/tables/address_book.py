"""Addresses met while decoding and the codes that rows carry instead of them.

A hash table of its own, for two of three searches while decoding are for addresses: its slots hold an IPv4 address
whole, so that a search looks at one place in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide
from capture.tables.addresses import MAPPED, from_words
from capture.tables.key_table import stirred
from capture.tables.prefetch import prefetch

Words = npt.NDArray[np.int64]

_FREE = -1
_IPV4 = 1 << 32  # in a slot: the 32 bits below are the address; otherwise they are of a hash
_CODE_AT = 33  # bits of a slot from which on the code stands
_MASK32 = 0xFFFFFFFF
_FIRST_ADDRESSES = 1 << 10


class Book(NamedTuple):
    """A book's arrays, for kernels; valid until room is made.

    Attributes:
        words: shape (capacity, 2); row `code` is the address as two signed 64-bit words, IPv4 as IPv4-mapped.
        slots: hash table; -1 where free; its size is a power of two.
        used: shape (1,); how many codes are given.
    """

    words: Words
    slots: Words
    used: Words


class AddressBook:
    """Gives every address a code, in order of first sight.

    Memory: 32 to 48 bytes an address. A code is valid until `clear`.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all addresses."""
        self.words: Words = np.zeros((_FIRST_ADDRESSES, 2), np.int64)
        self.slots: Words = np.full(4 * _FIRST_ADDRESSES, _FREE, np.int64)
        self.used = np.zeros(1, np.int64)
        self._texts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.used[0])

    @property
    def book(self) -> Book:
        """What kernels take."""
        return Book(self.words, self.slots, self.used)

    def make_room(self, addresses: int) -> None:
        """Have room for so many more addresses; kernels never enlarge the book."""
        used = len(self)
        if used + addresses <= len(self.words):
            return
        words = np.zeros((max(2 * len(self.words), used + addresses), 2), np.int64)
        words[:used] = self.words[:used]
        self.words = words
        self.slots = np.full(1 << (2 * len(words) - 1).bit_length(), _FREE, np.int64)
        rehash(self.words, used, self.slots)

    def code(self, high: int, low: int) -> int:
        """The code of one address."""
        self.make_room(1)
        return int(address_code(self.words, self.slots, self.used, high, low))

    def texts(self) -> tuple[str, ...]:
        """Canonical text of every code."""
        new = self.words[len(self._texts) : len(self)]
        if len(new):
            self._texts += tuple(from_words(high, low) for high, low in new.tolist())
        return self._texts


@jit
def is_ipv4(high: int, low: int) -> bool:
    """Check whether an address is IPv4-mapped: only its low 32 bits vary."""
    return high == 0 and low >> 32 == MAPPED >> 32


@jit
def slot_of_ipv4(slots: Words, low: int) -> int:
    """The slot that holds an IPv4-mapped address, or the free one where it belongs: most addresses are such."""
    mark = _IPV4 | low & _MASK32
    mask = len(slots) - 1
    slot = stirred(wide(0), low) & mask
    while slots[slot] != _FREE and slots[slot] & (_IPV4 | _MASK32) != mark:
        slot = (slot + 1) & mask
    return slot


@jit
def slot_of(words: Words, slots: Words, high: int, low: int) -> int:
    """The slot that holds this address, or the free one where it belongs."""
    if is_ipv4(high, low):
        return slot_of_ipv4(slots, low)
    state = stirred(stirred(wide(0), high), low)
    mask = len(slots) - 1
    slot = state & mask
    while slots[slot] != _FREE:
        if slots[slot] & (_IPV4 | _MASK32) == state & _MASK32:
            code = slots[slot] >> _CODE_AT
            if words[code, 1] == low and words[code, 0] == high:
                break
        slot = (slot + 1) & mask
    return slot


@jit
def entry(code: int, high: int, low: int) -> int:
    """What the slot of an address with this code holds."""
    if is_ipv4(high, low):
        return code << _CODE_AT | _IPV4 | low & _MASK32
    return code << _CODE_AT | stirred(stirred(wide(0), high), low) & _MASK32


@jit
def known_code(words: Words, slots: Words, high: int, low: int) -> int:
    """The code of an address; -1 where it has none."""
    return wide(slots[slot_of(words, slots, high, low)] >> _CODE_AT)


@jit
def address_code(words: Words, slots: Words, used: Words, high: int, low: int) -> int:
    """The code of an address, given now if it has none yet; the book must have room for it."""
    slot = slot_of(words, slots, high, low)
    if slots[slot] == _FREE:
        code = wide(used[0])
        words[code, 0] = high
        words[code, 1] = low
        slots[slot] = entry(code, high, low)
        used[0] = code + 1
    return wide(slots[slot] >> _CODE_AT)


@jit
def code_of(book: Book, high: int, low: int) -> int:
    """The same of a book as one argument."""
    return address_code(book.words, book.slots, book.used, high, low)


@jit
def expect(book: Book, high: int, low: int) -> None:
    """Prefetch the index slot of an address that is looked up soon."""
    prefetch(book.slots, stirred(stirred(wide(0), high), low) & (len(book.slots) - 1))


@jit
def rehash(words: Words, count: int, slots: Words) -> None:
    """Enter the first `count` addresses into `slots`, which are all free."""
    for code in range(count):
        high, low = words[code, 0], words[code, 1]
        slot = slot_of(words, slots, high, low)
        slots[slot] = entry(wide(code), high, low)
