"""Pairs -> the sets they tie together: every process group is an equivalence class."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int
from reconstruct.jit import compiled
from reconstruct.jobs.job_fragments import flatten_roots, union

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
    root = np.arange(len(nodes))
    _unite(index[: len(a)], index[len(a) :], root)
    return nodes, np.unique(root, return_inverse=True)[1], index[: len(a)]


@compiled
def _unite(a: Int, b: Int, root: Int) -> None:
    """Write the smallest member of each node's component into `root`, every node's own number at first."""
    for k in range(len(a)):
        union(root, a[k], b[k])
    flatten_roots(root)
