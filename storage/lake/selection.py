"""Reading some of a lake: one kind of records, in a window of time, of some exporters or endpoints, some columns.

What does not matter is passed over three times: whole segments by the manifest, row groups by their statistics, and
columns that were not asked for. What is left is compared row by row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datamodel.errors import FlowprismError, InputError
from datamodel.frame import Array, Frame, Schema, concat
from storage.arrow_arrays import codes_to_numpy, texts_to_arrow, to_numpy, truths_to_numpy
from storage.lake.kinds import KINDS, Kind
from storage.lake.manifest import Segment
from storage.lake.object_names import group_of
from storage.lake.object_store import ObjectStore, open_store
from storage.lake.segments import decode_columns
from storage.lake.snapshot import Snapshot, snapshot

Bool = npt.NDArray[np.bool_]

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Selection:
    """What to read; None stands for all.

    Attributes:
        start_ns, end_ns: records that begin before `end_ns` and end at `start_ns` or later, UTC.
        exporters: agent addresses.
        endpoints: addresses; a record counts when it is sent or received by one of them.
        jobs: ids.
        columns: names, in any order.
    """

    start_ns: int | None = None
    end_ns: int | None = None
    exporters: frozenset[str] | None = None
    endpoints: frozenset[str] | None = None
    jobs: frozenset[str] | None = None
    columns: tuple[str, ...] | None = None


EVERYTHING = Selection()


@dataclass(frozen=True, slots=True)
class Selected:
    """What was read.

    Attributes:
        frame: rows; its schema holds the columns asked for.
        book: text of every code in them, and maybe of others.
        lost: committed segments that cannot be read, and why.
        at: what counted when it was read.
    """

    frame: Frame
    book: tuple[str, ...]
    lost: tuple[tuple[Segment, str], ...]
    at: Snapshot


class _Outdated(Exception):  # noqa: N818 - no error: the reader was slow, and restarts
    """A segment has been replaced and removed since the snapshot."""


def select(location: ObjectStore | Path | str, kind: str, selection: Selection = EVERYTHING) -> Selected:
    """Some of the records of one kind, those committed by now.

    Raises:
        InputError: records of this kind have no such column or cannot be selected so, or the manifest cannot be read.
    """
    store, known = open_store(location), KINDS[kind]
    schema = schema_of(known, selection)
    for _ in range(_ATTEMPTS):
        now = snapshot(store)
        try:
            return _selected(store, known, schema, selection, now)
        except _Outdated:
            continue
    raise InputError(f"{store.name}: segments are replaced faster than they can be read")


def overlaps(segment: Segment, selection: Selection) -> bool:
    """Whether a segment can hold records that are asked for."""
    if selection.start_ns is not None and segment.end_ns < selection.start_ns:
        return False
    if selection.end_ns is not None and segment.start_ns >= selection.end_ns:
        return False
    if selection.exporters is None:
        return True
    if segment.group >= 0 and segment.group not in {group_of(exporter) for exporter in selection.exporters}:
        return False
    return not segment.exporters or not selection.exporters.isdisjoint(segment.exporters)


def schema_of(kind: Kind, selection: Selection) -> Schema:
    """Return the columns of a kind that a selection asks for.

    Raises:
        InputError: records of this kind have no such column or cannot be selected so.
    """
    asked = {
        "exporter": (selection.exporters, kind.exporter),
        "endpoint": (selection.endpoints, kind.endpoints),
        "job": (selection.jobs, kind.job),
    }
    for what, (wanted, there) in asked.items():
        if wanted is not None and not there:
            raise InputError(f"{kind.schema.name} cannot be selected by {what}")
    if selection.columns is None:
        return kind.schema
    unknown = set(selection.columns) - set(kind.schema.names)
    if unknown:
        raise InputError(f"{kind.schema.name} have no column {min(unknown)!r}")
    return Schema(kind.schema.name, tuple(c for c in kind.schema if c.name in selection.columns))


def _selected(store: ObjectStore, kind: Kind, schema: Schema, selection: Selection, now: Snapshot) -> Selected:
    codes: dict[str, int] = {}
    frames: list[Frame] = []
    missing: list[tuple[Segment, str]] = []
    for segment in now.of_kind(kind.schema.name):
        if not overlaps(segment, selection):
            continue
        try:
            frames += [Frame(schema, columns) for columns in read_columns(store, segment, schema, selection, codes)]
        except (OSError, ValueError, FlowprismError) as error:
            if isinstance(error, FileNotFoundError) and segment.file not in snapshot(store).segments:
                raise _Outdated from None
            missing.append(lost(segment, error))
    return Selected(concat(schema, frames), tuple(codes), tuple(missing), now)


def lost(segment: Segment, error: Exception) -> tuple[Segment, str]:
    """A committed segment that cannot be read, and why."""
    name = segment.file.rpartition("/")[2]
    return segment, f"{name}: committed, but cannot be read: {_cause(error)}"


def read_columns(
    store: ObjectStore,
    segment: Segment,
    schema: Schema,
    selection: Selection,
    codes: dict[str, int],
    *,
    at_once: bool = True,
) -> Iterator[dict[str, Array]]:
    """The records of a segment that are asked for: their columns by name, once or not at all.

    Columns of `schema` that are not in the file hold their default in every row. Without `at_once` each row group
    comes for itself.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged (pyarrow's errors are ValueErrors too).
        InputError: it does not hold as many rows as were committed.
    """
    kind = KINDS[segment.kind]
    with store.open(segment.file) as source:
        file = pq.ParquetFile(source)
        if file.metadata.num_rows != segment.rows:
            raise InputError(f"{file.metadata.num_rows} rows instead of {segment.rows}")
        tests = _tests(kind, segment, selection)
        groups = [group for group in range(file.num_row_groups) if _may_hold(file.metadata.row_group(group), tests)]
        wanted = {*schema.names, *(test.column for test in tests)}
        columns = [name for name in file.schema_arrow.names if name in wanted]
        for part in [groups] if at_once and groups else [[group] for group in groups]:
            table = file.read_row_groups(part, columns=columns)
            yield _matching(decode_columns(table, schema, kind.texts, codes), table, tests)


@dataclass(frozen=True, slots=True)
class _Test:
    """What a row must fulfil: one of the columns of `alternative` fits.

    Attributes:
        column: name.
        least, most: bounds of what fits, both within; None where there is none.
        texts: what fits, sorted; None where the bounds say it.
        alternative: tests of the same number are alternatives, those of different numbers must all be fulfilled.
    """

    column: str
    least: int | None
    most: int | None
    texts: tuple[str, ...] | None
    alternative: int


def _tests(kind: Kind, segment: Segment, selection: Selection) -> list[_Test]:
    found: list[_Test] = []
    if selection.end_ns is not None and segment.end_ns >= selection.end_ns:
        found.append(_Test(kind.start, None, selection.end_ns - 1, None, 0))
    if selection.start_ns is not None and segment.start_ns < selection.start_ns:
        found.append(_Test(kind.end, selection.start_ns, None, None, 1))
    if selection.exporters is not None:
        found.append(_Test(kind.exporter, None, None, tuple(sorted(selection.exporters)), 2))
    if selection.jobs is not None:
        found.append(_Test(kind.job, None, None, tuple(sorted(selection.jobs)), 4))
    if selection.endpoints is not None:
        texts = tuple(sorted(selection.endpoints))
        found += [_Test(column, None, None, texts, 3) for column in kind.endpoints]
    return found


def _may_hold(group: pq.RowGroupMetaData, tests: Sequence[_Test]) -> bool:
    """Whether rows of a row group can fulfil all tests, by its statistics."""
    if not tests:
        return True
    wanted = {test.column for test in tests}
    columns = (group.column(i) for i in range(group.num_columns))
    statistics = {c.path_in_schema: c.statistics for c in columns if c.path_in_schema in wanted}
    possible: dict[int, bool] = {}
    for test in tests:
        fits = test.column in statistics and _may_fit(test, statistics[test.column])
        possible[test.alternative] = possible.get(test.alternative, False) or fits
    return all(possible.values())


def _may_fit(test: _Test, known: pq.Statistics | None) -> bool:
    if known is None or not known.has_min_max:
        return True
    least, most = known.min, known.max
    if test.texts is None:
        return (test.least is None or int(most) >= test.least) and (test.most is None or int(least) <= test.most)
    first = int(np.searchsorted(np.array(test.texts, object), least))
    return first < len(test.texts) and test.texts[first] <= str(most)


def _matching(columns: dict[str, Array], table: pa.Table, tests: Sequence[_Test]) -> dict[str, Array]:
    """The rows that fulfil all tests."""
    masks: dict[int, Bool] = {}
    for test in tests:
        # A column that is not there holds its default in every row: an unknown address.
        mask = (
            _mask(test, table[test.column]) if test.column in table.column_names else np.zeros(table.num_rows, np.bool_)
        )
        masks[test.alternative] = masks[test.alternative] | mask if test.alternative in masks else mask
    mask = np.logical_and.reduce(list(masks.values())) if masks else np.ones(table.num_rows, np.bool_)
    if mask.all():
        return columns
    rows = np.flatnonzero(mask)
    return {name: values[rows] for name, values in columns.items()}


def _mask(test: _Test, column: pa.ChunkedArray) -> Bool:
    if test.texts is None:
        values = to_numpy(column)
        mask = np.ones(len(values), np.bool_) if test.least is None else np.greater_equal(values, test.least)
        return mask if test.most is None else mask & np.less_equal(values, test.most)
    return np.concatenate([_among(chunk, test.texts) for chunk in column.chunks] or [np.empty(0, np.bool_)])


def _among(chunk: pa.Array, texts: Collection[str]) -> Bool:
    encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
    known = truths_to_numpy(pc.is_in(encoded.dictionary, value_set=texts_to_arrow(texts)))
    return np.append(known, False)[codes_to_numpy(encoded.indices, len(known))]


def _cause(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())
