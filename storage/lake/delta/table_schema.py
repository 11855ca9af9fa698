"""What a Delta Lake log says of a table of the lake: columns with types, units and meanings, and who may write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from datamodel.frame import Column
from storage.lake.kinds import Kind

# Delta Lake has no unsigned integers; these are the types that Parquet's unsigned ones are read as.
_TYPES: Mapping[str, str] = {
    "?": "boolean",
    "i1": "byte",
    "u1": "short",
    "i2": "short",
    "u2": "integer",
    "i4": "integer",
    "u4": "long",
    "i8": "long",
    "f4": "float",
    "f8": "double",
}
# A feature that no engine knows: all of them can read the table, and none writes into it.
_WRITER_FEATURE = "flowprismCommits"


def protocol_action() -> dict[str, Any]:
    """What an engine must know to read the table, and to write it."""
    return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [_WRITER_FEATURE]}}


def metadata_action(kind: Kind, table_id: str, time_ms: int) -> dict[str, Any]:
    """The table's name and columns."""
    said = {
        "id": table_id,
        "name": kind.schema.name,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_text(kind),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": time_ms,
    }
    return {"metaData": said}


def schema_text(kind: Kind) -> str:
    """The columns of a kind as JSON of Delta Lake."""
    fields = [_field(kind, column) for column in kind.schema]
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def _field(kind: Kind, column: Column) -> dict[str, Any]:
    is_text = column.name in kind.texts
    about = column.meaning if is_text or not column.unit else f"{column.meaning}; {column.unit}"
    if not column.required and not is_text:
        about += f"; null stands for {column.default}"
    return {
        "name": column.name,
        "type": "string" if is_text else _TYPES[column.dtype],
        "nullable": True,
        "metadata": {"comment": about},
    }
