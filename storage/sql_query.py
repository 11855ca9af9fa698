"""SQL over what is kept: lakes and results as tables of DuckDB, with nothing else of this machine within reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import sqlalchemy as sa

from datamodel.errors import InputError
from datamodel.frame import Column
from datamodel.reconstructed.timeline import SPAN_NAMES
from datamodel.reconstructed.transfers import ROLES
from storage.database.connection import Database
from storage.database.tables import EVENTS, FEED_STATISTICS, INCIDENTS, JOBS, LAYOUTS, ROLLUPS, SCANS
from storage.lake.kinds import KINDS, Kind
from storage.lake.object_names import is_store
from storage.lake.object_store import LocalStore
from storage.lake.snapshot import snapshot

# Of the results those about jobs and feeds; never users, tokens and sessions.
RESULTS = (JOBS, LAYOUTS, INCIDENTS, EVENTS, SCANS, ROLLUPS, FEED_STATISTICS)
# Codes that segments hold as numbers, and what they stand for.
_MEANINGS: Mapping[str, tuple[str, ...]] = {"span": SPAN_NAMES, "role": ROLES}
_CLOSED = ("python_enable_replacements = false", "enable_external_access = false", "lock_configuration = true")
_NO_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_TYPES = ((sa.Integer, pa.int64()), (sa.Float, pa.float64()), (sa.Boolean, pa.bool_()))


def run_query(sql: str, lakes: Sequence[Path], results: Database | None) -> pa.Table:
    """The answer to one SELECT.

    Tables are the kinds of records in the lakes (`storage.lake.kinds.KINDS`) and those of the results (`RESULTS`). No
    other file can be read, none can be written, no extension is loaded.

    Args:
        sql: the statement.
        lakes: folders of collected records or of what scans keep.
        results: the results database; None for none.

    Raises:
        InputError: the statement cannot be run, or a folder is no lake.
    """
    with duckdb.connect(":memory:", config=_NO_EXTENSIONS) as connection:
        try:
            _check_select(connection, sql)
            files = [file for lake in lakes for file in _add_lake(connection, lake)]
            if results is not None:
                _add_results(connection, results)
            connection.execute(f"SET allowed_paths = {_texts(files)}")
            for setting in _CLOSED:
                connection.execute(f"SET {setting}")
            return connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise InputError(f"query: {' '.join(str(error).split())}") from None


def _check_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise InputError("query: only one SELECT can be run")


def _add_lake(connection: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[str]:
    """Make a view of each kind that a lake holds; the files that they read."""
    if not is_store(folder):
        raise InputError(f"{folder}: not a folder of collected records: it has no manifest")
    now = snapshot(LocalStore(folder))
    for name, kind in KINDS.items():
        files = [str((folder / segment.file).resolve()) for segment in now.of_kind(name)]
        if files:
            source = f"read_parquet({_texts(files)}, union_by_name = true)"
            known = {str(row[0]) for row in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}  # noqa: S608 - names of our own
            columns = ", ".join(f"{_value(kind, column, known)} AS {_name(column.name)}" for column in kind.schema)
            connection.execute(f"CREATE VIEW {_name(name)} AS SELECT {columns} FROM {source}")  # noqa: S608 - as above
            yield from files


def _value(kind: Kind, column: Column, known: set[str]) -> str:
    """A column with its default where a segment leaves it out, and in words where it holds codes."""
    there = _name(column.name) if column.name in known else "NULL"
    if column.name in kind.texts:
        return f"CAST({there} AS VARCHAR)"
    value = f"coalesce({there}, {column.default})"
    if column.name in _MEANINGS:
        return f"({_texts(_MEANINGS[column.name])})[{value} + 1]"
    return f"nullif({value}, -1)" if column.default == -1 else value


def _add_results(connection: duckdb.DuckDBPyConnection, results: Database) -> None:
    with results.reading() as reading:
        for table in RESULTS:
            rows = reading.execute(sa.select(table)).mappings().all()
            schema = pa.schema([(column.name, _type(column)) for column in table.columns])
            made = pa.Table.from_pylist([dict(row) for row in rows], schema)
            connection.register(f"kept_{table.name}", made)
            connection.execute(f"CREATE TABLE {_name(table.name)} AS FROM {_name(f'kept_{table.name}')}")
            connection.unregister(f"kept_{table.name}")


def _type(column: sa.Column[object]) -> pa.DataType:
    return next((arrow for kind, arrow in _TYPES if isinstance(column.type, kind)), pa.string())


def _texts(values: Sequence[str]) -> str:
    quoted = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"[{quoted}]"


def _name(name: str) -> str:
    return f'"{name}"'
