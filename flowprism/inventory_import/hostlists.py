"""Slurm's short way to write many names: `gpu[01-03,07],login1` (scontrol(1), "show hostnames")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from datamodel.errors import InputError

MOST_NAMES = 100_000
_PART = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def names_of(text: str) -> tuple[str, ...]:
    """All names of a host list, in the order in which it gives them.

    Raises:
        InputError: it is no host list, or one of more than `MOST_NAMES` names.
    """
    found: list[str] = []
    for item in _items(text):
        found.extend(_expanded(item, MOST_NAMES - len(found)))
    return tuple(found)


def _items(text: str) -> Iterator[str]:
    """What commas outside of brackets separate."""
    depth, item = 0, ""
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and not depth:
            yield item
            item = ""
        else:
            item += letter
    if depth:
        raise InputError(f"host list {text[:100]!r}: brackets do not match")
    yield item


def _expanded(item: str, most: int) -> Iterator[str]:
    pieces = _PART.split(item)
    if any(bracket in piece for piece in pieces[::2] for bracket in "[]"):
        raise InputError(f"host list {item[:100]!r}: brackets do not match")
    choices = [_numbers(piece, most) if n % 2 else [piece] for n, piece in enumerate(pieces)]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > most:
        raise InputError(f"host list {item[:100]!r}: more than {MOST_NAMES} names")
    yield from ("".join(parts).strip() for parts in product(*choices) if "".join(parts).strip())


def _numbers(text: str, most: int) -> list[str]:
    """`01-03,07` as numbers of as many digits as the first of a range has."""
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise InputError(f"host list: {part[:100]!r} is no range of numbers")
        first, last = match[1], match[2] or match[1]
        if int(last) - int(first) >= most:
            raise InputError(f"host list: {part[:100]!r} has more than {MOST_NAMES} names")
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return found
