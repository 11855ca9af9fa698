"""Addresses get codes in order of first sight, and get the same ones again."""

from __future__ import annotations

from capture.tables.address_book import AddressBook
from capture.tables.addresses import MAPPED


def test_codes_follow_first_sight_and_last() -> None:
    """However often the book grows, an address keeps its code, and each code its text."""
    book = AddressBook()
    given = [book.code(n % 3, MAPPED | n) for n in range(5000)]
    assert given == list(range(5000))
    assert [book.code(n % 3, MAPPED | n) for n in range(5000)] == given
    assert book.texts()[3] == "0.0.0.3"
    assert book.texts()[1] == "::1:0:ffff:0:1"


def test_addresses_that_share_their_last_bits_are_told_apart() -> None:
    """An IPv4 address, IPv6 addresses that end like it, and ones that differ in the first half only."""
    book = AddressBook()
    words = [(high, low) for low in (MAPPED | 5, 5, (1 << 63) - 1, -(1 << 63) | 5) for high in (0, 1, -1)]
    assert [book.code(*address) for address in words] == list(range(len(words)))
    book.make_room(10_000)
    assert [book.code(*address) for address in words] == list(range(len(words)))
    assert len(set(book.texts())) == len(words)


def test_a_cleared_book_begins_anew() -> None:
    """Codes of before are gone and the first address has code 0."""
    book = AddressBook()
    book.code(0, MAPPED | 5)
    book.clear()
    assert book.texts() == ()
    assert book.code(0, MAPPED | 9) == 0
