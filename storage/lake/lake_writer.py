"""Committing what was decoded: segments first, then the one object of the manifest that makes them count."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import zstandard

from datamodel.errors import InputError
from datamodel.frame import Frame
from storage.lake.kinds import KINDS
from storage.lake.manifest import Commit, Segment, encode_commit
from storage.lake.object_names import SEGMENTS, STATE, Writer, commit_name, parse_name, segment_name, state_name
from storage.lake.object_store import Content, ObjectStore, open_store
from storage.lake.segments import encode_segment
from storage.lake.snapshot import snapshot

_STATE_LEVEL = 1
_MOST_STATE_BYTES = 1 << 31


@dataclass(frozen=True, slots=True)
class CommitBatch:
    """What is to be committed at once.

    Attributes:
        until: datagrams of the session's queue below this number are contained in it or committed before.
        tables: frames of `storage.lake.kinds.KINDS`, one a kind; those without rows are not written.
        addresses: text of every code in them.
        state: what decoding must remember to go on behind it; empty where there is nothing to remember.
        set_aside: names of files in which datagrams that cannot be decoded were kept.
        totals: the writer's sums over all its commits, this one included.
        rejected: what was left out in the session so far, by reason.
    """

    until: int
    tables: Sequence[Frame]
    addresses: Sequence[str]
    state: bytes
    set_aside: tuple[str, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)


class LakeWriter:
    """One writer's place in a lake.

    After a crash a new `Store` of the same writer goes on behind the newest commit: what was written but not
    committed is removed, and its names are used again. A caller that repeats a task under the same writer sees by
    `newest` that it is done.

    Attributes:
        newest: the writer's newest commit; None before the first.
    """

    def __init__(self, location: ObjectStore | Path | str, writer: Writer, workers: int) -> None:
        """Go on where this writer's commits end.

        Args:
            location: the lake.
            writer: who writes; unique to this caller.
            workers: how many workers the session has.

        Raises:
            OSError: the place cannot be used.
            InputError: the manifest cannot be read.
        """
        self._place, self._writer, self._workers = open_store(location), writer, workers
        self.newest: Commit | None = snapshot(self._place).heads.get(writer)
        self._remove_uncommitted()

    def commit(self, batch: CommitBatch) -> Commit:
        """Make `batch` durable, wholly or (where this raises) not at all.

        Raises:
            OSError: something could not be written; the same batch may be committed again.
        """
        number = self.newest.number + 1 if self.newest else 1
        objects: list[tuple[str, Content]] = []
        segments = tuple(self._segment(number, frame, batch.addresses, objects) for frame in batch.tables if len(frame))
        state = state_name(self._writer, number) if batch.state else ""
        if state:
            objects.append((f"{STATE}/{state}", zstandard.ZstdCompressor(level=_STATE_LEVEL).compress(batch.state)))
        reached = max(self.newest.reached_ns if self.newest else 0, *map(reached_ns, batch.tables), 0)
        commit = Commit(
            self._writer, self._workers, number, time.time_ns(), batch.until, segments, state,
            batch.set_aside, batch.totals, batch.rejected, reached_ns=reached,
        )  # fmt: skip
        self._put(objects, commit)
        before, self.newest = self.newest, commit
        if before is not None and before.state:
            with suppress(OSError):  # it no longer matters; the next session removes it
                self._place.remove([f"{STATE}/{before.state}"])
        return commit

    def _put(self, objects: list[tuple[str, Content]], commit: Commit) -> None:
        self._place.put(objects)
        try:
            self._place.put([(commit_name(self._writer, commit.number), encode_commit(commit))])
        except OSError:
            with suppress(OSError):
                self._place.remove(name for name, _ in objects)
            raise

    def _segment(self, number: int, frame: Frame, book: Sequence[str], objects: list[tuple[str, Content]]) -> Segment:
        start_ns, end_ns = span_ns(frame)
        name = segment_name(self._writer, number, frame.schema.name, start_ns)
        content = encode_segment(frame, book)
        objects.append((name, content))
        sums = sums_by_exporter(frame, book)
        return Segment(frame.schema.name, name, len(frame), content.size, start_ns, end_ns, sums)

    def _remove_uncommitted(self) -> None:
        """Remove what an attempt left that did not reach the manifest."""
        newest = self.newest.number if self.newest else 0
        for folder in (SEGMENTS, STATE):
            names = (found.name for found in self._place.list(folder))
            self._place.remove(name for name in names if _is_behind(name, self._writer, newest))
        self._place.remove([commit_name(self._writer, newest + 1)])


def _is_behind(name: str, writer: Writer, newest: int) -> bool:
    named = parse_name(name)
    return named is not None and named[0] == writer and named[1] > newest


def read_state(location: ObjectStore | Path | str, name: str) -> bytes:
    """What decoding must remember, from the state file of that name.

    Raises:
        InputError: the file is missing or damaged.
    """
    store = open_store(location)
    path = f"{store.name}/{STATE}/{name}"
    try:
        content = store.read(f"{STATE}/{name}")
        return zstandard.ZstdDecompressor().decompress(content, max_output_size=_MOST_STATE_BYTES)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except zstandard.ZstdError as error:
        raise InputError(f"{path}: damaged: {error}") from None


def span_ns(frame: Frame) -> tuple[int, int]:
    """The time that records span, UTC."""
    kind = KINDS[frame.schema.name]
    return int(frame[kind.start].min()), int(frame[kind.end].max())


def sums_by_exporter(frame: Frame, book: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Rows and bytes by exporter; of an exporter that is not known under the empty name."""
    column = KINDS[frame.schema.name].exporter
    if not column:
        return {}
    codes = frame[column] + 1 if column in frame.schema.names else np.zeros(len(frame), np.int64)
    rows = np.bincount(codes, minlength=1)
    sums = np.zeros(len(rows), np.int64)
    if "bytes" in frame.schema.names:
        # Floating point is exact below 2^53, more bytes than one commit can hold.
        sums = np.bincount(codes, weights=frame["bytes"], minlength=1).astype(np.int64)
    names = ["", *book]
    return {names[code]: (int(rows[code]), int(sums[code])) for code in np.flatnonzero(rows)}


def reached_ns(frame: Frame) -> int:
    """The time, UTC, that the newest records of half the exporters have reached; 0 of other tables than flow records.

    A single exporter whose clock is ahead must not make a window look complete while the records of the others are
    still to come. So half of the exporters must have reached the time, and so must exporters of half of the records:
    neither many exporters with a record each nor one with very many decide alone.
    """
    if frame.schema.name != "flows" or len(frame) == 0:
        return 0
    exporter = (frame["sampler_address"].astype(np.int64) + 1) << 32 | frame["observation_domain_id"].astype(np.int64)
    order = np.argsort(exporter, kind="stable")
    starts = np.flatnonzero(np.diff(exporter[order], prepend=-1))
    newest = np.maximum.reduceat(frame["time_flow_end_ns"][order], starts)
    rows = np.diff(np.append(starts, len(order)))
    return max(min(_lower_median(newest, np.ones(len(rows))), _lower_median(newest, rows)), 0)


def _lower_median(values: npt.NDArray[np.int64], weights: npt.NDArray[np.float64] | npt.NDArray[np.int64]) -> int:
    """The least value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return int(values[order][np.searchsorted(sums, sums[-1] / 2)])
