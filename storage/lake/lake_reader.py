"""What a folder of collected records holds: committed segments only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from datamodel.errors import InputError
from datamodel.flows import IngestNotes, mark_metered, recode
from datamodel.frame import Frame
from datamodel.ingest_result import IngestResult
from storage.lake.object_names import is_store
from storage.lake.object_store import LocalStore, ObjectStore, open_store
from storage.lake.selection import EVERYTHING, Selected, Selection, select
from storage.lake.snapshot import snapshot


def read_lake(location: ObjectStore | Path | str, selection: Selection = EVERYTHING) -> IngestResult:
    """The flow records of a lake; one that is being written to gives what is committed by now.

    Args:
        location: where `flowprism collect` writes.
        selection: which of them; with all columns.

    Raises:
        InputError: it is no such folder, or its manifest cannot be read.
    """
    selected = _selected(location, "flows", selection)
    flows = recode(mark_metered(selected.frame), selected.book)
    exporters = tuple(flows.addresses[code] for code in np.unique(flows.frame["sampler_address"]) if code >= 0)
    return IngestResult(flows, _notes(selected), len(flows), int(flows.frame["bytes"].sum()), exporters)


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
