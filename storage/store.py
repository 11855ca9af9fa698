"""Committing what was decoded: segments first, then the one manifest line that makes them count."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import zstandard

from datamodel.errors import InputError
from datamodel.frame import Frame
from storage.layout import SEGMENTS, STATE, Writer, segment_name, state_name, sync_folder
from storage.manifest import Commit, ManifestLog, Segment, path_of, read_manifest
from storage.segments import write_segment

_STATE_LEVEL = 1
_MOST_STATE_BYTES = 1 << 31


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be committed at once.

    Attributes:
        until: datagrams of the session's queue below this number are contained in it or committed before.
        tables: frames of `storage.layout.KINDS`; those without rows are not written.
        addresses: text of every address code in them.
        state: what decoding must remember to go on behind it.
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


class Store:
    """One writer's place in a folder of collected records.

    After a crash a new `Store` of the same writer goes on behind the newest commit: what was written but not
    committed is removed, and its names are used again.

    Attributes:
        newest: the writer's newest commit; None before the first.
    """

    def __init__(self, folder: Path, writer: Writer, workers: int) -> None:
        """Go on where this writer's manifest ends.

        Args:
            folder: with its sub-folders made (`storage.layout.make_folders`).
            writer: who writes; nobody else does under this name.
            workers: how many workers the session has.

        Raises:
            OSError: the folder cannot be written.
        """
        self._folder, self._writer, self._workers = folder, writer, workers
        self._log = ManifestLog(folder, writer)
        commits = read_manifest(path_of(folder, writer)).commits
        self.newest: Commit | None = commits[-1] if commits else None
        self._remove_uncommitted()

    def commit(self, batch: Batch) -> Commit:
        """Make `batch` durable, wholly or (where this raises) not at all.

        Raises:
            OSError: something could not be written; the same batch may be committed again.
        """
        number = self.newest.number + 1 if self.newest else 1
        try:
            segments = tuple(self._segment(number, frame, batch.addresses) for frame in batch.tables if len(frame))
            state = self._write_state(number, batch.state)
            if segments:
                sync_folder(self._folder / SEGMENTS)
            sync_folder(self._folder / STATE)
            said = (batch.set_aside, batch.totals, batch.rejected)
            commit = Commit(self._writer, self._workers, number, time.time_ns(), batch.until, segments, state, *said)
            self._log.append(commit)
        except OSError:
            self._remove_uncommitted()
            raise
        before, self.newest = self.newest, commit
        if before is not None:
            (self._folder / STATE / before.state).unlink(missing_ok=True)
        return commit

    def close(self) -> None:
        """Close the manifest."""
        self._log.close()

    def _segment(self, number: int, frame: Frame, addresses: Sequence[str]) -> Segment:
        kind = frame.schema.name
        name = segment_name(self._writer, number, kind)
        size = write_segment(self._folder / SEGMENTS / name, frame, addresses)
        start, end = ("time_flow_start_ns", "time_flow_end_ns") if kind == "flows" else ("time_ns", "time_ns")
        span = int(frame[start].min()), int(frame[end].max())
        return Segment(kind, name, len(frame), size, *span, _by_exporter(frame, addresses))

    def _write_state(self, number: int, state: bytes) -> str:
        name = state_name(self._writer, number)
        with (self._folder / STATE / name).open("xb") as file:
            file.write(zstandard.ZstdCompressor(level=_STATE_LEVEL).compress(state))
            file.flush()
            os.fsync(file.fileno())
        return name

    def _remove_uncommitted(self) -> None:
        """Remove what an attempt left that did not reach its manifest line."""
        number = self.newest.number + 1 if self.newest else 1
        for kind_folder in (SEGMENTS, STATE):
            for path in (self._folder / kind_folder).glob(f"{self._writer.name}-{number:08d}*"):
                path.unlink()


def read_state(folder: Path, name: str) -> bytes:
    """What decoding must remember, from the state file of that name.

    Raises:
        InputError: the file is missing or damaged.
    """
    path = folder / STATE / name
    try:
        return zstandard.ZstdDecompressor().decompress(path.read_bytes(), max_output_size=_MOST_STATE_BYTES)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except zstandard.ZstdError as error:
        raise InputError(f"{path}: damaged: {error}") from None


def _by_exporter(frame: Frame, addresses: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Rows and bytes by exporter; of an exporter that is not known under the empty name."""
    codes = frame["sampler_address"] + 1
    rows = np.bincount(codes, minlength=1)
    sums = np.zeros(len(rows), np.int64)
    if "bytes" in frame.schema.names:
        # Floating point is exact below 2^53, more bytes than one commit can hold.
        sums = np.bincount(codes, weights=frame["bytes"], minlength=1).astype(np.int64)
    names = ["", *addresses]
    return {names[code]: (int(rows[code]), int(sums[code])) for code in np.flatnonzero(rows)}
