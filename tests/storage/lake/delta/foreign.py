"""The rows of the lake's tables as delta-rs finds them, which knows nothing of flowprism, and as our reader does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pytest

from datamodel.frame import Array
from storage.lake.kinds import KINDS
from storage.lake.lake_reader import read_kind
from storage.lake.object_names import SEGMENTS
from storage.lake.object_store import ObjectStore


def delta_table(location: Path | str, kind: str) -> Any:  # noqa: ANN401 - tests do without its types where it is missing
    """The table of a kind in a lake, as delta-rs opens it; the test is skipped where there is none."""
    delta = pytest.importorskip("deltalake", reason="no deltalake on this machine")
    if isinstance(location, Path):
        return delta.DeltaTable(str(location / SEGMENTS / kind))
    parts = urlsplit(location)
    options = {name: values[0] for name, values in parse_qs(parts.query).items()}
    said = {"endpoint": options["endpoint_override"], "region": options["region"], "allow_http": "true"}
    return delta.DeltaTable(f"s3://{parts.netloc}{parts.path}/{SEGMENTS}/{kind}", storage_options=said)


def foreign_rows(location: Path | str, kind: str) -> dict[str, list[object]]:
    """All rows of a table by column, sorted; what is null is the column's default, as the table's comments say."""
    table = pa.table(delta_table(location, kind).to_pyarrow_table())
    columns = {column.name: table[column.name].to_pylist() for column in KINDS[kind].schema}
    defaults = {
        column.name: None if column.name in KINDS[kind].texts else column.default for column in KINDS[kind].schema
    }
    return _sorted({name: [defaults[name] if v is None else v for v in values] for name, values in columns.items()})


def own_rows(location: ObjectStore | Path, kind: str) -> dict[str, list[object]]:
    """The same of our reader."""
    frame, book = read_kind(location, kind)
    texts = KINDS[kind].texts
    return _sorted({name: _values(frame[name], book if name in texts else None) for name in frame.schema.names})


def _values(values: Array, book: tuple[str, ...] | None) -> list[object]:
    if book is None:
        return list(values.tolist())
    return [book[code] if code >= 0 else None for code in values.tolist()]


def _sorted(columns: Mapping[str, list[object]]) -> dict[str, list[object]]:
    rows = sorted(zip(*columns.values(), strict=True), key=repr)
    return {name: [row[place] for row in rows] for place, name in enumerate(columns)}
