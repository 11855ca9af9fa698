"""The newest patterns of a job's endpoints, by how unlike their peers they are."""

from __future__ import annotations

import math

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.patterns import FUNCTION_NAMES, StoredPatterns
from datamodel.service.pattern_view import FunctionPattern, PatternView
from diagnose.patterns.function_distance import function_distances
from flowprism.service.queries.jobs.job_queries import visible
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.scans.endpoint_patterns import newest_patterns


def job_patterns(stores: Stores, viewer: Viewer, name: str, most: int) -> PatternView | None:
    """At most so many rows; None where there is no job of this id that the viewer sees.

    Raises:
        StorageError: the database cannot be reached.
    """
    if not visible(stores, viewer, name):
        return None
    stored = [one for one in newest_patterns(stores.database, name, 2) if len(one.functions)]
    if not stored:
        return PatternView()
    newest, rows = stored[0], stored[0].functions
    distance = function_distances(rows, _recoded(stored[1], newest) if len(stored) > 1 else None)
    order = np.argsort(-distance, kind="stable")[:most]
    items = tuple(_pattern(newest, int(row), float(distance[row])) for row in order)
    return PatternView(end_ns=newest.end_ns, of=len(rows), items=items)


def _recoded(before: StoredPatterns, newest: StoredPatterns) -> Frame:
    """Patterns of an earlier window with the newest one's codes; endpoints that left are left out."""
    code = {address: n for n, address in enumerate(newest.endpoints)}
    table = np.array([code.get(address, -1) for address in before.endpoints], np.int64)
    rows = before.functions.replace(endpoint=table[before.functions["endpoint"]])
    return rows.take(np.flatnonzero(rows["endpoint"] >= 0))


def _pattern(stored: StoredPatterns, row: int, distance: float) -> FunctionPattern:
    rows = stored.functions
    values = {
        name: _shown(float(rows[name][row])) for name in rows.schema.names if name not in ("endpoint", "function")
    }
    return FunctionPattern.model_validate(
        values
        | {
            "endpoint": stored.endpoints[int(rows["endpoint"][row])],
            "function": FUNCTION_NAMES[int(rows["function"][row])],
            "stage": int(rows["stage"][row]),
            "distance": _shown(distance),
        }
    )


def _shown(value: float) -> float | None:
    """Six significant digits; None where it is not known."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
