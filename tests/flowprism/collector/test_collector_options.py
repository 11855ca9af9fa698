"""Where to listen and how many workers, as it is typed."""

from __future__ import annotations

import pytest

from capture.receive.sockets import Listen
from datamodel.errors import InputError
from flowprism.collector.collector_options import parse_listen, parse_workers

GOOD = {
    "*:6343": Listen("*", 6343),
    "127.0.0.1:0": Listen("127.0.0.1", 0),
    "[::1]:2055": Listen("::1", 2055),
    "tcp:*:4739": Listen("*", 4739, tcp=True),
    "tcp:[2001:db8::1]:4739": Listen("2001:db8::1", 4739, tcp=True),
}


@pytest.mark.parametrize("text", GOOD)
def test_good(text: str) -> None:
    """What is typed is what is meant, and is told again as it was typed."""
    assert parse_listen(text) == GOOD[text]
    assert str(GOOD[text]) == text


@pytest.mark.parametrize("text", ["", "6343", ":6343", "*", "*:", "*:65536", "*:-1", "::1:6343", "[::1:6343", "*:٣"])
def test_bad(text: str) -> None:
    """Anything else is refused and named."""
    with pytest.raises(InputError, match="expected"):
        parse_listen(text)


@pytest.mark.parametrize(("text", "expected"), [("1", (1, 0)), ("64", (64, 0)), ("1-4", (1, 4)), ("2-2", (2, 2))])
def test_workers(text: str, expected: tuple[int, int]) -> None:
    """A number stays; a range has a least and a most."""
    assert parse_workers(text) == expected


@pytest.mark.parametrize("text", ["", "0", "65", "-1", "4-1", "0-4", "1-65", "1-2-3", "two", "1.5", "1-", "٣"])
def test_bad_workers(text: str) -> None:
    """Anything else is refused and named."""
    with pytest.raises(InputError, match=f"{text}: "):
        parse_workers(text)
