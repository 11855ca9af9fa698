"""Pairs -> the sets they tie together: every process group is an equivalence class."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Members = tuple[int, ...]


def tied(pairs: Iterable[tuple[int, int]]) -> tuple[Members, ...]:
    """Sets of endpoints joined by pairs, members ascending, by first member."""
    ends = np.array(list(pairs), np.int64).reshape(-1, 2)
    if not len(ends):
        return ()
    nodes, index = np.unique(ends, return_inverse=True)
    a, b = index.reshape(-1, 2).T
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(len(nodes), len(nodes)))
    label = connected_components(graph, directed=False)[1]
    order = np.argsort(label, kind="stable")
    parts = np.split(nodes[order], np.flatnonzero(np.diff(label[order])) + 1)
    return tuple(sorted(tuple(int(n) for n in part) for part in parts))
