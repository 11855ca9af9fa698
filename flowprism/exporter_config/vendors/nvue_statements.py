"""NVUE settings as statements, whether they are written as `nv set` commands or as YAML (`nv config show`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Commands may stand behind a shell's prompt, as documents and recordings of terminals have them.
_SET = re.compile(
    r"^(?:\S+[$#] )?nv set ((?:system|interface \S+) (?:sflow|hostname|ip address|link speed)[^\n]*)", re.MULTILINE
)
_SFLOW_BLOCK = re.compile(r"^( *)sflow:[ ]*(?:\{\})?\n((?:\1 +[^\n]*\n)*)", re.MULTILINE)
_HOSTNAME = re.compile(r"^ +hostname: ([^\s#]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NvueStatement:
    """One setting: the words of its path and value, and its line."""

    words: tuple[str, ...]
    line: int


def read_statements(text: str) -> list[NvueStatement]:
    """Statements on sFlow, and the host name."""
    if re.search(r"^(?:\S+[$#] )?nv set ", text, re.MULTILINE):
        return [
            NvueStatement(tuple(m.group(1).split()), text.count("\n", 0, m.start()) + 1) for m in _SET.finditer(text)
        ]
    hostname = [
        NvueStatement(("system", "hostname", m.group(1).strip("'\"")), text.count("\n", 0, m.start()) + 1)
        for m in _HOSTNAME.finditer(text)
    ]
    return hostname + [s for match in _SFLOW_BLOCK.finditer(text) for s in _block(text, match)]


def _block(text: str, match: re.Match[str]) -> Iterator[NvueStatement]:
    """Statements of one `sflow:` block, each with the words above it."""
    path = _parents(text, match.start(), len(match.group(1)))
    if not path or path[0] not in ("system", "interface"):
        return
    line = text.count("\n", 0, match.start()) + 1
    stack: list[tuple[int, str]] = []
    for number, raw in enumerate(match.group(2).split("\n"), start=line + 1):
        body = raw.split(" #", 1)[0].rstrip()
        if not body.strip() or body.lstrip().startswith("#"):
            continue
        indent = len(body) - len(body.lstrip())
        stack = [(depth, word) for depth, word in stack if depth < indent]
        key, _, value = body.strip().partition(":" if body.endswith(":") else ": ")
        stack.append((indent, _bare(key)))
        value = _bare(value.strip().removeprefix("{}"))
        words = (*path, "sflow", *(word for _, word in stack), *([value] if value else []))
        if value or body.endswith(("{}", ":")):
            yield NvueStatement(words, number)


def _bare(word: str) -> str:
    return word.strip("'\"")


def _parents(text: str, position: int, indent: int) -> tuple[str, ...]:
    """Keys above a line, outermost first, down from `system` or `interface`."""
    found: list[str] = []
    end = position
    while indent > 0 and end > 0:
        start = text.rfind("\n", 0, end - 1) + 1
        line = text[start : end - 1]
        end = start
        depth = len(line) - len(line.lstrip(" -"))
        if line.strip() and not line.lstrip().startswith("#") and depth < indent:
            indent = depth
            key = _bare(line.strip(" -").partition(":")[0])
            if key == "set":
                break
            found.append(key)
    return tuple(reversed(found))
