"""The manifest: which segments count. What it does not name does not exist, so a segment counts wholly or not at all.

A file for each writer, a line for each commit: the CRC-32 of what follows in eight hex digits, a space, one JSON
object, a newline. Lines are only ever appended, each made durable before the next step. A crash can tear the last line;
it is then ignored, and cut off when its writer goes on.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from datamodel.errors import InputError
from storage.layout import MANIFEST, Writer, parsed, sync_folder

_CHECK_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Segment:
    """One committed file of records.

    Attributes:
        kind: "flows", "counters" or "drops".
        file: its name in the segments folder.
        rows: records in it; at least one.
        file_bytes: its size.
        start_ns, end_ns: the time its records span, UTC.
        exporters: rows and bytes (as exported; 0 for counters and drops) by exporter's agent address.
    """

    kind: str
    file: str
    rows: int
    file_bytes: int
    start_ns: int
    end_ns: int
    exporters: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commit:
    """What became durable at once.

    Attributes:
        writer: whose commit it is.
        workers: how many workers its session has.
        number: counts the writer's commits, from 1.
        time_ns: when it was made, UTC.
        until: datagrams of the session's queue below this number are contained in this commit or an earlier one.
        segments: what was written; none where the datagrams held no record.
        state: name of the file with what decoding must remember.
        set_aside: names of files in which datagrams that cannot be decoded were kept.
        totals: the writer's sums over all its commits, by name.
        rejected: what was left out so far, by reason.
    """

    writer: Writer
    workers: int
    number: int
    time_ns: int
    until: int
    segments: tuple[Segment, ...]
    state: str
    set_aside: tuple[str, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One writer's commits, in order, and how many of its lines are damaged (a torn last one is not)."""

    writer: Writer
    commits: tuple[Commit, ...]
    damaged_lines: int


def encoded(commit: Commit) -> bytes:
    """The line that records a commit."""
    text = json.dumps(asdict(commit), separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def decoded(line: bytes) -> Commit | None:
    """The commit that a line (newline included) records; None where it is torn or damaged."""
    check, _, text = line[:-1].partition(b" ")
    if not line.endswith(b"\n") or len(check) != _CHECK_CHARACTERS:
        return None
    try:
        if int(check, 16) != zlib.crc32(text):
            return None
        return _commit(json.loads(text))
    except (ValueError, KeyError, TypeError):
        return None


def _commit(said: dict[str, Any]) -> Commit:
    segments = [
        Segment(**{**segment, "exporters": {agent: tuple(sums) for agent, sums in segment["exporters"].items()}})
        for segment in said["segments"]
    ]
    parts = {"writer": Writer(**said["writer"]), "segments": tuple(segments), "set_aside": tuple(said["set_aside"])}
    return Commit(**{**said, **parts})


def path_of(folder: Path, writer: Writer) -> Path:
    """Where a writer's manifest lies."""
    return folder / MANIFEST / f"{writer.name}.log"


def read_manifest(path: Path) -> Manifest:
    """One writer's commits.

    Raises:
        InputError: it cannot be read, or its name is not that of a manifest.
    """
    named = parsed(path.name)
    if named is None:
        raise InputError(f"{path}: not the name of a manifest")
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    found = [decoded(line) for line in lines]
    if lines and not lines[-1].endswith(b"\n"):
        found.pop()  # torn by a crash: its commit was never promised to anybody
    return Manifest(named[0], tuple(commit for commit in found if commit is not None), found.count(None))


def read_manifests(folder: Path) -> Iterator[Manifest]:
    """All manifests of `folder`, in order of session and worker.

    Raises:
        InputError: one cannot be read.
    """
    for path in sorted((folder / MANIFEST).glob("*.log")):
        if parsed(path.name) is not None:
            yield read_manifest(path)


class ManifestLog:
    """One writer's manifest, open for appending."""

    def __init__(self, folder: Path, writer: Writer) -> None:
        """Begin a manifest, or go on with one: a torn last line is cut off."""
        path = path_of(folder, writer)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._file, whole)
        os.lseek(self._file, 0, os.SEEK_END)
        os.fsync(self._file)
        sync_folder(path.parent)

    def append(self, commit: Commit) -> None:
        """Make a commit durable. What fails half-way is taken back.

        Raises:
            OSError: it could not be written; the manifest is as before.
        """
        line = encoded(commit)
        size = os.lseek(self._file, 0, os.SEEK_END)
        try:
            _write_all(self._file, line)
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
