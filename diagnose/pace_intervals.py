"""Iteration times -> periods: stretches of iterations that take equally long, and which of them are slow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.ndimage import median_filter
from scipy.special import gammaincc

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.medians import MAD_TO_SIGMA

# Fewest iterations that make a period.
SHORTEST = 3
# Runs that chance makes as long in so many jobs are no period: a window has a few hundred iterations of a job, and of
# 10,000 healthy ones 0.3 may be called slow.
CHANCE = 0.01
# Iterations of which one moves less than this share of the other's bytes do other work.
LIKE_WORK = 0.8
# A single iteration is slow beyond so many times the distance from the 10th to the 30th percentile: 0.76 sigma each.
OUTLYING = 6.0


@dataclass(frozen=True, slots=True)
class PaceInterval:
    """Iterations [first, last] that take alike, or some of them.

    Attributes:
        first, last: first and last of its iterations.
        duration_ns: median iteration time.
        baseline: iterations of the job at its best, to compare with; empty for a period that is not slow.
        slowdown_ratio: duration / that of the baseline; 1.0 for a period that is not slow.
        chance: probability that no cause made it slow, as many periods as a job has; 1 for one that is not slow.
        only: its iterations, where others that are not slow lie between them; else empty.
        left_out: iterations between its first and last of which it is not known how long they took.
    """

    first: int
    last: int
    duration_ns: float
    baseline: tuple[int, ...]
    slowdown_ratio: float
    chance: float = 1.0
    only: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()

    @property
    def iterations(self) -> Int:
        """Its iteration numbers."""
        if self.only:
            return np.array(self.only, np.int64)
        return np.setdiff1d(np.arange(self.first, self.last + 1), self.left_out)

    @property
    def slow(self) -> bool:
        """Whether the job has been measurably faster than in this period."""
        return bool(self.baseline)


def durations_ns(edges_ns: Int) -> Float:
    """(iterations,) time of each iteration; nan for the first, whose beginning is not seen as an edge."""
    return np.concatenate([[np.nan], np.diff(edges_ns).astype(np.float64)])


def noise_ratio(durations: Float) -> float:
    """Robust spread of the iteration time from one iteration to the next, as a share of its median."""
    known = durations[np.isfinite(durations)]
    steps = np.abs(np.diff(known))
    return float(MAD_TO_SIGMA * np.median(steps) / np.sqrt(2) / np.median(known)) if len(steps) else 0.0


def split_intervals(
    edges_ns: Int, least_ratio: float, moved_bytes: Float | None = None, incomplete: Bool | None = None
) -> list[PaceInterval]:
    """Split a job's iterations where their time changes and stays changed.

    1. A median filter of three takes out single long iterations: a checkpoint or a hiccup is no period.
    2. Optimal partitioning of the logarithm (Jackson et al. 2005, squared error, penalty by the noise); neighbours
       whose medians lie within four standard errors or half of `least_ratio` are one period. Iterations at a
       boundary, which the filter may have moved, go to the period they are more alike.
    3. A period is slow when it exceeds the fastest one by `least_ratio` and by its noise, and neither is a run of
       chance: by what the iterations of the longer of the two show, one in a hundred jobs would have such a one. Only
       periods of like work are compared: evaluations pass forward only and are quicker for that, larger batches take
       longer.

    Args:
        edges_ns: (iterations,) end of each iteration.
        least_ratio: smallest slowdown worth reporting, e.g. 0.05.
        moved_bytes: (iterations,) what the job moved in each; None where that is not known of all alike.
        incomplete: (iterations,) whether records are missing, so that neither its time nor its work is known: it is
            left out; None for none.
    """
    known = np.arange(1, len(edges_ns))
    known = known if incomplete is None else known[~incomplete[1:]]
    durations = np.maximum(durations_ns(edges_ns)[known], 1.0)  # stamps in whole ms may put two ends at once
    if not len(known):
        return []
    # what follows counts iterations that are known; a period ends right before the next one begins
    ends = np.append(known[1:], len(edges_ns)) - 1
    if len(durations) < 2 * SHORTEST:
        return [_interval(known, ends, (0, len(known)), float(np.median(durations)))]
    smooth = np.log(median_filter(durations, 3, mode="nearest"))
    noise = max(noise_ratio(durations), 0.002)
    spans = _sharpened(np.log(durations), _merged(smooth, _partition(smooth, noise), noise, least_ratio / 2))
    level = [float(np.median(durations[a:b])) for a, b in spans]
    work = [1.0 if moved_bytes is None else float(np.median(moved_bytes[known[a:b]])) for a, b in spans]
    found = []
    for (a, b), value, own in zip(spans, level, work, strict=True):
        alike = [n for n, other in enumerate(work) if _like_work(own, other)]
        best = min(level[n] for n in alike)
        fastest = [n for n in alike if level[n] <= best * (1 + least_ratio / 2)]
        baseline = np.concatenate([np.arange(*spans[n]) for n in fastest])
        ratio = value / float(np.median(durations[baseline]))
        beyond = ratio >= 1 + max(least_ratio, 3 * noise / np.sqrt(b - a))
        chance = _chance(durations, np.arange(a, b), baseline) if beyond else 1.0
        part = _interval(known, ends, (a, b), value)
        slow = replace(part, baseline=tuple(known[baseline].tolist()), slowdown_ratio=ratio, chance=chance)
        found.append(slow if chance <= CHANCE else part)
    return found


def _interval(known: Int, ends: Int, span: tuple[int, int], duration_ns: float) -> PaceInterval:
    """Build the period of some of the iterations that are known, which is not slow."""
    first, last = int(known[span[0]]), int(ends[span[1] - 1])
    left_out = np.setdiff1d(np.arange(first, last + 1), known[slice(*span)])
    return PaceInterval(first, last, duration_ns, (), 1.0, left_out=tuple(left_out.tolist()))


def _chance(durations: Float, slow: Int, baseline: Int) -> float:
    """How many runs chance makes in a job that are as far off as the slow iterations are from the baseline.

    One may begin anywhere. The larger set shows what is usual. The share of its iterations that are as long as each of
    the smaller one, or as short, is a probability; beyond its last it has an exponential tail, as many times as
    unlikely as an iteration lies further from the median. Fisher's method combines them.
    """
    longer, few, many = (1, slow, baseline) if len(slow) <= len(baseline) else (-1, baseline, slow)
    usual, own = np.sort(longer * durations[many]), longer * durations[few]
    as_far = (len(usual) - np.searchsorted(usual, own) + 1) / (len(usual) + 1)
    middle = float(np.median(usual))
    beyond = np.maximum((own - middle) / max(float(usual[-1]) - middle, 0.001 * abs(middle)), 1.0)
    unlikely = float((-np.log(as_far) * np.where(as_far * (len(usual) + 1) < 2, beyond, 1.0)).sum())
    runs = len(durations) - len(own) + 1
    return float(gammaincc(len(own), unlikely)) * runs


def find_sporadic(
    edges_ns: Int,
    parts: list[PaceInterval],
    least_ratio: float,
    moved_bytes: Float | None = None,
    guessed: Bool | None = None,
) -> PaceInterval | None:
    """Slow iterations among those of the job at its best, each too short to be a period; None for fewer than three.

    They are longer than the job's best by `least_ratio` and by six times its noise: the spread of the quicker half,
    which slow iterations do not reach. Those that do other work are no slow ones, and take as long for that; of those
    whose ends are `guessed`, because records were lost, it is not known how long they took.
    """
    fine = [i for part in parts if not part.slow for i in part.iterations.tolist() if guessed is None or not guessed[i]]
    if len(fine) < 2 * SHORTEST:
        return None
    durations = durations_ns(edges_ns)[fine]
    limit = outlier_limit(durations, least_ratio * float(np.percentile(durations, 30)) / OUTLYING)
    if limit <= 0:
        return None  # several ends fell on one instant: they are no iterations
    slow = np.array(fine)[durations > limit]
    rest = np.array(fine)[durations <= limit]
    if len(slow) < SHORTEST or len(rest) < SHORTEST:
        return None
    if moved_bytes is not None and not _like_work(*(float(np.median(moved_bytes[some])) for some in (slow, rest))):
        return None
    level = float(np.median(durations_ns(edges_ns)[slow]))
    ratio = level / float(np.median(durations_ns(edges_ns)[rest]))
    return PaceInterval(int(slow[0]), int(slow[-1]), level, tuple(rest.tolist()), ratio, 0.0, tuple(slow.tolist()))


def outlier_limit(values: Float, least_spread: float) -> Float:
    """Limit above which values of each row, (..., n), are outliers: the 30th percentile and six times the spread.

    The spread is the distance from the 10th to the 30th percentile, or `least_spread` if that is more. A fault of half
    of the time reaches neither.
    """
    usual, low = np.percentile(values, [30, 10], axis=-1)
    return np.asarray(usual + OUTLYING * np.maximum(usual - low, least_spread))


def _like_work(one_bytes: float, other_bytes: float) -> bool:
    """Whether iterations that move so many bytes do the same work."""
    return min(one_bytes, other_bytes) >= LIKE_WORK * max(one_bytes, other_bytes)


def _partition(values: Float, noise: float) -> list[tuple[int, int]]:
    """Spans of at least `SHORTEST` values with the least squared error plus a penalty a span."""
    n = len(values)
    sums, squares = np.concatenate([[0], np.cumsum(values)]), np.concatenate([[0], np.cumsum(values**2)])
    penalty = 4 * noise**2 * np.log(n)
    best, back = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    best[0] = -penalty
    for end in range(SHORTEST, n + 1):
        start = np.arange(0, end - SHORTEST + 1)
        length = end - start
        error = squares[end] - squares[start] - (sums[end] - sums[start]) ** 2 / length
        total = best[start] + error + penalty
        back[end] = int(np.argmin(total))
        best[end] = total[back[end]]
    spans = []
    end = n
    while end > 0:
        spans.append((int(back[end]), end))
        end = int(back[end])
    return spans[::-1]


def median_error(count: int, other: int) -> float:
    """Return the standard error of the difference of two medians of normal values, in their standard deviations.

    The error of a median is 1.25 times that of a mean.
    """
    return 1.25 * float(np.sqrt(1 / count + 1 / other))


def _merged(values: Float, spans: list[tuple[int, int]], noise: float, least: float) -> list[tuple[int, int]]:
    """Join the most alike neighbours until all differ."""
    spans = list(spans)
    while len(spans) > 1:
        excess = []
        for (a, b), (c, d) in pairwise(spans):
            apart = abs(float(np.median(values[a:b])) - float(np.median(values[c:d])))
            error = noise * median_error(b - a, d - c)
            excess.append(apart - max(4 * error, least))
        k = int(np.argmin(excess))
        if excess[k] >= 0:
            break
        spans[k : k + 2] = [(spans[k][0], spans[k + 1][1])]
    return spans


def _sharpened(values: Float, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Move each boundary past iterations that are more like the other side's, two at least staying on each."""
    level = [float(np.median(values[a:b])) for a, b in spans]
    bounds = [spans[0][0], *(b for _, b in spans)]
    for n in range(1, len(spans)):
        low, high = bounds[n - 1] + 2, bounds[n + 1] - 2
        away = np.abs(values[:, None] - np.array(level[n - 1 : n + 1]))
        while bounds[n] > low and away[bounds[n] - 1, 1] < away[bounds[n] - 1, 0]:
            bounds[n] -= 1
        while bounds[n] < high and away[bounds[n], 0] < away[bounds[n], 1]:
            bounds[n] += 1
    return list(pairwise(bounds))
