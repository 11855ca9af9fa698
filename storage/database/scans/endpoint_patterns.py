"""Patterns of endpoints: of each job the newest window of every stretch of six hours."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select

from datamodel.frame import Frame
from datamodel.patterns import PATTERNS, StoredPatterns
from storage.database.connection import Database, upsert
from storage.database.tables import ENDPOINT_PATTERNS, JOBS

# Numbers are stored as they are in memory, on machines of either byte order.
_PACKED = {column.name: np.dtype(column.dtype).newbyteorder("<") for column in PATTERNS}


def stored_patterns(database: Database, start_ns: int, end_ns: int, tenant: str | None = None) -> list[StoredPatterns]:
    """Read the patterns of windows that ended in (start_ns, end_ns], of jobs of one tenant, or of all and of none.

    By job and time; one stretch may begin before `start_ns`.
    """
    ended = (ENDPOINT_PATTERNS.c.end_ns > start_ns) & (ENDPOINT_PATTERNS.c.end_ns <= end_ns)
    query = select(ENDPOINT_PATTERNS).where(ended)
    if tenant is not None:
        query = query.join(JOBS, JOBS.c.id == ENDPOINT_PATTERNS.c.job).where(JOBS.c.tenant == tenant)
    query = query.order_by(ENDPOINT_PATTERNS.c.job, ENDPOINT_PATTERNS.c.start_ns)
    with database.reading() as connection:
        return [
            StoredPatterns(row.job, row.end_ns, tuple(json.loads(row.endpoints)), _unpacked(row.packed))
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


def _row(one: StoredPatterns) -> dict[str, object]:
    packed = b"".join(one.rows[name].astype(dtype).tobytes() for name, dtype in _PACKED.items())
    return {
        "job": one.job,
        "start_ns": one.start_ns,
        "end_ns": one.end_ns,
        "endpoints": json.dumps(one.endpoints),
        "packed": packed,
    }


def _unpacked(packed: bytes) -> Frame:
    """The rows of a table: its columns one after the other."""
    rows = len(packed) // sum(dtype.itemsize for dtype in _PACKED.values())
    columns, at = {}, 0
    for name, dtype in _PACKED.items():
        columns[name] = np.frombuffer(packed, dtype, rows, at)
        at += rows * dtype.itemsize
    return Frame(PATTERNS, columns)
