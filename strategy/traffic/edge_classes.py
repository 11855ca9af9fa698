"""Edges -> classes: which edges do the same thing, by the bytes they carry and by when they carry them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int
from reconstruct.numeric.medians import group_medians
from reconstruct.numeric.row_runs import run_starts, runs
from strategy.traffic.traffic_edges import AT_ONCE, SAME_BYTES, VARIES, TrafficEdges

# Edges of one collective begin within this share of the iteration of one another.
SAME_START_SHARE = 0.2
# Transfers of an iteration differ by at most this factor, as a power of two, from one edge of a collective to the next.
SAME_COUNT_OCTAVES = 1.0
# What changes by some deviation from iteration to iteration differs by at most so many from edge to edge.
DEVIATIONS = 3.0


@dataclass(frozen=True, slots=True)
class EdgeClass:
    """Edges that carry alike.

    Point-to-point edges start whenever their stage's turn comes and differ from stage to stage; collectives of one
    kind start together and act alike. So the class as a whole may be point-to-point, or each of its pieces
    something of its own.

    Attributes:
        edges: (e,) edge numbers.
        pieces: the same edges, cut where behavior differs.
    """

    edges: Int
    pieces: tuple[Int, ...]


def classify(edges: TrafficEdges) -> list[EdgeClass]:
    """Group a job's edges by bytes. Those that change from iteration to iteration differ from edge to edge as well."""
    run = runs(edges.iteration_bytes, SAME_BYTES)
    count = int(run.max(initial=-1)) + 1
    usual = group_medians(edges.variation, run, count)[run]
    varies = usual > VARIES
    run[varies] = count + runs(edges.iteration_bytes[varies], np.maximum(SAME_BYTES, DEVIATIONS * usual[varies]))
    chosen = [np.flatnonzero(run == n) for n in np.unique(run).tolist()]
    return [EdgeClass(own, _pieces(edges, own)) for own in chosen]


def _pieces(edges: TrafficEdges, chosen: Int) -> tuple[Int, ...]:
    """Cut a class where starts lie apart, where numbers of transfers do, and between one-way, in turns and at once.

    What one pair sends one after the other belongs to different pieces.
    """
    period = max(edges.period_ns, 1.0)
    start = runs(edges.first_ns[chosen] / period, 0.0, SAME_START_SHARE)
    count = runs(np.log2(np.maximum(edges.transfers[chosen], 1)), 0.0, SAME_COUNT_OCTAVES)
    at_once = np.where(np.isnan(edges.concurrency[chosen]), 1.0, edges.concurrency[chosen]) >= AT_ONCE
    alike = np.unique(np.stack([start, count, at_once]), axis=1, return_inverse=True)[1].ravel()
    label = np.unique(np.stack([alike, _turns(edges, chosen, alike)]), axis=1, return_inverse=True)[1].ravel()
    return tuple(chosen[label == n] for n in range(int(label.max()) + 1))


def _turns(edges: TrafficEdges, chosen: Int, alike: Int) -> Int:
    """(chosen,) place of each edge among those alike of its pair that begin when the one before has ended."""
    first, last, src, dst = (x[chosen] for x in (edges.first_ns, edges.last_ns, edges.src, edges.dst))
    order = np.lexsort([first, dst, src, alike])
    change = run_starts(alike[order], src[order], dst[order])
    later = ~change
    later[1:] &= first[order][1:] >= last[order][:-1]
    total = np.cumsum(later)
    begin = np.maximum.accumulate(np.where(change, np.arange(len(order)), 0))
    turn = np.empty(len(order), np.int64)
    turn[order] = total - total[begin]
    return turn
