"""The shortest span of time that holds most of what an endpoint sent, and how fast and how evenly it sent in it.

Time without anything under way does not count, nor does what is sent before and after in bursts that carry little: a
slow link shows where the link is the limit. After the critical execution duration of EROICA (arXiv 2506.08528).

What a cell sent is a function of time that is linear between events, which are begins and ends of rows. Time is that of
a clock that stands still while nothing is under way. Sums run on from cell to cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.row_order import sorted_order
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.row_runs import run_starts

MOST_SHARE = 0.8
_SENT, _RATE, _CLOCK, _SQUARED = range(4)


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
    order = sorted_order([cell])
    first = np.flatnonzero(run_starts(cell[order]))
    begins = np.append(first, len(cell))
    columns = (to_contiguous(column) for column in (start_ns, end_ns, amount))
    rate, spread = _search(order, begins, int(np.diff(begins).max()), *columns)
    return BusiestSpans(cell[order[first]].astype(np.int64), rate, spread)


@compiled
def _search(order: Int, begins: Int, most: int, start_ns: Int, end_ns: Int, amount: Int) -> tuple[Float, Float]:
    """Mean and spread of each cell's rate; its rows are those of `order` from one of `begins` to the next."""
    cells = len(begins) - 1
    rates, spreads = np.empty(cells), np.empty(cells)
    starts, ends, rate = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    time_ns, change, row_change = np.empty(2 * most, np.int64), np.empty(2 * most), np.empty(2 * most, np.int64)
    curve = np.empty((4, 2 * most))
    sums = np.zeros(4)
    for cell in range(cells):
        count = begins[cell + 1] - begins[cell]
        total = 0.0
        for n in range(count):
            row = order[begins[cell] + n]
            starts[n], ends[n] = start_ns[row], max(end_ns[row], start_ns[row] + 1)
            rate[n] = amount[row]
            total += rate[n]
        for n in range(count):
            rate[n] = rate[n] / total / (ends[n] - starts[n])
        _merge(starts[:count], ends[:count], rate[:count], time_ns, change, row_change)
        _fill(cell, time_ns[: 2 * count], change, row_change, curve, sums)
        mean, spread = _shortest(cell, 2 * count, curve)
        rates[cell], spreads[cell] = mean * total, spread * total
    return rates, spreads


@compiled
def _merge(starts: Int, ends: Int, rate: Float, time_ns: Int, change: Float, row_change: Int) -> None:
    """Begins and ends in order of time, those that agree in order of rows and ends last, with what changes there."""
    first, last = _sorted_rows(starts), _sorted_rows(ends)
    count, begun, ended = len(starts), 0, 0
    for event in range(2 * count):
        if begun < count and starts[first[begun]] <= ends[last[ended]]:
            row = first[begun]
            time_ns[event], change[event], row_change[event] = starts[row], rate[row], 1
            begun += 1
        else:
            row = last[ended]
            time_ns[event], change[event], row_change[event] = ends[row], -rate[row], -1
            ended += 1


@compiled
def _sorted_rows(values: Int) -> Int:
    """Stable order of some values, few of them or nearly in order."""
    count = len(values)
    if count > 48:  # fewer are sorted by insertion
        return np.argsort(values, kind="mergesort")
    order = np.empty(count, np.int64)
    for n in range(count):
        place = n
        while place > 0 and values[order[place - 1]] > values[n]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = n
    return order


@compiled
def _fill(cell: int, time_ns: Int, change: Float, row_change: Int, curve: Float, sums: Float) -> None:
    """The curve at each event: share sent before plus the cell, rate from there on, clock, and integral of its square.

    Args:
        cell: number of the cell among those there are.
        time_ns: (events,) when.
        change: by how much the rate changes.
        row_change: 1 where a row begins, -1 where one ends.
        curve: (4, at least events) the result.
        sums: rate, clock, what was sent and squared rates of all cells before; those of this one are added.
    """
    before, sent_before, under_way = sums[0], sums[2], 0
    for event in range(len(time_ns)):
        sums[0] += change[event]
        under_way += row_change[event]
        rate, lasting = 0.0, 0.0
        if under_way > 0:
            rate = max(sums[0] - before, 0.0)
            lasting = float(time_ns[event + 1] - time_ns[event])
        curve[_SENT, event] = min(max(sums[2] - sent_before, 0.0), 1.0) + cell
        curve[_RATE, event], curve[_CLOCK, event], curve[_SQUARED, event] = rate, sums[1], sums[3]
        sums[1] += lasting
        sums[2] += rate * lasting
        sums[3] += rate * rate * lasting


@compiled
def _shortest(cell: int, events: int, curve: Float) -> tuple[float, float]:
    """Mean and spread of the rate in the shortest span that holds most, as shares of the cell's amount."""
    shortest, squared, to_event, from_event = np.inf, 0.0, 0, 0
    for event in range(events):
        sent = curve[_SENT, event]
        to_sent, from_sent = min(sent + MOST_SHARE, cell + 1.0), max(sent - MOST_SHARE, float(cell))
        while to_event + 1 < events and curve[_SENT, to_event + 1] <= to_sent:
            to_event += 1
        while from_event + 1 < events and curve[_SENT, from_event + 1] <= from_sent:
            from_event += 1
        forth = back = np.inf
        if sent - cell <= 1 - MOST_SHARE + 1e-9:
            forth = curve[_CLOCK, to_event] + _beyond(curve, to_event, to_sent) - curve[_CLOCK, event]
        if sent - cell >= MOST_SHARE - 1e-9:
            back = curve[_CLOCK, event] - (curve[_CLOCK, from_event] + _beyond(curve, from_event, from_sent))
        if min(forth, back) < shortest:
            shortest = min(forth, back)
            end, sent = (to_event, to_sent) if forth <= back else (from_event, from_sent)
            there = curve[_SQUARED, end] + curve[_RATE, end] * curve[_RATE, end] * _beyond(curve, end, sent)
            squared = there - curve[_SQUARED, event] if forth <= back else curve[_SQUARED, event] - there
    span_ns = max(shortest, 1e-9)
    mean = MOST_SHARE / span_ns
    return mean, np.sqrt(max(squared / span_ns - mean * mean, 0.0))


@compiled
def _beyond(curve: Float, event: int, sent: float) -> float:
    """Time from an event until so much was sent."""
    rate = curve[_RATE, event]
    return (sent - curve[_SENT, event]) / rate if rate > 0 else 0.0
