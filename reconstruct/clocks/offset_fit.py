"""By how much two clocks differ that saw the same moments: the shift at which most of them coincide, and its drift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.medians import MAD_TO_SIGMA

# Moments coincide within the narrowest of these at which one shift stands out: exact records, sparse samples.
WIDTHS_NS = (1_000_000, 4_000_000, 16_000_000, 64_000_000)
# Shifts are looked for this far around what is expected.
REACH_NS = 1_000_000_000
# Clocks drift against one another by no more, and are followed outwards from so long a time in the middle.
MOST_DRIFT = 200e-6
# A drift of fewer standard errors is taken for none: of a short window it would put both ends where they are not.
SURE_DRIFT = 4.0
STRETCH_NS = 60_000_000_000
# So many coincidences at least, and so many standard deviations more than at any other shift, moment by moment
# (McNemar 1947).
FEWEST, STANDS_OUT = 8, 3.0
# Where a moment meets more than so many others within a width by chance, coincidences tell nothing.
CROWDED = 0.5
# Shifts at which nearly as many moments coincide before drift is known.
CANDIDATES = 3
# Of the moments that coincide in the middle, this share does so in every part of the time, or the clock does not run
# evenly.
STEADY_SHARE, PARTS = 0.5, 4
# More moments tell no more, but take longer.
MOST_DIFFERENCES = 60_000


@dataclass(frozen=True, slots=True)
class OffsetFit:
    """How far one clock is ahead of another.

    Attributes:
        lead_ns: in the middle of the time.
        drift_ppm: by which it runs faster.
        error_ns, drift_error_ppm: standard errors.
        middle_ns: that time, by the first clock.
        coincidences: pairs of moments that tell.
    """

    lead_ns: float
    drift_ppm: float
    error_ns: float
    drift_error_ppm: float
    middle_ns: float
    coincidences: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A shift that changes evenly; of the differences those that lie within a width of it."""

    level: float
    slope: float
    kept: Bool


def shift(moments: Sequence[tuple[Int, Int]], expected_ns: int = 0) -> OffsetFit | None:
    """The shift between two clocks; None where no shift, or more than one, makes their moments coincide.

    1. All differences between moments of one and of the other clock, near what is expected. At the true shift most
       are alike; at others, such as one message or iteration more, fewer, because no two take exactly as long.
    2. Through the shifts that hold most of them, lines, for clocks drift. Within the narrowest width at which one line
       has significantly more coincidences than any other shift beside it, that one is meant.
    3. From the middle of the time outwards, a stretch twice as long each time.

    Args:
        moments: ascending times of the same kind of moments by each of the two clocks, several kinds; ns.
        expected_ns: the first clock is about so far ahead.
    """
    when, lead, of = _differences(moments, expected_ns)
    if len(lead) < FEWEST:
        return None
    middle, length = float(when.min() + when.max()) / 2, float(when.max() - when.min())
    since, apart = (when - middle).astype(np.float64), (lead - expected_ns).astype(np.float64)
    near = np.abs(since) <= STRETCH_NS / 2
    if np.count_nonzero(near) < FEWEST:
        return None
    moments_near = len(np.unique(of[near]))
    for width in WIDTHS_NS:
        if np.count_nonzero(near) * width > CROWDED * REACH_NS * moments_near:
            return None
        line = _standing_out(since[near], apart[near], of[near], width)
        if line is not None:
            whole = _followed(since, apart, line, width, length)
            if whole is not None and not _steady(since, of, whole, length):
                return None
            return _possible(_told(since, apart, whole, (expected_ns, middle))) if whole is not None else None
    return None


def _possible(found: OffsetFit) -> OffsetFit | None:
    """A shift without a drift that may be none; None where clocks would drift apart as clocks do not."""
    sure = SURE_DRIFT * found.drift_error_ppm
    if abs(found.drift_ppm) - sure > MOST_DRIFT * 1e6:
        return None
    return found if abs(found.drift_ppm) > sure else replace(found, drift_ppm=0.0)


def _differences(moments: Sequence[tuple[Int, Int]], expected_ns: int) -> tuple[Int, Int, Int]:
    """Pairs of moments within reach of the expected shift: (when by the first clock, its lead, which moment)."""
    whens, leads, ofs = ([np.zeros(0, np.int64)] for _ in range(3))
    met = 0
    for every, other in moments:
        one = every
        low = np.searchsorted(other, one - expected_ns - REACH_NS)
        count = np.searchsorted(other, one - expected_ns + REACH_NS, "right") - low
        step = max(-(-int(count.sum()) * len(moments) // MOST_DIFFERENCES), 1)
        one, low, count = one[::step], low[::step], count[::step]
        first, total = np.cumsum(count) - count, int(count.sum())
        when = np.repeat(one, count)
        whens.append(when)
        leads.append(when - other[np.repeat(low - first, count) + np.arange(total)])
        ofs.append(met + np.repeat(np.arange(len(one)), count))
        met += len(one)
    return np.concatenate(whens), np.concatenate(leads), np.concatenate(ofs)


def _standing_out(since: Float, apart: Float, of: Int, width: int) -> _Line | None:
    """The line with most coincidences; None where another shift has nearly as many."""
    lines = [line for peak in _peaks(apart, width) if (line := _drawn(since, apart, peak, width)) is not None]
    if not lines:
        return None
    best = max(lines, key=lambda line: int(np.count_nonzero(line.kept)))
    rest = apart - best.level - best.slope * since
    beside = np.sort(rest[np.abs(rest) > 2 * width])
    if not len(beside):
        return best
    held = np.searchsorted(beside, beside + 2 * width, "right") - np.arange(len(beside))
    begin = beside[int(np.argmax(held))]
    here, there = np.unique(of[best.kept]), np.unique(of[(rest >= begin) & (rest <= begin + 2 * width)])
    both = len(np.intersect1d(here, there, assume_unique=True))
    only_here, only_there = len(here) - both, len(there) - both
    return best if only_here - only_there > STANDS_OUT * np.sqrt(only_here + only_there) else None


def _peaks(apart: Float, width: int) -> Iterator[float]:
    """Shifts that hold most differences, apart from one another by more than drift can spread them."""
    ordered = np.sort(apart)
    held = np.searchsorted(ordered, ordered + width, "right") - np.arange(len(ordered))
    for _ in range(CANDIDATES):
        best = int(np.argmax(held))
        if held[best] == 0:
            return
        yield float(np.median(ordered[best : best + int(held[best])]))
        held[np.abs(ordered - ordered[best]) <= 2 * width + MOST_DRIFT * STRETCH_NS] = 0


def _drawn(since: Float, apart: Float, level: float, width: int) -> _Line | None:
    """A line through what lies about a level; None where too little does."""
    slope, spread = 0.0, MOST_DRIFT * STRETCH_NS / 2
    for about in (width + spread, width + spread / 2, width + spread / 4, width, width):
        rest = apart - level - slope * since
        kept = np.abs(rest) <= about
        if np.count_nonzero(kept) < FEWEST:
            return None
        slope += _slope(since[kept], rest[kept])
        level += float(np.median((apart - level - slope * since)[kept]))
    return _Line(level, slope, np.abs(apart - level - slope * since) <= width)


def _slope(since: Float, rest: Float) -> float:
    """Least squares; what lies far off has been left out."""
    centred = since - since.mean()
    square = float(np.dot(centred, centred))
    return float(np.dot(centred, rest)) / square if square else 0.0


def _followed(since: Float, apart: Float, line: _Line, width: int, length: float) -> _Line | None:
    """The line through all of the time; None where it comes to nothing."""
    stretch, level, slope = float(STRETCH_NS), line.level, line.slope
    while True:
        rest = apart - level - slope * since
        kept = (np.abs(since) <= stretch / 2) & (np.abs(rest) <= width)
        if np.count_nonzero(kept) < FEWEST:
            return None
        slope += _slope(since[kept], rest[kept])
        level += float(np.median((apart - level - slope * since)[kept]))
        if stretch >= length:
            return _Line(level, slope, kept)
        stretch *= 2


def _steady(since: Float, of: Int, line: _Line, length: float) -> bool:
    """Whether as many moments coincide in every part of the time, of those that there are."""
    part = np.clip(((since / max(length, 1.0) + 0.5) * PARTS).astype(np.int64), 0, PARTS - 1)
    there = [np.unique(of[part == n]) for n in range(PARTS)]
    told = [len(np.unique(of[(part == n) & line.kept])) / len(there[n]) for n in range(PARTS) if len(there[n])]
    return min(told) >= STEADY_SHARE * max(told)


def _told(since: Float, apart: Float, line: _Line, place: tuple[int, float]) -> OffsetFit:
    rest = (apart - line.level - line.slope * since)[line.kept]
    error = MAD_TO_SIGMA * float(np.median(np.abs(rest))) / float(np.sqrt(len(rest)))
    spread = float(np.std(since[line.kept]))
    drift_error = error / spread * 1e6 if spread else float("inf")
    return OffsetFit(place[0] + line.level, line.slope * 1e6, error, drift_error, place[1], len(rest))
