"""Addresses met while decoding and the codes that rows carry instead of them."""

from __future__ import annotations

from capture.addresses import from_words
from capture.compiled import compiled
from capture.key_table import Keys, KeyTable, Slots, Words, place_of

_FIRST_ADDRESSES = 1 << 10


class AddressBook:
    """Gives every address a code, in order of first sight.

    An address is two signed 64-bit words, IPv4 as IPv4-mapped. A code is valid until `clear`. Memory: 24 to 32 bytes
    an address.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all addresses."""
        self._table = KeyTable(2, _FIRST_ADDRESSES)
        self._texts: list[str] = []

    def __len__(self) -> int:
        return len(self._table)

    @property
    def keys(self) -> Keys:
        """The book's arrays, valid until room is made."""
        return self._table.keys

    @property
    def words(self) -> Words:
        """Row `code` is the address, shape (capacity, 2)."""
        return self._table.keys.words

    @property
    def slots(self) -> Slots:
        """Hash table of codes."""
        return self._table.keys.slots

    @property
    def used(self) -> Words:
        """How many codes are given, shape (1,)."""
        return self._table.keys.used

    def make_room(self, addresses: int) -> None:
        """Have room for so many more addresses; kernels never enlarge the book."""
        if len(self) + addresses > self._table.places:
            self._table.resize(max(2 * self._table.places, len(self) + addresses))

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
def address_code(words: Words, slots: Slots, used: Words, high: int, low: int) -> int:
    """The code of an address, given now if it has none yet; the book must have room for it."""
    return place_of(Keys(words, slots, used), (high, low))
