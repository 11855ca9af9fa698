"""Queue pairs of one connection that carry its messages by turns (NCCL_IB_QPS_PER_CONNECTION) -> one connection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from datamodel.frame import Frame
from datamodel.streams import Int

# Messages that keep the order of turns: a lost or late record breaks it once in a while.
IN_TURN_SHARE = 0.9
# Median messages of two queue pairs of one connection differ by no more than this.
SAME_SIZE = 0.05


def connections(rows: Frame) -> Int:
    """The queue pair of each row, those that take turns renamed to the smallest among them; -1 where there is none."""
    renamed = rows["dst_qp"].copy()
    order = np.lexsort([renamed, rows["time_flow_start_ns"], rows["dst_addr"], rows["src_addr"]])
    order = order[renamed[order] >= 0]
    if not len(order):
        return renamed
    change = (np.diff(rows["src_addr"][order]) != 0) | (np.diff(rows["dst_addr"][order]) != 0)
    for pair in np.split(order, np.flatnonzero(change) + 1):
        number, own = np.unique(renamed[pair], return_inverse=True)
        if len(number) > 1:
            size = rows["bytes"][pair]
            median = np.array([float(np.median(size[own == n])) for n in range(len(number))])
            for alike in _alike(np.bincount(own), median):
                inside = pair[np.isin(own, alike)]
                if _by_turns(renamed[inside], len(alike)):
                    renamed[inside] = number[alike].min()
    return renamed


def _alike(count: Int, size: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Iterator[Int]:
    """Sets of queue pairs with as many messages, but for one, of the same size."""
    order = np.lexsort([count, size])
    apart = (np.diff(size[order]) > SAME_SIZE * size[order][:-1]) | (np.abs(np.diff(count[order])) > _slack(count))
    for alike in np.split(order, np.flatnonzero(apart) + 1):
        if len(alike) > 1:
            yield alike


def _slack(count: Int) -> int:
    return 1 + int(count.max()) // 50


def _by_turns(queue_pair: Int, turns: int) -> bool:
    """Whether each message goes to the queue pair that carried the one `turns` before it, and no sooner."""
    if len(queue_pair) < 3 * turns:
        return False
    same = float(np.mean(queue_pair[turns:] == queue_pair[:-turns]))
    return same >= IN_TURN_SHARE and float(np.mean(queue_pair[1:] == queue_pair[:-1])) <= 1 - IN_TURN_SHARE
