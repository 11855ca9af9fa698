"""The shortest span of time that holds most of what an endpoint sent, and how fast and how evenly it sent in it.

Time without anything under way does not count, nor does what is sent before and after in bursts that carry little: a
slow link shows where the link is the limit. After the critical execution duration of EROICA (arXiv 2506.08528).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.row_runs import run_starts

MOST_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class BusiestSpans:
    """Of each cell, in ascending order; all (cells,).

    Attributes:
        cell: its number.
        rate: mean in its busiest span, amount per ns.
        spread: standard deviation of the rate in it, over time.
    """

    cell: Int
    rate: Float
    spread: Float


@dataclass(frozen=True, slots=True)
class _Curve:
    """What was sent, as a function of time that is linear between events, cell after cell; all (events,).

    Attributes:
        cell: index of the cell.
        time_ns: of the event, on a clock that stands still while nothing is under way.
        rate: share of the cell's amount per ns, from this event to the next one.
        sent: share of the cell's amount sent before, plus the index of the cell: it rises over all cells.
        squared: integral of the squared rate until then.
    """

    cell: Int
    time_ns: Float
    rate: Float
    sent: Float
    squared: Float

    def at(self, sent: Float, last: Int) -> tuple[Float, Float]:
        """Time at which so much had been sent, and the squared rate's integral until then; `last` events bound it."""
        event = np.clip(np.searchsorted(self.sent, sent, side="right") - 1, 0, last)
        rate = self.rate[event]
        beyond = np.divide(sent - self.sent[event], rate, out=np.zeros(len(sent)), where=rate > 0)
        return self.time_ns[event] + beyond, self.squared[event] + rate**2 * beyond


def busiest_spans(cell: Int, start_ns: Int, end_ns: Int, amount: Int) -> BusiestSpans:
    """The busiest span of each cell; O(n log n).

    Each row sends at an even rate from its start to its end, and rows of one cell may overlap. The span begins or ends
    where a row does: in between moving it changes its length linearly.

    Args:
        cell: (n,) number of each row's cell.
        start_ns: (n,) when its first byte was sent.
        end_ns: (n,) when its last byte was.
        amount: (n,) what was sent, above 0.
    """
    if not len(cell):
        return BusiestSpans(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    cells, of = np.unique(cell, return_inverse=True)
    total = np.bincount(of, amount)
    curve = _curve(of, start_ns, np.maximum(end_ns, start_ns + 1), amount / total[of])
    first = np.flatnonzero(run_starts(curve.cell))
    final = np.append(first[1:], len(curve.cell)) - 1
    last = final[curve.cell]
    to_ns, to_squared = curve.at(np.minimum(curve.sent + MOST_SHARE, curve.cell + 1.0), last)
    from_ns, from_squared = curve.at(np.maximum(curve.sent - MOST_SHARE, curve.cell), last)
    within = curve.sent - curve.cell
    forth = np.where(within <= 1 - MOST_SHARE + 1e-9, to_ns - curve.time_ns, np.inf)
    back = np.where(within >= MOST_SHARE - 1e-9, curve.time_ns - from_ns, np.inf)
    lasting = np.minimum(forth, back)
    order = np.lexsort((lasting, curve.cell))
    best = order[np.flatnonzero(run_starts(curve.cell[order]))]
    squared = np.where(forth <= back, to_squared - curve.squared, curve.squared - from_squared)[best]
    span_ns = np.maximum(lasting[best], 1e-9)
    mean = MOST_SHARE / span_ns
    spread = np.sqrt(np.maximum(squared / span_ns - mean**2, 0))
    return BusiestSpans(cells, mean * total, spread * total)


def _curve(of: Int, start_ns: Int, end_ns: Int, share: Float) -> _Curve:
    rate = share / (end_ns - start_ns)
    cell, time_ns, change = np.tile(of, 2), np.concatenate([start_ns, end_ns]), np.concatenate([rate, -rate])
    order = np.lexsort((time_ns, cell))
    cell, time_ns = cell[order], time_ns[order]
    begins = np.flatnonzero(run_starts(cell))
    total = np.cumsum(change[order])
    under_way = np.cumsum(np.where(order < len(of), 1, -1)) > 0
    rate = np.where(under_way, np.maximum(total - np.append(0.0, total)[begins][cell], 0), 0)
    lasting = np.where(under_way, np.diff(time_ns, append=time_ns[-1]), 0).astype(np.float64)
    clock, moved, squared = (
        np.append(0.0, np.cumsum(each)[:-1]) for each in (lasting, rate * lasting, rate**2 * lasting)
    )
    within = moved - moved[begins][cell]
    return _Curve(cell, clock, rate, np.clip(within, 0, 1) + cell, squared)
