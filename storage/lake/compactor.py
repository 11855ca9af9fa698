"""The compactor of a lake: packs small segments, removes old ones, shortens the manifest, publishes tables.

Only one may run; a local disk has a lock for that, a bucket leaves it to the operator. It may be killed any time: what
it does counts from its commit on, and a successor removes what an interrupted one wrote. What counts no longer is
removed when readers that began before have had time to finish.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from datamodel.errors import InputError
from storage.lake.compaction import CompactedSegments, compact_segments, plan_compaction
from storage.lake.delta.publication import Publication
from storage.lake.manifest import Commit, Segment, encode_commit
from storage.lake.object_names import (
    CHECKPOINT,
    COMPACTOR,
    MANIFEST,
    SEGMENTS,
    Writer,
    commit_name,
    is_store,
    make_folders,
    parse_checkpoint_name,
    parse_commit_name,
    parse_name,
)
from storage.lake.object_store import LocalStore, ObjectStore, open_store
from storage.lake.retention import DEFAULT_LIMITS, Limit, find_expired
from storage.lake.snapshot import Snapshot, newest_checkpoint, put_again, snapshot, write_checkpoint
from storage.lake.writer_session import take_lock

GRACE_NS = 3_600_000_000_000  # longer than any reader takes
_ORPHAN_NS = 24 * GRACE_NS  # what is uncommitted for so long stays so
_CHECKPOINT_COMMITS = 256


@dataclass(frozen=True, slots=True)
class CompactionRound:
    """What one round did.

    Attributes:
        packed_segments, packed_rows: segments that were replaced by packed ones, and their rows.
        expired_rows: rows that are kept no longer, by kind and reason.
        removed_files: files that were deleted.
        warnings: what went wrong, in sentences.
    """

    packed_segments: int
    packed_rows: int
    expired_rows: Mapping[str, int]
    removed_files: int
    warnings: tuple[str, ...]


class Compactor:
    """A lake in the hands of its compactor. Close it to let another one have it."""

    def __init__(
        self,
        location: ObjectStore | Path | str,
        limits: Mapping[str, Limit] = DEFAULT_LIMITS,
        grace_ns: int = GRACE_NS,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """Take hold of a lake, and remove what an interrupted compactor wrote.

        Args:
            location: the lake.
            limits: how long each kind of records is kept.
            grace_ns: how long after it has been replaced a file stays.
            clock: the time, UTC ns.

        Raises:
            InputError: another compactor is at work, or the lake cannot be read.
            OSError: it cannot be written.
        """
        self._place = open_store(location)
        self._publication = Publication(self._place)
        self._limits, self._grace_ns, self._clock = limits, grace_ns, clock
        self._lock = _taken(self._place)
        now = snapshot(self._place)
        head = now.heads.get(COMPACTOR)
        self._number = head.number if head else 0
        self._totals = Counter(head.totals if head else {})
        self._deleted: set[str] = set()
        self._swept_ns = clock()
        self._sweep_orphans(now, self._swept_ns)

    def close(self) -> None:
        """Let go of the lake."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def run_round(self) -> CompactionRound:
        """Pack, expire, publish, checkpoint and remove what there is to.

        Raises:
            OSError: something cannot be written; what was done until then counts.
            InputError: the manifest cannot be read.
        """
        now, time_ns = snapshot(self._place), self._clock()
        segments = rows = 0
        warnings: list[str] = []
        with suppress(OSError):  # it is tried again below; before packing, so that new records are seen without delay
            self._publication.publish(now, time_ns)
        for task in plan_compaction(now, time_ns):
            done = self._pack(compact_segments(self._place, task, self._number + 1), warnings)
            segments, rows = segments + len(done), rows + sum(segment.rows for segment in done)
        gone = self._expire(time_ns)
        now = snapshot(self._place)
        try:  # before files are deleted: the tables name none of them then
            self._publication.publish(now, time_ns)
        finally:  # deleting makes room on a disk that was too full to publish
            removed = self._tidy(now, time_ns)
        return CompactionRound(segments, rows, gone, removed, tuple(warnings))

    def _pack(self, made: CompactedSegments, warnings: list[str]) -> Sequence[Segment]:
        """Commit what was packed; the answer is what it replaces."""
        warnings += [f"{segment.file}: cannot be packed: {cause}" for segment, cause in made.unreadable]
        segments = [segment for segment, _ in made.segments]
        if not segments:
            return ()
        if _sums(segments) != _sums(made.sources):
            raise InputError(f"{self._place.name}: packed rows are not those of their sources; nothing was changed")
        self._place.put([(segment.file, content) for segment, content in made.segments])
        rows = Counter({"packed rows": sum(segment.rows for segment in segments)})
        try:
            self._commit(segments, [segment.file for segment in made.sources], rows)
        except OSError:
            with suppress(OSError):  # their names are wanted again
                self._place.remove(segment.file for segment in segments)
            raise
        return made.sources

    def _expire(self, time_ns: int) -> dict[str, int]:
        found = find_expired(snapshot(self._place), self._limits, time_ns)
        rows = Counter[str]()
        for segment, reason in found:
            rows[f"{segment.kind}: {reason}"] += segment.rows
        if found:
            self._commit([], [segment.file for segment, _ in found], rows)
        return dict(rows)

    def _commit(self, adds: Sequence[Segment], removes: Sequence[str], rows: Counter[str]) -> None:
        number, totals = self._number + 1, self._totals + rows
        time_ns, said = self._clock(), dict(totals)
        commit = Commit(COMPACTOR, 0, number, time_ns, 0, tuple(adds), "", totals=said, removes=tuple(removes))
        put_again(self._place, commit_name(COMPACTOR, number), encode_commit(commit))
        self._number, self._totals = number, totals

    def _tidy(self, now: Snapshot, time_ns: int) -> int:
        """Delete files whose time has come, and cover commits by a checkpoint when there are many."""
        due = {file for file, since_ns in now.removed.items() if since_ns <= time_ns - self._grace_ns}
        self._place.remove(sorted(due - self._deleted))
        count = len(due - self._deleted)
        self._deleted |= due
        if now.commits >= _CHECKPOINT_COMMITS:
            rest = {file: since_ns for file, since_ns in now.removed.items() if file not in due}
            write_checkpoint(self._place, replace(now, removed=rest))
            self._deleted = set()
        count += self._remove_covered(time_ns)
        self._publication.remove_covered(time_ns - self._grace_ns)
        if time_ns - self._swept_ns >= _ORPHAN_NS:
            count += self._sweep_orphans(now, time_ns)
        return count

    def _remove_covered(self, time_ns: int) -> int:
        """Delete commits that a checkpoint covers which every reader knows, and the checkpoints before that."""
        known = [found for found in self._place.list(CHECKPOINT) if found.modified_ns <= time_ns - self._grace_ns]
        base = newest_checkpoint(self._place, [found.name for found in known])
        covered = {writer: head.number for writer, head in base.heads.items()}
        behind = [found.name for found in self._place.list(MANIFEST) if _is_covered(found.name, covered)]
        behind += [found.name for found in known if (parse_checkpoint_name(found.name) or 0) < base.checkpoint]
        self._place.remove(behind)
        return len(behind)

    def _sweep_orphans(self, now: Snapshot, time_ns: int) -> int:
        """Delete what compactors wrote and did not commit, and what others have not committed for a day."""
        self._swept_ns = time_ns
        orphans = []
        for found in self._place.list(SEGMENTS):
            named = parse_name(found.name)
            if named is None or found.name in now.segments or found.name in now.removed:
                continue
            is_ours = named[0] == COMPACTOR and named[1] > self._number
            head = now.heads.get(named[0])
            is_behind = named[1] > (head.number if head else 0) and named[0] not in now.damaged
            if is_ours or (is_behind and found.modified_ns <= time_ns - _ORPHAN_NS):
                orphans.append(found.name)
        self._place.remove(orphans)
        return len(orphans)


def _taken(store: ObjectStore) -> int | None:
    if not isinstance(store, LocalStore):
        return None
    if not is_store(store):
        raise InputError(f"{store.name}: not a folder of collected records: it has no manifest")
    make_folders(store.folder)
    return take_lock(store.folder / "keeper.lock", 0.0, "another compactor is at work there")


def _is_covered(name: str, covered: Mapping[Writer, int]) -> bool:
    named = parse_commit_name(name)
    return named is not None and named[1] <= covered.get(named[0], 0)


def _sums(segments: Sequence[Segment]) -> dict[str, tuple[int, int]]:
    """Rows and bytes by exporter, and rows in all."""
    sums: dict[str, tuple[int, int]] = {"rows": (sum(segment.rows for segment in segments), 0)}
    for segment in segments:
        for exporter, (rows, volume) in segment.exporters.items():
            before = sums.get(f"of {exporter}", (0, 0))
            sums[f"of {exporter}"] = (before[0] + rows, before[1] + volume)
    return sums
