"""What a folder of collected records holds: committed segments only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from datamodel.errors import InputError
from datamodel.flows import FeedNotes, recode
from datamodel.frame import Frame, concat
from datamodel.reading import Reading
from storage.layout import KINDS, SEGMENTS, is_store
from storage.manifest import Manifest, Segment, read_manifests
from storage.segments import read_segment


def read(folder: Path) -> Reading:
    """The flow records of a folder of collected records; one that is being written to gives what is committed by now.

    Args:
        folder: where `flowprism collect` writes.

    Raises:
        InputError: it is no such folder, or its manifest cannot be read.
    """
    manifests = _manifests(folder)
    frame, addresses, lost = _table(folder, manifests, "flows")
    flows = recode(frame, addresses)
    exporters = tuple(flows.addresses[code] for code in np.unique(flows.frame["sampler_address"]) if code >= 0)
    notes = _notes(manifests, lost)
    return Reading(flows, notes, len(flows), int(flows.frame["bytes"].sum()), exporters)


def read_kind(folder: Path, kind: str) -> tuple[Frame, tuple[str, ...]]:
    """The counters or drops (or flows) of a folder, and the address book that their codes point into.

    Raises:
        InputError: it is no such folder, or its manifest or a segment cannot be read.
    """
    frame, addresses, lost = _table(folder, _manifests(folder), kind)
    if lost:
        raise InputError(lost[0][1])
    return frame, addresses


def _manifests(folder: Path) -> list[Manifest]:
    if not is_store(folder):
        raise InputError(f"{folder}: not a folder of collected records: it has no manifest")
    return list(read_manifests(folder))


def _table(
    folder: Path, manifests: list[Manifest], kind: str
) -> tuple[Frame, tuple[str, ...], list[tuple[Segment, str]]]:
    """Rows of one kind, their address book, and the segments that cannot be read, with the cause."""
    codes: dict[str, int] = {}
    frames: list[Frame] = []
    lost: list[tuple[Segment, str]] = []
    for manifest in manifests:
        for segment in (s for commit in manifest.commits for s in commit.segments if s.kind == kind):
            try:
                frames.append(_rows(folder / SEGMENTS / segment.file, segment, codes))
            except (OSError, ValueError, InputError) as error:
                lost.append((segment, f"{segment.file}: committed, but cannot be read: {_cause(error)}"))
    schema = KINDS[kind]
    return concat(schema, frames), tuple(codes), lost


def _rows(path: Path, segment: Segment, codes: dict[str, int]) -> Frame:
    frame = read_segment(path, KINDS[segment.kind], codes)
    if len(frame) != segment.rows:
        raise InputError(f"{len(frame)} rows instead of {segment.rows}")
    return frame


def _cause(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())


def _notes(manifests: list[Manifest], lost: list[tuple[Segment, str]]) -> FeedNotes:
    """What collecting left out, from each writer's newest commit, and what reading could not find."""
    rejected: Counter[str] = Counter()
    for manifest in manifests:
        if manifest.commits:
            rejected.update(manifest.commits[-1].rejected)
    rejected["row of a committed segment that cannot be read"] += sum(segment.rows for segment, _ in lost)
    warnings = [text for _, text in lost]
    warnings += [
        f"{m.writer.name}.log: {m.damaged_lines} damaged lines; what they committed was not read"
        for m in manifests
        if m.damaged_lines
    ]
    return FeedNotes({reason: count for reason, count in sorted(rejected.items()) if count}, tuple(warnings))
