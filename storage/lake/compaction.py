"""Packing: many small segments become few large sorted ones, of one hour and one group of exporters each.

What is to be packed is decided from the manifest alone; that and the rows decide what comes of it, not the machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datamodel.durations import HOUR_NS
from datamodel.errors import FlowprismError
from datamodel.frame import Array, Column, Frame, Schema
from datamodel.row_order import sorted_order
from storage.lake.kinds import KINDS, Kind
from storage.lake.lake_writer import span_ns, sums_by_exporter
from storage.lake.manifest import Segment
from storage.lake.object_names import group_of, hour_name, packed_name
from storage.lake.object_store import ObjectStore
from storage.lake.segments import encode_segment
from storage.lake.selection import EVERYTHING, read_columns
from storage.lake.snapshot import Snapshot

MOST_ROWS = 1 << 21  # packed at once; that takes half a gigabyte
SETTLE_NS = 600_000_000_000  # small segments wait so long for more of their kind


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """Segments of one kind that are to be packed together."""

    kind: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class CompactedSegments:
    """What came of a task: new segments with their content, and sources that could not be read, with the cause."""

    segments: tuple[tuple[Segment, pa.Buffer], ...]
    sources: tuple[Segment, ...]
    unreadable: tuple[tuple[Segment, str], ...]


def plan_compaction(now: Snapshot, time_ns: int) -> list[CompactionTask]:
    """What is worth packing at `time_ns`, UTC.

    Fresh segments are packed as soon as there are `MOST_ROWS` of them, and otherwise when the oldest has waited for
    `SETTLE_NS`. What is packed and still small is packed once more when nothing has been added to its hour for long.
    """
    found: list[CompactionTask] = []
    for kind in KINDS:
        segments = now.of_kind(kind)
        fresh = [segment for segment in segments if segment.group < 0]
        for part in _parts(fresh):
            full = sum(segment.rows for segment in part) > MOST_ROWS // 2
            if full or min(segment.written_ns for segment in part) <= time_ns - SETTLE_NS:
                found.append(CompactionTask(kind, tuple(part)))
        found += [CompactionTask(kind, tuple(part)) for part in _small(segments, time_ns)]
    return found


def _parts(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Neighbours in time that have no more than `MOST_ROWS` together; a larger segment stands alone."""
    part: list[Segment] = []
    rows = 0
    for segment in segments:
        if part and rows + segment.rows > MOST_ROWS:
            yield part
            part, rows = [], 0
        part.append(segment)
        rows += segment.rows
    if part:
        yield part


def _small(segments: Sequence[Segment], time_ns: int) -> Iterator[list[Segment]]:
    together: dict[tuple[str, int], list[Segment]] = defaultdict(list)
    for segment in segments:
        if segment.group >= 0 and segment.rows < MOST_ROWS // 4:
            together[hour_name(segment.start_ns), segment.group].append(segment)
    for same in together.values():
        if max(segment.written_ns for segment in same) <= time_ns - HOUR_NS:
            yield from (part for part in _parts(same) if len(part) > 1)


def compact_segments(store: ObjectStore, task: CompactionTask, number: int) -> CompactedSegments:
    """Read the segments of a task and pack their rows; nothing is written.

    Args:
        store: the lake.
        task: what is to be packed.
        number: of the commit that the new segments are to be part of.
    """
    kind = KINDS[task.kind]
    codes: dict[str, int] = {}
    parts: list[dict[str, Array]] = []
    sources: list[Segment] = []
    unreadable: list[tuple[Segment, str]] = []
    for segment in task.segments:
        try:
            parts += read_columns(store, segment, kind.schema, EVERYTHING, codes)
            sources.append(segment)
        except (OSError, ValueError, FlowprismError) as error:
            unreadable.append((segment, " ".join(str(error).split())))
    if not sources:
        return CompactedSegments((), (), tuple(unreadable))
    book, written_ns = tuple(codes), max(segment.written_ns for segment in sources)
    frame = _joined(kind.schema, parts)
    made = [
        _segment(frame.take(rows), book, number, part, written_ns)
        for part, rows in enumerate(_order(kind, frame, book))
    ]
    return CompactedSegments(tuple(made), tuple(sources), tuple(unreadable))


def _joined(schema: Schema, parts: Sequence[dict[str, Array]]) -> Frame:
    """The rows of all parts, with only those columns that are in one of them. Parts are used up, to spare memory."""
    rows = [len(next(iter(part.values()))) for part in parts]
    present = tuple(column for column in schema if any(column.name in part for part in parts))
    columns = {
        column.name: np.concatenate([_taken(part, column, n) for part, n in zip(parts, rows, strict=True)])
        for column in present
    }
    return Frame(Schema(schema.name, present), columns)


def _taken(part: dict[str, Array], column: Column, rows: int) -> Array:
    values = part.pop(column.name, None)
    return np.full(rows, column.default, column.dtype) if values is None else values


def _order(kind: Kind, frame: Frame, book: Sequence[str]) -> list[npt.NDArray[np.int64]]:
    """Rows in packed order, those of each hour and group of exporters together."""
    hour = frame[kind.start] // HOUR_NS
    group = _groups(kind, frame, book)
    rank = np.empty(len(book) + 1, np.int32)
    rank[np.argsort(np.array([*book, ""], object), kind="stable")] = np.arange(len(book) + 1)
    keys = [
        rank[frame[name]] if name in kind.texts else frame[name] for name in kind.order if name in frame.schema.names
    ]
    order = sorted_order([hour, group, *keys])
    changes = np.flatnonzero(np.diff(hour[order]) | np.diff(group[order])) + 1
    return np.split(order, changes)


def _groups(kind: Kind, frame: Frame, book: Sequence[str]) -> npt.NDArray[np.int64]:
    """The group of exporters of each row; 0 where records have none."""
    if kind.exporter not in frame.schema.names:
        return np.full(len(frame), group_of("") if kind.exporter else 0, np.int64)
    return np.array([*map(group_of, book), group_of("")], np.int64)[frame[kind.exporter]]


def _segment(frame: Frame, book: Sequence[str], number: int, part: int, written_ns: int) -> tuple[Segment, pa.Buffer]:
    kind = KINDS[frame.schema.name]
    start_ns, end_ns = span_ns(frame)
    group = int(_groups(kind, frame.take(np.arange(1)), book)[0])
    name = packed_name(number, frame.schema.name, start_ns, group, part)
    content = encode_segment(frame, book, packed=True)
    sums = sums_by_exporter(frame, book)
    return Segment(
        frame.schema.name, name, len(frame), content.size, start_ns, end_ns, sums, group, written_ns
    ), content
