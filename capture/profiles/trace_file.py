"""One file of Chrome trace JSON, plain or compressed, as columns: what the file said, without an opinion.

The file passes through a window of bounded size; only rows and distinct texts stay in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from capture.files.decompression import read_blocks
from capture.ingest_log import IngestLog
from capture.profiles import trace_scan as scan
from capture.profiles.trace_scan import Ints, Texts
from datamodel.errors import InputError

# An event of more bytes than the window is no event of a profiler: the longest list shapes of thousands of tensors.
WINDOW_BYTES = 1 << 23
# What stands before and after the events lists devices and process groups: megabytes for 10,000 ranks.
MOST_METADATA_BYTES = 1 << 26
_NO_TRACE = "is no trace of a profiler (JSON with a list traceEvents)"
_ROWS = 1 << 16
_TEXTS = 1 << 13
_TEXT_BYTES = 1 << 20


@dataclass(slots=True)
class TraceFile:
    """Events with a duration, and what stands around them.

    Attributes:
        columns: by name of a field; texts are codes, -1 where there is none, times are ns.
        texts: by code.
        metadata: the file's other keys.
        problem: why a part of the file could not be read; empty: all was.
    """

    columns: dict[str, Ints]
    texts: list[str]
    metadata: Mapping[str, Any]
    problem: str = ""


@dataclass(slots=True)
class _Window:
    """Bytes that were read and not yet scanned."""

    blocks: Iterator[bytes]
    data: scan.Bytes = field(default_factory=lambda: np.zeros(WINDOW_BYTES, np.uint8))
    begin: int = 0
    end: int = 0
    ended: bool = False

    def fill(self) -> bool:
        """Read on behind what is left, if that leaves room; False at the end of the file."""
        left = self.end - self.begin
        if self.begin:
            self.data[:left] = self.data[self.begin : self.end].copy()
            self.begin, self.end = 0, left
        room = len(self.data)
        while not self.ended and self.end + (1 << 20) <= room:
            block = next(self.blocks, b"")
            if len(block) > room - self.end:  # a block of any size keeps its order
                self.data = np.concatenate([self.data, np.zeros(len(block), np.uint8)])
                room = len(self.data)
            self.ended = not block
            self.data[self.end : self.end + len(block)] = np.frombuffer(block, np.uint8)
            self.end += len(block)
        return self.end > left

    def rest(self) -> bytes:
        """All that is left of the file, as far as it is metadata."""
        parts = [self.data[self.begin : self.end].tobytes()]
        size = len(parts[0])
        for block in self.blocks:
            if size <= MOST_METADATA_BYTES:
                parts.append(block)
                size += len(block)
        return b"".join(parts)


def read_trace_file(path: Path) -> TraceFile:
    """Read a trace; where it ends early or is damaged, what stands before that.

    Raises:
        InputError: the file cannot be read, or is no Chrome trace.
    """
    log = IngestLog()
    window = _Window(read_blocks(path, log))
    head = _find_events(window, path)
    columns, texts, problem = _read_events(window)
    if problem.startswith("is damaged") and not len(columns["ts"]):
        raise InputError(f"{path}: {_NO_TRACE}")
    tail = b"" if problem else window.rest()
    metadata, whole = _metadata(head, tail)
    if not problem and not whole:
        problem = "cut short behind its events"
    if log.warnings:
        problem = log.warnings[0].partition(": ")[2]
    return TraceFile(columns, texts, metadata, problem)


def _find_events(window: _Window, path: Path) -> bytes:
    """Read up to the first event; what stands before the list of events."""
    found = np.zeros(2, np.int64)
    while True:
        more = window.fill()
        scan.find_events(window.data, window.begin, window.end, found)
        if found[1] >= 0:
            head = window.data[window.begin : found[0]].tobytes()
            window.begin = int(found[1])
            return head
        if found[1] == -2 or not more:
            raise InputError(f"{path}: {_NO_TRACE}")
        if len(window.data) >= MOST_METADATA_BYTES:
            raise InputError(f"{path}: no event in the first {MOST_METADATA_BYTES >> 20} MiB")
        window.data = np.concatenate([window.data, np.zeros_like(window.data)])


def _read_events(window: _Window) -> tuple[dict[str, Ints], list[str], str]:
    texts = Texts.with_room(_TEXTS, _TEXT_BYTES)
    rows = np.zeros((_ROWS, len(scan.FIELDS)), np.int64)
    state = np.zeros(5, np.int64)
    parts: list[dict[str, Ints]] = []
    problem = ""
    while True:
        state[scan.POSITION] = window.begin
        scan.scan_events(window.data, window.end, rows, texts.data, texts.offsets, texts.hashes, texts.slots, state)
        window.begin = int(state[scan.POSITION])
        status = state[scan.STATUS]
        if status == scan.TEXTS_FULL:
            texts = texts.doubled(int(state[scan.TEXTS]))
        elif status == scan.ROWS_FULL:
            parts.append(_packed(rows, state))
        elif status == scan.END:
            break
        elif status == scan.BROKEN:
            problem = "is damaged"
            break
        elif not window.fill():
            room = window.end - window.begin + (1 << 20) <= len(window.data)
            problem = "ends early" if room or window.ended else "holds an event of more than 8 MB"
            break
    parts.append(_packed(rows, state))
    columns = {name: np.concatenate([part.pop(name) for part in parts]) for name in parts[0].copy()}
    if problem:
        problem += f"; {len(columns['ts']):,} events before that were read"
    return columns, _decoded(texts, int(state[scan.TEXTS])), problem


def _packed(rows: Ints, state: Ints) -> dict[str, Ints]:
    """Rows as columns: times and counts in 64 bits, codes in 32."""
    filled = rows[: state[scan.ROWS]]
    state[scan.ROWS] = 0
    wide = {scan.TS, scan.DUR, scan.SENT, scan.GOT, scan.SEQ}
    return {
        name: filled[:, n].copy() if n in wide else np.clip(filled[:, n], -1, None).astype(np.int32)
        for n, name in enumerate(scan.FIELDS)
        if n != scan.PH
    }


def _decoded(texts: Texts, count: int) -> list[str]:
    data, bounds = texts.data.tobytes(), texts.offsets[: count + 1].tolist()
    raw = [data[a:b].decode(errors="replace") for a, b in pairwise(bounds)]
    return [_unescaped(text) if "\\" in text else text for text in raw]


def _unescaped(text: str) -> str:
    try:
        return printable(json.loads(f'"{text}"'))
    except ValueError:
        return text


def printable(text: object) -> str:
    """A text without halves of a character, which JSON can name and no file can hold."""
    return str(text).encode(errors="replace").decode()


def _metadata(head: bytes, tail: bytes) -> tuple[Mapping[str, Any], bool]:
    """Keys around the events, and whether the file is whole; those before the events where the rest is not."""
    if not head.strip():
        return {}, True
    before = head.decode(errors="replace")
    for after, whole in ((tail.decode(errors="replace"), True), ("}", False)):
        try:
            found = dict(json.loads(f'{before}"traceEvents":[]{after}'))
        except ValueError:
            continue
        del found["traceEvents"]
        return found, whole
    return {}, False
