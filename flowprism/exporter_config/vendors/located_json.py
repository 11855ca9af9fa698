"""JSON with line numbers: parses one object of a large document from where it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from flowprism.exporter_config.model import Collector, Value, default

_TOKEN = re.compile(r'[\s]*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s,:{}\[\]"]+)')


@dataclass(slots=True)
class Node:
    """A JSON value: its line, its scalar as text, its members."""

    line: int
    text: str | None = None
    members: dict[str, Node] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)

    def find(self, *path: str) -> Node | None:
        """The member at the end of a path."""
        node: Node | None = self
        for key in path:
            node = node.members.get(key) if node is not None else None
        return node


def read_number(node: Node | None) -> Value[int] | None:
    """A whole number, written as a number or as text."""
    return Value(int(node.text), line=node.line) if node is not None and node.text and node.text.isdecimal() else None


def read_collector(node: Node, address: str, port: str, vrf: str) -> Collector:
    """A collector from the members of these names."""
    host, routed = node.find(address), node.find(vrf)
    return Collector(
        (host.text or "") if host is not None else "",
        read_number(node.find(port)) or default(6343),
        Value(routed.text or "", line=routed.line) if routed is not None else None,
        node.line,
    )


def find_objects(text: str, *keys: str) -> Iterator[tuple[str, Node]]:
    """Objects that stand under one of these keys, anywhere, in the order of the text."""
    pattern = re.compile(f'"({"|".join(map(re.escape, keys))})"' + r"\s*:\s*(?=\{)")
    number, position = 1, 0
    for match in pattern.finditer(text):
        number += text.count("\n", position, match.start())
        position = match.start()
        yield match.group(1), parse(text, match.end(), number + text.count("\n", match.start(), match.end()))


def parse(text: str, start: int = 0, line: int = 1) -> Node:
    """The value that begins at `start`.

    Raises:
        ValueError: it is no JSON.
    """
    return _Parser(text, start, line).value()


class _Parser:
    def __init__(self, text: str, position: int, line: int) -> None:
        self._text, self._position, self._line = text, position, line

    def _next(self) -> str:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise ValueError(f"line {self._line}: not JSON")
        self._line += self._text.count("\n", self._position, match.start(1))
        self._position = match.end()
        return match.group(1)

    def value(self) -> Node:
        piece = self._next()
        node = Node(self._line)
        if piece == "{":
            self._members(node)
        elif piece == "[":
            self._items(node)
        elif piece in "}],:":
            raise ValueError(f"line {self._line}: not JSON: unexpected {piece}")
        else:
            node.text = json.loads(piece) if piece.startswith('"') else piece
        return node

    def _members(self, node: Node) -> None:
        while (piece := self._next()) != "}":
            if piece == ",":
                continue
            if not piece.startswith('"') or self._next() != ":":
                raise ValueError(f"line {self._line}: not JSON: expected a name")
            line = self._line
            member = self.value()
            member.line = line
            node.members[json.loads(piece)] = member

    def _items(self, node: Node) -> None:
        while True:
            match = _TOKEN.match(self._text, self._position)
            if match is not None and match.group(1) == "]":
                self._next()
                return
            if match is not None and match.group(1) == ",":
                self._next()
                continue
            node.items.append(self.value())
