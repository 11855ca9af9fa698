"""A checkpoint of a Delta Lake log: the actions that count, as one Parquet table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

Action = dict[str, Any]

_TEXTS = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    {
        "path": pa.string(),
        "partitionValues": _TEXTS,
        "size": pa.int64(),
        "modificationTime": pa.int64(),
        "dataChange": pa.bool_(),
        "stats": pa.string(),
    }
)
_METADATA = pa.struct(
    {
        "id": pa.string(),
        "name": pa.string(),
        "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
        "schemaString": pa.string(),
        "partitionColumns": pa.list_(pa.string()),
        "configuration": _TEXTS,
        "createdTime": pa.int64(),
    }
)
_PROTOCOL = pa.struct(
    {"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32(), "writerFeatures": pa.list_(pa.string())}
)
_REMOVE = pa.struct({"path": pa.string(), "deletionTimestamp": pa.int64(), "dataChange": pa.bool_()})
CHECKPOINT = pa.schema({"protocol": _PROTOCOL, "metaData": _METADATA, "add": _ADD, "remove": _REMOVE})
_PLAIN = ("path", "size", "modificationTime", "stats")  # of what adds a file; the rest is the same in every one


def checkpoint_table(files: Mapping[str, Mapping[str, Any]], others: Sequence[Action]) -> pa.Table:
    """The table that holds the actions that added `files`, by path, and some others."""
    count = len(files)
    columns = {name: pa.array([said[name] for said in files.values()], _ADD.field(name).type) for name in _PLAIN}
    columns["partitionValues"] = pa.array([[]] * count, _TEXTS)
    columns["dataChange"] = pa.array([False] * count, pa.bool_())
    added = pa.StructArray.from_arrays([columns[field.name] for field in _ADD], fields=list(_ADD))
    nulls = {field.name: pa.nulls(count, field.type) for field in CHECKPOINT}
    rows = pa.Table.from_pylist([_listed(action) for action in others], CHECKPOINT)
    return pa.concat_tables([rows, pa.table({**nulls, "add": added}, CHECKPOINT)])


def checkpoint_actions(table: pa.Table) -> list[Action]:
    """The actions that a checkpoint of ours holds, without the protocol.

    Raises:
        KeyError, ValueError: it is none of ours.
    """
    added = table["add"].combine_chunks().drop_null()
    columns = [added.field(name).to_pylist() for name in _PLAIN]
    rows = (dict(zip(_PLAIN, values, strict=True)) for values in zip(*columns, strict=True))
    described = table["metaData"].drop_null().to_pylist(maps_as_pydicts="strict")
    return [
        *({"metaData": said} for said in described),
        *({"add": {**row, "partitionValues": {}, "dataChange": False}} for row in rows),
    ]


def _listed(action: Action) -> Action:
    """A row of a checkpoint: maps as Arrow takes them."""
    if "metaData" not in action:
        return action
    said = dict(action["metaData"])
    said["configuration"] = list(said["configuration"].items())
    said["format"] = {**said["format"], "options": list(said["format"]["options"].items())}
    return {"metaData": said}
