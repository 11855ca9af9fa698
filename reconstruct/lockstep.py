"""Whether two sequences of iteration ends belong to one job: ranks wait for one another, jobs drift apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from datamodel.streams import Float, Int

# Edges that keep their distance this closely, in cycles, are of one clock; a sequence shorter than so many iterations
# cannot tell noise from a walk; iterations correlated more than this lengthen and shorten together.
EXACT_SHARE = 0.001
# Edges of two independent jobs of one period coincide this closely, in cycles, by a chance of twice as much.
COINCIDENCE = 0.01
ENOUGH_TO_TELL = 20
SAME_PACE = 0.8
# Edges of a job that no fault slows down wander about an even pace by less than so many iterations.
STRAYING = 4.0
# An increment so many times the median one is no part of a random walk: four standard deviations of a normal one are 6.
OUTLYING = 5.0


def of_one_pace(edges_ns: Sequence[Int]) -> Iterator[tuple[int, int]]:
    """Pairs of sequences that may be tied: about as many edges, that end up no farther apart than an iteration."""
    count = np.array([len(e) for e in edges_ns], np.int64)
    cycle = np.array([(e[-1] - e[0]) / (len(e) - 1) for e in edges_ns], np.float64)
    order = np.argsort(cycle, kind="stable")
    for place, a in enumerate(order.tolist()):
        farthest = np.searchsorted(cycle[order], cycle[a] * (1 + 1 / max(count[a] - 2, 1)), side="right")
        for b in order[place + 1 : farthest].tolist():
            if abs(count[a] - count[b]) <= 1:
                yield min(a, b), max(a, b)


def in_lockstep(a: Int, b: Int, reach: float) -> bool:
    """Whether two sequences of edges are tied to one another.

    Two independent jobs of one period drift apart like a random walk; ranks of one job wait for one another. Tied
    sequences keep their distance but for one step (a fault moves the stages of a job against one another once), or
    their distance reverts to its mean, or their iterations lengthen and shorten together, or both stray from any even
    pace and still count alike. They end an iteration within one iteration of one another: what ran at another time was
    in step with nobody.
    """
    if abs(len(a) - len(b)) > 1:
        return False
    for shift in (0, -1, 1):
        n = min(len(a) - max(shift, 0), len(b) - max(-shift, 0))
        if n < 3:
            continue
        left, right = (e[s : s + n].astype(np.float64) for e, s in ((a, max(shift, 0)), (b, max(-shift, 0))))
        if _at_once(left, right) and tied(left, right, reach):
            return True
    return False


def _at_once(a: Float, b: Float) -> bool:
    return bool(np.abs(np.median(a - b)) < np.median(np.diff(a)))


def tied(a: Float, b: Float, reach: float) -> bool:
    """Whether the distance of two sequences is noise about a constant, but for one step, or follows from one pace."""
    if _keep_count(a, b):
        return True
    cycle = float(np.median(np.diff(a)))
    distance = (a - b - (a[0] - b[0])) / cycle
    if np.percentile(distance, 90) - np.percentile(distance, 10) > 3 * reach:
        return False
    if np.percentile(np.abs(a - b), 90) < COINCIDENCE * cycle or np.ptp(distance) < EXACT_SHARE:
        return True
    if len(a) < ENOUGH_TO_TELL:
        return bool(np.ptp(distance - step(distance)) < reach)
    return bool(_reverts(distance - step(distance)) or np.corrcoef(np.diff(a), np.diff(b))[0, 1] > SAME_PACE)


def _keep_count(a: Float, b: Float) -> bool:
    """Whether edges that stray from every even pace stay within one iteration of one another all the same.

    A fault that comes, goes or stays may move the edges of two parts against one another by any part of an iteration;
    still the k-th iteration of both is the same one, however long it takes.
    """
    healthy = np.percentile(np.diff(a), 25)
    even = np.polyval(np.polyfit(np.arange(len(a)), a - a[0], 1), np.arange(len(a)))
    longer = np.maximum(np.diff(a), np.diff(b))
    return bool(np.ptp(a - a[0] - even) > STRAYING * healthy and (np.abs(a - b)[1:] < longer).all())


def _reverts(distance: Float) -> bool:
    """Whether a sequence returns to its mean at every step instead of wandering: von Neumann's ratio.

    The mean squared step over the variance is 2 for noise about a constant; for a random walk of n steps, the best
    step through it taken out, it is about 24 / n.
    """
    variance = float(np.var(distance))
    return variance == 0 or float(np.mean(np.diff(distance) ** 2)) / variance > max(1.0, 30.0 / len(distance))


def step(distance: Float) -> Float:
    """The best two-level step through a sequence; flat where no single increment makes it.

    A walk drifts from level to level: a step is an increment that makes half the difference and stands out of the rest.
    """
    n = np.arange(1, len(distance))
    head, square = np.cumsum(distance)[:-1], np.cumsum(distance**2)[:-1]
    tail, square_tail = distance.sum() - head, (distance**2).sum() - square
    cut = 1 + int(np.argmin(square - head**2 / n + square_tail - tail**2 / (len(distance) - n)))
    before, after = float(distance[:cut].mean()), float(distance[cut:].mean())
    increments = np.abs(np.diff(distance))
    if increments[cut - 1] < max(0.5 * abs(after - before), OUTLYING * float(np.median(increments))):
        return np.full(len(distance), distance.mean())
    return np.concatenate([np.full(cut, before), np.full(len(distance) - cut, after)])
