"""What a folder of collected records holds: committed segments only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from datamodel.errors import InputError
from datamodel.flows import FeedNotes, exported, recode
from datamodel.frame import Frame
from datamodel.reading import Reading
from storage.layout import is_store
from storage.place import LocalPlace, Place, place_at
from storage.selecting import EVERYTHING, Selected, Selection, select
from storage.snapshot import snapshot


def read(location: Place | Path | str, selection: Selection = EVERYTHING) -> Reading:
    """The flow records of a lake; one that is being written to gives what is committed by now.

    Args:
        location: where `flowprism collect` writes.
        selection: which of them; with all columns.

    Raises:
        InputError: it is no such folder, or its manifest cannot be read.
    """
    selected = _selected(location, "flows", selection)
    flows = recode(exported(selected.frame), selected.book)
    exporters = tuple(flows.addresses[code] for code in np.unique(flows.frame["sampler_address"]) if code >= 0)
    return Reading(flows, _notes(selected), len(flows), int(flows.frame["bytes"].sum()), exporters)


def newest_ns(location: Place | Path | str) -> int | None:
    """When the last committed flow record ends, UTC; None where there is none.

    Raises:
        InputError: it is no lake, or its manifest cannot be read.
    """
    return max((segment.end_ns for segment in snapshot(_lake(location)).of_kind("flows")), default=None)


def read_kind(
    location: Place | Path | str, kind: str, selection: Selection = EVERYTHING
) -> tuple[Frame, tuple[str, ...]]:
    """Records of one kind, and the book that their codes point into.

    Raises:
        InputError: it is no such folder, or its manifest or a segment cannot be read.
    """
    selected = _selected(location, kind, selection)
    if selected.lost:
        raise InputError(selected.lost[0][1])
    return selected.frame, selected.book


def _selected(location: Place | Path | str, kind: str, selection: Selection) -> Selected:
    return select(_lake(location), kind, selection)


def _lake(location: Place | Path | str) -> Place:
    place = place_at(location)
    if isinstance(place, LocalPlace) and not is_store(place):
        raise InputError(f"{place.name}: not a folder of collected records: it has no manifest")
    return place


def _notes(selected: Selected) -> FeedNotes:
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
    return FeedNotes({reason: count for reason, count in sorted(rejected.items()) if count}, tuple(warnings))
