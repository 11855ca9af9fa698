"""What counts in a lake at one moment: a checkpoint, and the commits behind it.

A commit names what it adds and what it removes, names are never used twice, and what counts is all that was added less
all that was removed. So it does not matter in which order the commits of several writers are found, and a commit that
replaces segments is seen wholly or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import zstandard

from datamodel.errors import InputError
from storage.lake.log import read_manifests
from storage.lake.manifest import Commit, Segment, add_checksum, commit_from, segment_from, verify_checksum
from storage.lake.object_names import CHECKPOINT, Writer, checkpoint_name, parse_checkpoint_name, parse_name
from storage.lake.object_store import ObjectStore, open_store

_ATTEMPTS, _PAUSE_S = 5, 0.05
_MOST_BYTES = 1 << 31
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What counts at one moment.

    Attributes:
        segments: what counts, by file.
        heads: each writer's newest commit; its segments and removals may have been left out.
        damaged: writers some of whose commits cannot be read, and how many.
        removed: files that count no longer and may still be there, and since when, UTC ns.
        checkpoint: number of the newest checkpoint; 0 before the first.
        commits: how many commits stand behind it.
    """

    segments: Mapping[str, Segment] = field(default_factory=dict)
    heads: Mapping[Writer, Commit] = field(default_factory=dict)
    damaged: Mapping[Writer, int] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    checkpoint: int = 0
    commits: int = 0

    def of_kind(self, kind: str) -> list[Segment]:
        """Segments of one kind in order of time."""
        found = (segment for segment in self.segments.values() if segment.kind == kind)
        return sorted(found, key=lambda segment: (segment.start_ns, segment.file))


def snapshot(location: ObjectStore | Path | str) -> Snapshot:
    """What counts now.

    Raises:
        InputError: the manifest cannot be read.
    """
    store = open_store(location)
    for _ in range(_ATTEMPTS):
        try:
            base = newest_checkpoint(store, [found.name for found in store.list(CHECKPOINT)])
            return _advanced(store, base)
        except FileNotFoundError:  # covered by a checkpoint that is newer than the one we found
            time.sleep(_PAUSE_S)
    raise InputError(f"{store.name}: commits vanish while they are being read")


def write_checkpoint(store: ObjectStore, now: Snapshot) -> Snapshot:
    """Put all that counts into one object; the answer is the same snapshot behind it.

    Raises:
        OSError: it could not be written.
    """
    said = {
        "heads": [asdict(replace(head, segments=(), removes=())) for _, head in sorted(now.heads.items())],
        "damaged": {writer.name: count for writer, count in now.damaged.items()},
        "segments": [asdict(segment) for _, segment in sorted(now.segments.items())],
        "removed": dict(now.removed),
    }
    number = now.checkpoint + 1
    content = zstandard.ZstdCompressor(level=_LEVEL).compress(add_checksum(said))
    put_again(store, checkpoint_name(number), content)
    return replace(now, checkpoint=number, commits=0)


def put_again(store: ObjectStore, name: str, content: bytes) -> None:
    """Put an object under a name at which an attempt may have been interrupted."""
    store.remove([name])
    store.put([(name, content)])


def newest_checkpoint(store: ObjectStore, names: Iterable[str]) -> Snapshot:
    """The newest of some checkpoints that is whole; an empty snapshot where there is none.

    Raises:
        OSError: one cannot be read.
    """
    numbers = [number for name in names if (number := parse_checkpoint_name(name)) is not None]
    for number in sorted(numbers, reverse=True):
        try:
            plain = zstandard.ZstdDecompressor().decompress(store.read(checkpoint_name(number)), _MOST_BYTES)
            said = verify_checksum(plain)
        except zstandard.ZstdError:  # torn by a crash; the commits it would have covered are still there
            continue
        if said is not None:
            return _restored(number, said)
    return Snapshot()


def _restored(number: int, said: Mapping[str, Any]) -> Snapshot:
    heads = [commit_from(head) for head in said["heads"]]
    segments = [segment_from(segment) for segment in said["segments"]]
    damaged = {named[0]: count for name, count in said["damaged"].items() if (named := parse_name(f"{name}.log"))}
    by_file = {segment.file: segment for segment in segments}
    return Snapshot(by_file, {head.writer: head for head in heads}, damaged, said["removed"], number)


def _advanced(store: ObjectStore, base: Snapshot) -> Snapshot:
    """A checkpoint and the commits behind it."""
    covered = {writer: head.number for writer, head in base.heads.items()}
    heads, damaged = dict(base.heads), dict(base.damaged)
    commits: list[Commit] = []
    for manifest in read_manifests(store, covered):
        commits += manifest.commits
        if manifest.commits:
            heads[manifest.writer] = manifest.commits[-1]
        if manifest.damaged:
            damaged[manifest.writer] = damaged.get(manifest.writer, 0) + manifest.damaged
    segments, removed = after(base.segments, base.removed, commits)
    return Snapshot(segments, heads, damaged, removed, base.checkpoint, len(commits))


def after(
    segments: Mapping[str, Segment], removed: Mapping[str, int], commits: Iterable[Commit]
) -> tuple[dict[str, Segment], dict[str, int]]:
    """What counts, and what counts no longer, after some more commits."""
    counting, gone = dict(segments), dict(removed)
    for commit in commits:
        gone |= dict.fromkeys(commit.removes, commit.time_ns)
        for segment in commit.segments:
            counting[segment.file] = replace(segment, written_ns=segment.written_ns or commit.time_ns)
    return {file: segment for file, segment in counting.items() if file not in gone}, gone
