"""Addresses get codes in order of first sight, and get the same ones again."""

from __future__ import annotations

from capture.address_book import AddressBook
from capture.addresses import MAPPED


def test_codes_follow_first_sight_and_last() -> None:
    """However often the book grows, an address keeps its code, and each code its text."""
    book = AddressBook()
    given = [book.code(n % 3, MAPPED | n) for n in range(5000)]
    assert given == list(range(5000))
    assert [book.code(n % 3, MAPPED | n) for n in range(5000)] == given
    assert book.texts()[3] == "0.0.0.3"
    assert book.texts()[1] == "::1:0:ffff:0:1"


def test_a_cleared_book_begins_anew() -> None:
    """Codes of before are gone and the first address has code 0."""
    book = AddressBook()
    book.code(0, MAPPED | 5)
    book.clear()
    assert book.texts() == ()
    assert book.code(0, MAPPED | 9) == 0
