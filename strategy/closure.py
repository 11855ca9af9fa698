"""Pairs -> the sets they tie together: every process group is an equivalence class."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.reconstructed.streams import Int

Members = tuple[int, ...]


def components(a: Int, b: Int) -> Int:
    """(pairs,) number of the component each pair (a[i], b[i]) is in, by the component's first node."""
    _, label, first = _labeled(a, b)
    return label[first]


def tied(a: Int, b: Int) -> tuple[Members, ...]:
    """Sets of nodes joined by pairs (a[i], b[i]): members ascending, sets by first member."""
    nodes, label, _ = _labeled(a, b)
    parts = np.split(nodes[np.argsort(label, kind="stable")], np.cumsum(np.bincount(label))[:-1]) if len(nodes) else []
    return tuple(tuple(part.tolist()) for part in parts)


def _labeled(a: Int, b: Int) -> tuple[Int, Int, Int]:
    """The nodes ascending, number of each one's component by its first node, and (pairs,) place of a[i] among them."""
    nodes, index = np.unique(np.concatenate([a, b]), return_inverse=True)
    ends = index[: len(a)], index[len(a) :]
    graph = coo_array((np.ones(len(a), np.int8), ends), shape=(len(nodes), len(nodes)))
    label = connected_components(graph, directed=False)[1] if len(a) else np.zeros(0, np.int64)
    _, first = np.unique(label, return_index=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return nodes, rank[label], ends[0]
