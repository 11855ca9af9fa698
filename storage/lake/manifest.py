"""The manifest: which segments count. What it does not name does not exist, so a segment counts wholly or not at all.

An object for each commit, numbered by its writer: the CRC-32 of what follows in eight hex digits, a space, one JSON
object, a newline. It is put when all that it names is durable. One torn by a crash is no commit; its writer
repeats it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from storage.lake.object_names import Writer

_CHECK_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Segment:
    """One committed file of records.

    Attributes:
        kind: a key of `storage.lake.kinds.KINDS`.
        file: its name in the place.
        rows: records in it; at least one.
        file_bytes: its size.
        start_ns, end_ns: the time its records span, UTC.
        exporters: rows and bytes (as exported; 0 for records without) by exporter's agent address.
        group: the group of exporters it is packed by; -1 for what is as it was committed.
        written_ns: when its newest record was committed; 0 stands for the time of its own commit.
    """

    kind: str
    file: str
    rows: int
    file_bytes: int
    start_ns: int
    end_ns: int
    exporters: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    group: int = -1
    written_ns: int = 0


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
        state: name of the file with what decoding must remember; "" where there is none.
        set_aside: names of files in which datagrams that cannot be decoded were kept.
        totals: the writer's sums over all its commits, by name.
        rejected: what was left out so far, by reason.
        removes: files of segments that count no longer.
        reached_ns: how far the writer's flow records reach, UTC (`storage.lake.lake_writer`); 0 where it wrote none.
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
    removes: tuple[str, ...] = ()
    reached_ns: int = 0


def encode_commit(commit: Commit) -> bytes:
    """The line that records a commit."""
    return add_checksum(asdict(commit))


def decode_commit(line: bytes) -> Commit | None:
    """The commit that a line (newline included) records; None where it is torn or damaged."""
    said = verify_checksum(line)
    try:
        return None if said is None else commit_from(said)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def add_checksum(said: Mapping[str, Any]) -> bytes:
    """Format a line with a checksum."""
    text = json.dumps(said, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}\n".encode()


def verify_checksum(line: bytes) -> dict[str, Any] | None:
    """What a checked line says; None where it is torn or damaged."""
    check, _, text = line[:-1].partition(b" ")
    if not line.endswith(b"\n") or len(check) != _CHECK_CHARACTERS:
        return None
    try:
        if int(check, 16) != zlib.crc32(text):
            return None
        said = json.loads(text)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def segment_from(said: Mapping[str, Any]) -> Segment:
    """The segment of a JSON object."""
    return Segment(**{**said, "exporters": {agent: tuple(sums) for agent, sums in said["exporters"].items()}})


def commit_from(said: Mapping[str, Any]) -> Commit:
    """The commit of a JSON object."""
    parts = {
        "writer": Writer(**said["writer"]),
        "segments": tuple(segment_from(segment) for segment in said["segments"]),
        "set_aside": tuple(said["set_aside"]),
        "removes": tuple(said.get("removes", ())),
    }
    return Commit(**{**said, **parts})
