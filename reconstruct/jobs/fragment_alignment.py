"""Whether two sequences of iteration ends belong to one job: ranks wait for one another, jobs drift apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled
from reconstruct.jobs.common_window import FEWEST_CYCLES, within
from reconstruct.jobs.job_fragments import find_root, flatten_roots, union

# Edges that keep their distance this closely, in cycles, are of one clock; a sequence shorter than so many iterations
# cannot tell noise from a walk; iterations correlated more than this lengthen and shorten together.
EXACT_SHARE = 0.001
# Edges of two independent jobs of one period coincide this closely, in cycles, by a chance of twice as much.
COINCIDENCE = 0.01
ENOUGH_TO_TELL = 20
SAME_PACE = 0.8
# The range of a random walk over so many edges or more is below so many standard deviations of its end once in 8,000
# times (400,000 were drawn; the standard deviation is estimated from the mean absolute one).
NARROWEST_WALK, ENOUGH_TO_WALK = 0.35, 12
# Two jobs hardly ever train on the same hosts, all of them; so of parts that do, one in twenty is rare enough. That is
# the range of a random walk over seven edges and more below so many standard deviations.
WALK_ON_HOSTS, ENOUGH_ON_HOSTS = 0.7, 7
# Edges of a job that no fault slows down wander about an even pace by less than so many iterations.
STRAYING = 4.0
# Nothing is missing between two edges less than one and a half iterations apart. Parts of one job end an iteration as
# close: a stall between the end of one part and that of the other adds to the iteration between them.
LONGER = 1.5
# An increment so many times the median one is no part of a random walk: four standard deviations of a normal one are 6.
OUTLYING = 5.0


def find_same_pace_pairs(edges_ns: Sequence[Int]) -> Iterator[tuple[int, int]]:
    """Pairs of sequences that may be tied: about as many edges, that end up no farther apart than an iteration.

    The longest one counts: a fault in the middle may make the later iterations several times as long as the earlier.
    """
    count = np.array([len(e) for e in edges_ns], np.int64)
    cycle = np.array([(e[-1] - e[0]) / (len(e) - 1) for e in edges_ns], np.float64)
    longest = np.array([np.diff(e).max() for e in edges_ns], np.float64)
    order = np.argsort(cycle, kind="stable")
    for place, a in enumerate(order.tolist()):
        farthest = np.searchsorted(cycle[order], cycle[a] + longest[a] / max(count[a] - 2, 1), side="right")
        for b in order[place + 1 : farthest].tolist():
            if abs(count[a] - count[b]) <= 1:
                yield min(a, b), max(a, b)


@compiled
def tie(
    pairs: Int, offsets: Int, edges_ns: Int, watch_ns: Int, outages_ns: Int, reach: float, meet: bool, same_hosts: Bool,
    root: Int,
) -> None:  # fmt: skip
    """Write into `root` the smallest member of each sequence's set, sequences in lockstep joined.

    Of two that were not seen for the same time, what lies in the time in which both were seen is compared. Of two that
    meet and of which one pauses alone, what lies before the pause and behind it: ranks that train together wait for
    one another, so that records of that time are missing. Two that are not known to meet may be jobs that resemble
    each other, of which one does pause.

    Args:
        pairs: (pairs, 2) numbers of sequences that may be tied.
        offsets: (n + 1,) bounds of each sequence's edges.
        edges_ns: their times.
        watch_ns: (n, 2) from when until when each could be seen.
        outages_ns: (m, 2) when an exporter was away, in order of time.
        reach: see `is_synchronized`.
        meet: whether sequences of a pair share hosts or exchange data.
        same_hosts: (pairs,) those that are on the same hosts, of which there are several.
        root: (n,) every sequence's own number at first.
    """
    for k in range(len(pairs)):
        a, b = pairs[k]
        if find_root(root, a) != find_root(root, b):
            one, other = edges_ns[offsets[a] : offsets[a + 1]], edges_ns[offsets[b] : offsets[b + 1]]
            if abs(len(one) - len(other)) > 1:
                since = max(watch_ns[a, 0], watch_ns[b, 0])
                until = min(watch_ns[a, 1], watch_ns[b, 1])
                one, other = within(one, since, until), within(other, since, until)
                if min(len(one), len(other)) < FEWEST_CYCLES:
                    continue
            if in_lockstep(one, other, reach, same_hosts[k]) or (
                meet
                and (
                    in_lockstep_beside_holes(one, other, reach)
                    or in_lockstep_beside_outages(one, other, outages_ns, reach)
                )
            ):
                union(root, a, b)
    flatten_roots(root)


@compiled
def in_lockstep(a: Int, b: Int, reach: float, same_hosts: bool = False, one_pace: bool = False) -> bool:
    """Whether two sequences of edges are tied to one another; rather so if they are of parts on the same hosts.

    Only those that show `one_pace` are, where that is asked for: a short stretch of independent ones stays close, too.

    Two independent jobs of one period drift apart like a random walk; ranks of one job wait for one another. Tied
    sequences keep their distance but for one step (a fault moves the stages of a job against one another once), or
    their distance reverts to its mean, or their iterations lengthen and shorten together, or both stray from any even
    pace and still count alike. They end an iteration within one and a half iterations of one another: what ran at
    another time was in step with nobody.
    """
    if abs(len(a) - len(b)) > 1:
        return False
    for shift in (0, -1, 1):
        skip, skip_other = max(shift, 0), max(-shift, 0)
        n = min(len(a) - skip, len(b) - skip_other)
        if n < 3:
            continue
        left, right = a[skip : skip + n].astype(np.float64), b[skip_other : skip_other + n].astype(np.float64)
        apart, cycle = abs(_percentile(left - right, 0.5)), _percentile(np.diff(left), 0.5)
        if apart >= LONGER * cycle or (one_pace and not _keep_one_pace(left, right)):
            continue
        if is_synchronized(left, right, reach, same_hosts):
            return True
    return False


@compiled
def _keep_one_pace(a: Float, b: Float) -> bool:
    """Whether two sequences drift apart by far less than independent ones, or lengthen and shorten together."""
    distance = a - b
    wandered = np.max(distance) - np.min(distance)
    return bool(wandered <= NARROWEST_WALK * _walk(a, b) or _correlation(np.diff(a), np.diff(b)) > SAME_PACE)


@compiled
def in_lockstep_beside_holes(a: Int, b: Int, reach: float) -> bool:
    """Whether two sequences of edges, one of which has holes, are tied before and behind each hole.

    Stretches of fewer than `FEWEST_CYCLES` edges say nothing.
    """
    sparse, dense = (a, b) if len(a) < len(b) else (b, a)
    since, holes, compared = 0, 0, 0
    for k in range(1, len(sparse) + 1):
        if k < len(sparse) and not _is_hole(sparse[k - 1], sparse[k], dense):
            continue
        holes += k < len(sparse)
        if k - since >= FEWEST_CYCLES:
            stretch = sparse[since:k]
            half = int(0.5 * _percentile(np.diff(stretch).astype(np.float64), 0.5))
            if not in_lockstep(stretch, within(dense, stretch[0] - half, stretch[-1] + half), reach):
                return False
            compared += 1
        since = k
    return holes > 0 and compared > 0


@compiled
def in_lockstep_beside_outages(a: Int, b: Int, outages_ns: Int, reach: float) -> bool:
    """Whether most edges of two sequences are tied, before and behind each time in which an exporter was away.

    What it missed was put back, but edges of one part may be those of another moment of the iteration after it.
    """
    compared, since_ns = 0, np.iinfo(np.int64).min
    for k in range(len(outages_ns) + 1):
        until_ns = outages_ns[k, 0] if k < len(outages_ns) else np.iinfo(np.int64).max
        one, other = within(a, since_ns, until_ns), within(b, since_ns, until_ns)
        if k > 0:  # the iteration in which the exporter came back ends at either moment
            one, other = one[1:], other[1:]
        if min(len(one), len(other)) >= FEWEST_CYCLES:
            if not in_lockstep(one, other, reach, False, True):
                return False
            compared += len(one)
        since_ns = max(since_ns, outages_ns[k, 1]) if k < len(outages_ns) else until_ns
    return len(outages_ns) > 0 and 2 * compared > len(a)


@compiled
def _is_hole(begin_ns: int, end_ns: int, others_ns: Int) -> bool:
    """Whether others kept their pace between two edges that lie farther apart than any two of theirs meanwhile."""
    inside = within(others_ns, begin_ns, end_ns)
    return len(inside) >= 2 and end_ns - begin_ns > LONGER * np.max(np.diff(inside))


@compiled
def is_synchronized(a: Float, b: Float, reach: float, same_hosts: bool = False) -> bool:
    """Whether the distance of two sequences is noise about a constant, but for one step, or follows from one pace."""
    if _keep_count(a, b):
        return True
    cycle = _percentile(np.diff(a), 0.5)
    away, distance = np.empty(len(a)), np.empty(len(a))
    for k in range(len(a)):
        away[k] = abs(a[k] - b[k])
        distance[k] = (a[k] - b[k] - (a[0] - b[0])) / cycle
    wandered = np.max(distance) - np.min(distance)
    if same_hosts and len(a) >= ENOUGH_ON_HOSTS and wandered < WALK_ON_HOSTS * _walk(a, b) / cycle:
        return True
    if _percentile(distance, 0.9) - _percentile(distance, 0.1) > 3 * reach:
        return False
    if _percentile(away, 0.9) < COINCIDENCE * cycle or wandered < EXACT_SHARE:
        return True
    if len(a) >= ENOUGH_TO_WALK and wandered < NARROWEST_WALK * _walk(a, b) / cycle:
        return True
    if len(a) < ENOUGH_TO_TELL:
        calm = _without_excursions(distance)
        rest = calm - step(calm)
        return bool(np.max(rest) - np.min(rest) < reach)
    rest = distance - step(distance)
    return _reverts(rest) or _correlation(np.diff(a), np.diff(b)) > SAME_PACE


@compiled
def _walk(a: Float, b: Float) -> float:
    """Standard deviation, in ns, of the end of the random walk that the distance of two independent sequences is.

    The variance of its steps is the sum of the variances of both iteration times.
    """
    variance = 0.0
    for ends in (a, b):
        length = np.diff(ends)
        middle = _percentile(length, 0.5)
        variance += float(0.5 * np.pi * np.mean(np.abs(length - middle)) ** 2)  # of normal values
    return float(np.sqrt(variance * (len(a) - 1)))


@compiled
def _without_excursions(distance: Float) -> Float:
    """A sequence whose values that leave their level for one iteration, and are back in the next, are left out.

    An iteration of one part was held up once; a walk makes no such increments, least of all there and back.
    """
    increments = np.diff(distance)
    outlying = OUTLYING * _percentile(np.abs(increments), 0.5)
    calm = distance.copy()
    for k in range(1, len(distance) - 1):
        there, back = increments[k - 1], increments[k]
        if there * back < 0 and min(abs(there), abs(back)) >= outlying:
            calm[k] = 0.5 * (distance[k - 1] + distance[k + 1])
    return calm


@compiled
def _percentile(values: Float, share: float) -> float:
    """The value below which this share of them lies."""
    ranked, at = np.sort(values), share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(ranked) - 1)
    return float(ranked[low] + (at - low) * (ranked[high] - ranked[low]))


@compiled
def _correlation(a: Float, b: Float) -> float:
    """Pearson's; 0 where one of them does not vary."""
    middle_a, middle_b = np.sum(a) / len(a), np.sum(b) / len(b)
    own, other, both = 0.0, 0.0, 0.0
    for k in range(len(a)):
        off_a, off_b = a[k] - middle_a, b[k] - middle_b
        own, other, both = own + off_a**2, other + off_b**2, both + off_a * off_b
    return float(both / np.sqrt(own * other)) if own * other > 0 else 0.0


@compiled
def _keep_count(a: Float, b: Float) -> bool:
    """Whether edges that stray from every even pace stay within one iteration of one another all the same.

    A fault that comes, goes or stays may move the edges of two parts against one another by any part of an iteration;
    still the k-th iteration of both is the same one, however long it takes.
    """
    weighted, weight = 0.0, 0.0
    for k in range(len(a)):
        if k > 0 and abs(a[k] - b[k]) >= max(a[k] - a[k - 1], b[k] - b[k - 1]):
            return False
        number = k - 0.5 * (len(a) - 1)
        weighted, weight = weighted + number * (a[k] - a[0]), weight + number**2
    early, late = 0.0, 0.0  # of an even pace through the first edge
    for k in range(len(a)):
        stray = a[k] - a[0] - k * weighted / weight
        early, late = min(early, stray), max(late, stray)
    return bool(late - early > STRAYING * _percentile(np.diff(a), 0.25))


@compiled
def _reverts(distance: Float) -> bool:
    """Whether a sequence returns to its mean at every step instead of wandering: von Neumann's ratio.

    The mean squared step over the variance is 2 for noise about a constant; for a random walk of n steps, the best
    step through it taken out, it is about 24 / n.
    """
    mean = np.sum(distance) / len(distance)
    squares, steps = (distance[0] - mean) ** 2, 0.0
    for k in range(1, len(distance)):
        squares += (distance[k] - mean) ** 2
        steps += (distance[k] - distance[k - 1]) ** 2
    ratio = max(1.0, 30.0 / len(distance))
    return bool(squares == 0 or steps / (len(distance) - 1) > ratio * squares / len(distance))


@compiled
def step(distance: Float) -> Float:
    """The best two-level step through a sequence; flat where no single increment makes it.

    A walk drifts from level to level: a step is an increment that makes half the difference and stands out of the rest.
    """
    size, total = len(distance), np.sum(distance)
    head, most, cut = 0.0, -1.0, 1
    for n in range(1, size):
        head += distance[n - 1]
        explained = head**2 / n + (total - head) ** 2 / (size - n)
        if explained > most:
            most, cut = explained, n
    before, after = np.sum(distance[:cut]) / cut, np.sum(distance[cut:]) / (size - cut)
    increments = np.abs(np.diff(distance))
    found = np.full(size, total / size)
    if increments[cut - 1] >= max(0.5 * abs(after - before), OUTLYING * _percentile(increments, 0.5)):
        found[:cut], found[cut:] = before, after
    return found
