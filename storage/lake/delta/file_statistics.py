"""The statistics of a segment that an engine skips it by, from the segment's own row groups.

They are exact: some engines answer a minimum or a maximum from them, so the bounds of the manifest do not do.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from storage.lake.kinds import Kind
from storage.lake.manifest import Segment
from storage.lake.object_store import ObjectStore

_READERS = 8  # an object store answers in tens of milliseconds, and many questions at once


def file_statistics(store: ObjectStore, kind: Kind, segments: Sequence[Segment]) -> list[str]:
    """Of each segment, its rows and the bounds of its times, as Delta Lake's JSON."""
    if len(segments) <= 1:
        return [_statistics(store, kind, segment) for segment in segments]
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(lambda segment: _statistics(store, kind, segment), segments))


def _statistics(store: ObjectStore, kind: Kind, segment: Segment) -> str:
    said: dict[str, Any] = {"numRecords": segment.rows}
    try:
        with store.open(segment.file) as source:
            found = pq.ParquetFile(source).metadata
        bounds = {name: _bounds(found, name) for name in dict.fromkeys((kind.start, kind.end))}
    except (
        OSError,
        ValueError,
        pa.ArrowException,
    ):  # a damaged segment has no bounds; readers say what is wrong with it
        bounds = {}
    known = {name: pair for name, pair in bounds.items() if pair is not None}
    if known:
        said["minValues"] = {name: least for name, (least, _) in known.items()}
        said["maxValues"] = {name: most for name, (_, most) in known.items()}
        said["nullCount"] = dict.fromkeys(known, 0)
    return json.dumps(said, separators=(",", ":"))


def _bounds(found: pq.FileMetaData, column: str) -> tuple[int, int] | None:
    """Least and greatest value of a column without nulls; None where a row group does not say it."""
    place = found.schema.names.index(column)
    groups = [found.row_group(number).column(place).statistics for number in range(found.num_row_groups)]
    if not groups or any(known is None or not known.has_min_max or known.null_count for known in groups):
        return None
    return min(int(known.min) for known in groups), max(int(known.max) for known in groups)
