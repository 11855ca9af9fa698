"""What a lake of collected records holds: committed segments only, all of them or those that were not read before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from datamodel.errors import FlowprismError, InputError
from datamodel.frame import Frame, concat, empty
from datamodel.telemetry.counters import PORT_COUNTERS, PortReadings
from datamodel.telemetry.flows import FLOWS, IngestNotes, mark_metered, recode
from datamodel.telemetry.ingest_result import IngestResult
from storage.lake.kinds import KINDS
from storage.lake.object_names import is_store
from storage.lake.object_store import LocalStore, ObjectStore, open_store
from storage.lake.selection import EVERYTHING, Selected, Selection, lost, read_columns, schema_of, select
from storage.lake.snapshot import Snapshot, snapshot


def read_lake(location: ObjectStore | Path | str, selection: Selection = EVERYTHING) -> IngestResult:
    """The flow records of a lake; one that is being written to gives what is committed by now.

    Interface counters come with them, but for a selection of endpoints: they count what all send.

    Args:
        location: where `flowprism collect` writes.
        selection: which of them; with all columns.

    Raises:
        InputError: it is no such folder, or its manifest cannot be read.
    """
    reading = _ingested(_selected(location, "flows", selection))
    if selection.endpoints is not None:
        return reading
    counted = _selected(location, "counters", replace(selection, columns=PORT_COUNTERS.names))
    return replace(reading, counters=PortReadings.of(counted.frame, counted.book))


def _ingested(selected: Selected) -> IngestResult:
    flows = recode(mark_metered(selected.frame), selected.book)
    exporters = tuple(flows.addresses[code] for code in np.unique(flows.frame["sampler_address"]) if code >= 0)
    return IngestResult(flows, _notes(selected), len(flows), int(flows.frame["bytes"].sum()), exporters)


def iter_lake(location: ObjectStore | Path | str) -> Iterator[IngestResult]:
    """The flow records of a lake as it is now, a row group at a time, each with the notes on what is left out there.

    Raises:
        InputError: it is no such folder, its manifest cannot be read, or a segment was compacted and removed meanwhile.
    """
    store = _lake(location)
    now = snapshot(store)
    yield _ingested(Selected(empty(FLOWS), (), (), now))
    for segment in now.of_kind("flows"):
        codes: dict[str, int] = {}
        try:
            for columns in read_columns(store, segment, FLOWS, EVERYTHING, codes, at_once=False):
                part = Selected(Frame(FLOWS, columns), tuple(codes), (), Snapshot())
                yield _ingested(part)
        except (OSError, ValueError, FlowprismError) as error:
            if isinstance(error, FileNotFoundError) and segment.file not in snapshot(store).segments:
                raise InputError(f"{store.name}: a segment was compacted and removed before it could be read") from None
            yield _ingested(Selected(empty(FLOWS), (), (lost(segment, error),), Snapshot()))


def find_newest_ns(location: ObjectStore | Path | str) -> int | None:
    """When the last committed flow record ends, UTC; None where there is none.

    Raises:
        InputError: it is no lake, or its manifest cannot be read.
    """
    return max((segment.end_ns for segment in snapshot(_lake(location)).of_kind("flows")), default=None)


def read_kind(
    location: ObjectStore | Path | str, kind: str, selection: Selection = EVERYTHING
) -> tuple[Frame, tuple[str, ...]]:
    """Records of one kind, and the book that their codes point into.

    Raises:
        InputError: it is no such folder, or its manifest or a segment cannot be read.
    """
    selected = _selected(location, kind, selection)
    if selected.lost:
        raise InputError(selected.lost[0][1])
    return selected.frame, selected.book


class NewRecords:
    """A reader that returns each committed segment of one kind once.

    Segments that compaction made hold records that were committed before and are not read. A segment that is compacted
    between two reads, or that cannot be read, is missed: the reader is for what is recent, not for what must be whole.

    Attributes:
        texts: text of each code in the records; codes keep their meaning from one read to the next.
    """

    def __init__(self, location: ObjectStore | Path | str, kind: str, columns: tuple[str, ...]) -> None:
        """Read `columns` of the records of a `kind` (`storage.lake.kinds.KINDS`)."""
        self._store, self._selection = open_store(location), Selection(columns=columns)
        self._kind, self._schema = kind, schema_of(KINDS[kind], self._selection)
        self._read: frozenset[str] = frozenset()
        self.texts: dict[str, int] = {}

    def read(self, now: Snapshot, since_ns: int) -> Frame:
        """Return the new records of segments that reach `since_ns` (UTC) or later."""
        written = [one for one in now.of_kind(self._kind) if one.group < 0]
        new = [one for one in written if one.file not in self._read and one.end_ns >= since_ns]
        self._read = frozenset(one.file for one in written)
        frames: list[Frame] = []
        for segment in new:
            try:
                parts = list(read_columns(self._store, segment, self._schema, self._selection, self.texts))
            except (OSError, ValueError, FlowprismError):
                continue
            frames += [Frame(self._schema, columns) for columns in parts]
        return concat(self._schema, frames)


def _selected(location: ObjectStore | Path | str, kind: str, selection: Selection) -> Selected:
    return select(_lake(location), kind, selection)


def _lake(location: ObjectStore | Path | str) -> ObjectStore:
    store = open_store(location)
    if isinstance(store, LocalStore) and not is_store(store):
        raise InputError(f"{store.name}: not a folder of collected records: it has no manifest")
    return store


def _notes(selected: Selected) -> IngestNotes:
    """What collecting left out, from each writer's newest commit, and what reading could not find."""
    rejected: Counter[str] = Counter()
    for head in selected.at.heads.values():
        rejected.update(head.rejected)
    rejected["row of a committed segment that cannot be read"] += sum(segment.rows for segment, _ in selected.lost)
    warnings = [text for _, text in selected.lost]
    warnings += [
        f"{writer.name}: {count} damaged commits; what they committed was not read"
        for writer, count in sorted(selected.at.damaged.items())
    ]
    return IngestNotes({reason: count for reason, count in sorted(rejected.items()) if count}, tuple(warnings))
