"""Finds lines and indented blocks of a configuration without splitting all of it into lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flowprism.exporter_config.model import Unread


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is of interest: its number, its words, and how far it is indented."""

    number: int
    text: str
    indent: int = 0

    @property
    def words(self) -> list[str]:
        """Its words."""
        return self.text.split()


@dataclass(frozen=True, slots=True)
class Block:
    """A line at the margin and the indented lines below it."""

    head: Line
    body: str

    def lines(self) -> Iterator[Line]:
        """The lines of the body that say something."""
        for offset, text in enumerate(self.body.split("\n"), start=self.head.number + 1):
            stripped = text.strip()
            if stripped and not stripped.startswith("!"):
                yield Line(offset, stripped, len(text) - len(text.lstrip()))


def find_lines(text: str, pattern: re.Pattern[str]) -> Iterator[Line]:
    """Lines that `pattern` (multi-line, from the margin) matches, in their order."""
    number, position = 1, 0
    for match in pattern.finditer(text):
        number += text.count("\n", position, match.start())
        position = match.start()
        found = match.group()
        yield Line(number, found.strip(), len(found) - len(found.lstrip()))


def find_blocks(text: str, heads: str) -> Iterator[Block]:
    """Blocks whose first line begins, at the margin, with one of `heads`, a regular expression."""
    pattern = re.compile(rf"^((?:{heads})[^\n]*)\n((?:[ \t][^\n]*(?:\n|\Z))*)", re.MULTILINE)
    number, position = 1, 0
    for match in pattern.finditer(text):
        number += text.count("\n", position, match.start())
        position = match.start()
        yield Block(Line(number, match.group(1).rstrip()), match.group(2))


def unread_line(line: Line) -> Unread:
    """A line that is not understood, by its first two words: what follows may be secret."""
    return Unread(line.number, " ".join(line.words[:2]))


def find_first(text: str, pattern: re.Pattern[str]) -> str | None:
    """What the first group of the first match holds."""
    match = pattern.search(text)
    return match.group(1) if match else None


def line_of(text: str, pattern: re.Pattern[str]) -> int:
    """Number of the first line that matches; 0 where none does."""
    match = pattern.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def with_newlines(text: str) -> str:
    """The text with line feeds alone and one at its end, whatever terminal it was recorded from."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") else text + "\n"
