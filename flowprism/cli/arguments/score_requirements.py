"""Needs as they are typed: `NAME=VALUE`, the least that a mark or figure must be worth."""

from __future__ import annotations

from collections.abc import Iterable

from datamodel.errors import InputError


def parse_requirement(text: str, known: Iterable[str], noun: str) -> tuple[str, float]:
    """The name and value of one need; `noun` says what `known` are, for the complaint.

    Raises:
        InputError: the name is not known, or there is no number.
    """
    names = tuple(known)
    name, _, value = text.partition("=")
    if name not in names:
        raise InputError(f"--need {text}: unknown {noun}; known: {', '.join(names)}")
    try:
        return name, float(value)
    except ValueError as error:
        raise InputError(f"--need {text}: expected NAME=VALUE with a number") from error
