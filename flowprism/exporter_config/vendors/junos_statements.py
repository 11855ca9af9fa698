"""Junos configurations as statements, whether they are written with braces or as `set` commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flowprism.exporter_config.vendors.text_blocks import find_lines

# Only what stands below these can say anything of exports.
_ROOTS = frozenset(
    {
        "protocols",
        "services",
        "forwarding-options",
        "interfaces",
        "system",
        "chassis",
        "groups",
        "apply-groups",
        "vlans",
    }
)
_SET = re.compile(
    r"^set (?:protocols sflow|services flow-monitoring|forwarding-options sampling|interfaces|system host-name"
    r"|chassis fpc|groups|apply-groups|vlans) [^\n]*",
    re.MULTILINE,
)
_DEACTIVATED = re.compile(r"^(?:deactivate|delete) [^\n]*", re.MULTILINE)
_LIST = re.compile(r"^(.*?)\[ ?(.*?) ?\]$")


@dataclass(frozen=True, slots=True)
class JunosStatement:
    """One statement: the words from the top of the hierarchy down, and its line."""

    words: tuple[str, ...]
    line: int


def read_statements(text: str) -> list[JunosStatement]:
    """Active statements, those of applied groups first."""
    found = list(_from_set(text) if _is_set_format(text) else _from_braces(text))
    applied = {word for s in found if s.words[0] == "apply-groups" for word in s.words[1:]}
    inherited = [
        JunosStatement(s.words[2:], s.line)
        for s in found
        if s.words[0] == "groups" and len(s.words) > 2 and s.words[1] in applied
    ]
    return inherited + [s for s in found if s.words[0] not in ("groups", "apply-groups")]


def _is_set_format(text: str) -> bool:
    return re.search(r"^set \S+ ", text, re.MULTILINE) is not None


def _from_set(text: str) -> Iterator[JunosStatement]:
    off = [tuple(line.words[1:]) for line in find_lines(text, _DEACTIVATED)]
    for line in find_lines(text, _SET):
        words = tuple(line.words[1:])
        if not any(words[: len(prefix)] == prefix for prefix in off):
            yield from _expanded(words, line.number)


def _from_braces(text: str) -> Iterator[JunosStatement]:
    stack: list[tuple[str, ...]] = []
    inactive = 0  # depth of the outermost inactive block, 0: none
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line or line[0] in "#/*":
            continue
        line = line.split(" ## ", 1)[0].rstrip()  # `## SECRET-DATA` and the like
        if line.endswith("{"):
            head = line[:-1].split()
            stack.append(tuple(word for word in head if word not in ("inactive:", "protect:", "replace:")))
            if "inactive:" in head and not inactive:
                inactive = len(stack)
        elif line.startswith("}"):
            if inactive == len(stack):
                inactive = 0
            if stack:
                stack.pop()
        elif line.endswith(";") and not inactive and not line.startswith("inactive:") and _is_root(stack, line):
            path = tuple(word for words in stack for word in words)
            yield from _expanded((*path, *line[:-1].split()), number)


def _is_root(stack: list[tuple[str, ...]], line: str) -> bool:
    """Whether a statement stands where exports are configured."""
    return bool(stack and stack[0] and stack[0][0] in _ROOTS) or line.startswith("apply-groups")


def _expanded(words: tuple[str, ...], line: int) -> Iterator[JunosStatement]:
    """A statement for each value of `[ a b ]`."""
    text = " ".join(words)
    found = _LIST.match(text) if "[" in text else None
    if found is None:
        yield JunosStatement(words, line)
        return
    for value in found.group(2).split():
        yield JunosStatement((*found.group(1).split(), value), line)
