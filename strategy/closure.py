"""Pairs -> the sets they tie together: every process group is an equivalence class."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.reconstructed.streams import Int

Members = tuple[int, ...]


def components(a: Int, b: Int) -> Int:
    """(pairs,) number of the component each pair (a[i], b[i]) is in, by the component's first node."""
    nodes, index = np.unique(np.concatenate([a, b]), return_inverse=True)
    if not len(a):
        return np.zeros(0, np.int64)
    ends = index.reshape(2, -1)
    graph = coo_array((np.ones(len(a), np.int8), (ends[0], ends[1])), shape=(len(nodes), len(nodes)))
    label = connected_components(graph, directed=False)[1]
    _, first = np.unique(label, return_index=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(rank[label[ends[0]]], np.int64)


def tied(a: Int, b: Int) -> tuple[Members, ...]:
    """Sets of nodes joined by pairs (a[i], b[i]): members ascending, sets by first member."""
    number = components(a, b)
    both = np.unique(np.stack([np.concatenate([number, number]), np.concatenate([a, b])], axis=1), axis=0)
    parts = np.split(both[:, 1], np.flatnonzero(np.diff(both[:, 0])) + 1) if len(both) else []
    return tuple(sorted(tuple(p.tolist()) for p in parts))
