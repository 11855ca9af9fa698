"""Patterns of endpoints: of each job the newest window of every stretch of six hours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, null, select

from datamodel.frame import Frame, Schema
from datamodel.reconstructed.patterns import FUNCTIONS, PATTERNS, StoredPatterns
from storage.database.connection import Database, upsert
from storage.database.tables import ENDPOINT_PATTERNS, JOBS


def stored_patterns(database: Database, start_ns: int, end_ns: int, tenant: str | None = None) -> list[StoredPatterns]:
    """Read the patterns of windows that ended in (start_ns, end_ns], of jobs of one tenant, or of all and of none.

    By job and time; one stretch may begin before `start_ns`. Functions are left out: they are twenty times as large as
    the rest, and a month of all jobs is read at once.
    """
    of = ENDPOINT_PATTERNS.c
    query = select(of.job, of.end_ns, of.endpoints, of.packed, null().label("functions"))
    query = query.where((of.end_ns > start_ns) & (of.end_ns <= end_ns))
    if tenant is not None:
        query = query.join(JOBS, JOBS.c.id == of.job).where(JOBS.c.tenant == tenant)
    return _read(database, query.order_by(of.job, of.start_ns))


def newest_patterns(database: Database, job: str, most: int) -> list[StoredPatterns]:
    """Read the patterns of a job's newest windows, the newest first."""
    query = select(ENDPOINT_PATTERNS).where(ENDPOINT_PATTERNS.c.job == job)
    return _read(database, query.order_by(ENDPOINT_PATTERNS.c.start_ns.desc()).limit(most))


def _read(database: Database, query: Select[Any]) -> list[StoredPatterns]:
    with database.reading() as connection:
        return [
            StoredPatterns(
                row.job,
                row.end_ns,
                tuple(json.loads(row.endpoints)),
                _unpacked(PATTERNS, row.packed),
                _unpacked(FUNCTIONS, row.functions or b""),
            )
            for row in connection.execute(query)
        ]


def write_patterns(connection: Connection, found: Sequence[StoredPatterns]) -> None:
    """Write patterns inside a scan's transaction; one of an older window of the same stretch changes nothing."""
    of = ENDPOINT_PATTERNS.c
    known = select(of.job, of.start_ns, of.end_ns).where(of.job.in_({one.job for one in found}))
    known = known.where(of.start_ns.in_({one.start_ns for one in found}))
    ends = {(row.job, row.start_ns): row.end_ns for row in connection.execute(known)}
    newer = [one for one in found if one.end_ns >= ends.get((one.job, one.start_ns), 0)]
    upsert(connection, ENDPOINT_PATTERNS, [_row(one) for one in newer])


def pack_rows(rows: Frame) -> bytes:
    """The columns of a table one after the other, as they are in memory, on machines of either byte order."""
    return b"".join(rows[name].astype(dtype).tobytes() for name, dtype in _packed(rows.schema).items())


def _packed(schema: Schema) -> dict[str, np.dtype[np.generic]]:
    return {column.name: np.dtype(column.dtype).newbyteorder("<") for column in schema}


def _row(one: StoredPatterns) -> dict[str, object]:
    return {
        "job": one.job,
        "start_ns": one.start_ns,
        "end_ns": one.end_ns,
        "endpoints": json.dumps(one.endpoints),
        "packed": pack_rows(one.rows),
        "functions": pack_rows(one.functions),
    }


def _unpacked(schema: Schema, packed: bytes) -> Frame:
    types = _packed(schema)
    rows = len(packed) // sum(dtype.itemsize for dtype in types.values())
    columns, at = {}, 0
    for name, dtype in types.items():
        columns[name] = np.frombuffer(packed, dtype, rows, at)
        at += rows * dtype.itemsize
    return Frame(schema, columns)
