"""The period of a stream on its own byte axis: the same bytes come back every iteration, however slow it was."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.autocorrelation import FARTHEST_SHARE, autocorrelation
from reconstruct.parallel import map_slices
from reconstruct.periods.period_multiples import (
    as_pauses_have_it,
    count_cycles_per_period,
    count_periods_per_cycle,
    is_stall,
)

# Resolution of the byte axis: so many bins a row, a power of two. A cycle must span some tens of bins for its pauses to
# stay apart: longer streams are looked at in a stretch from their middle.
BINS_A_ROW = 32
FEWEST_AXIS, LONGEST_AXIS = 1024, 8192
MIN_ROWS = 12
MIN_CYCLES = 3
# A stretch of so many rows has all its bins.
MANY_ROWS = LONGEST_AXIS // BINS_A_ROW
# A shorter stretch overrules a longer one where it would have heard what that one did: it holds so many cycles of it.
OVERRULING_CYCLES = 8
# Cycles of fewer bins run into one another.
FEWEST_BINS = 50
# A candidate within this share of the best comb is as good: then the shorter period is the fundamental.
AS_GOOD_RATIO = 0.9
UNIT_RATIO = 0.5
# A distance stands out when values on both sides of it are this much lower.
PROMINENCE = 0.1
# Teeth of a comb that are looked at.
TEETH = 8
# Where nothing is heard so clearly, pauses are clipped at this part of the length before, if it is clearer by so much.
LOWER_CAP = 4.0
CLEAR, CLEARER = 0.75, 0.1
# What comes back less often than this may be a checkpoint or an evaluation: a window holds more iterations than that.
# Clips are halved then, since pauses between iterations may be twice those between micro-batches, down to this part of
# the first one: below, parts of one message lie apart.
OFTEN, HALF_CAP, LEAST_CAP = 8, 2.0, 0.001
# A beat of counted rows stands out by so many times what pauses in any order correlate with themselves by.
BY_CHANCE_SIGMAS = 5.0
# A pause is a gap this many times as long as the stream's median gap.
PAUSE_RATIO = 5.0


class StreamPeriods(NamedTuple):
    """What repeats in streams, (n,) each; all 0 where nothing does.

    Attributes:
        quantum_bytes: the fundamental, bytes after which the pauses come back.
        unit_bytes: the shortest distance at which anything comes back, one message of many alike; divides the quantum
            of the whole job even where the stream's own fundamental is mistaken.
        coherence: mean autocorrelation at multiples of the quantum, 0..1.
    """

    quantum_bytes: Float
    unit_bytes: Float
    coherence: Float


def find_periods(streams: Streams, numbers: Int, least_coherence: float, counted: bool = False) -> StreamPeriods:
    """The beat of each of some streams, looked for at a resolution that shows single cycles.

    Where all sizes are equal, as on an axis of `counted` rows, every pause is whole rows away from every other: any
    sequence comes back then. Only how much longer or shorter a pause is than the mean one counts, in the whole stream.

    A long stream has too few bins a cycle: single cycles blur, and a multiple of them stands out, or nothing. So it is
    looked at again in ever shorter stretches of its middle; a beat heard there that was too short to be told apart in
    the longer stretch is the better one.
    """
    times = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns)
    found = np.zeros((len(numbers), 3))

    def listen(some: slice) -> None:
        columns = streams.offsets, *times, to_contiguous(streams.bytes), streams.trains
        _listen(numbers[some], *columns, counted, least_coherence, found[some])

    map_slices(listen, len(numbers))
    return StreamPeriods(*found.T.copy())


@compiled
def _listen(
    numbers: Int,
    offsets: Int,
    start_ns: Int,
    end_ns: Int,
    size: Int,
    trains: Bool,
    counted: bool,
    least_coherence: float,
    found: Float,
) -> None:
    for n in range(len(numbers)):
        low, high = offsets[numbers[n]], offsets[numbers[n] + 1]
        gap_ns = pauses_ns(start_ns[low:high], end_ns[low:high])
        best = find_period(gap_ns, size[low:high], trains[numbers[n]], counted, 1.0)
        least = max(least_coherence, _by_chance(high - low, best[0])) if counted else least_coherence
        if best[2] < least:
            best = (0.0, 0.0, 0.0)
        total, aside, rows = np.sum(size[low:high]), 0, high - low
        share = 1.0
        while share * rows > MANY_ROWS and not counted:
            blurred_bytes = FEWEST_BINS * share * total / _bins(int(share * rows))
            share /= 4
            overrules = share * total >= OVERRULING_CYCLES * best[0]
            aside = int(rows * (1 - share) / 2)
            middle = gap_ns[aside : rows - aside - 1], size[low + aside : high - aside]
            closer = find_period(*middle, trains[numbers[n]], False, share)
            if closer[2] >= least_coherence and overrules and (best[2] == 0 or closer[0] < blurred_bytes):
                best = closer
        found[n, 0], found[n, 1], found[n, 2] = best


@compiled
def _by_chance(rows: int, quantum: float) -> float:
    """Coherence at a quantum of so many rows that pauses in any order do not reach.

    At a distance at which n of them overlap they correlate by 1 / sqrt(n): the last tooth, on more than half of the
    axis, by twice as much as the first of many. The coherence is the mean of the teeth.
    """
    teeth = max(min(TEETH, int(FARTHEST_SHARE * rows / max(quantum, 1.0))), 1)
    variance = 0.0
    for m in range(1, teeth + 1):
        variance += 1 / max(rows - m * quantum, 1.0)
    return float(BY_CHANCE_SIGMAS * np.sqrt(variance) / teeth)


@compiled
def pauses_ns(start_ns: Int, end_ns: Int) -> Float:
    """(rows - 1,) idle time between each row of a stream and the next; rows that overlap have none."""
    gap_ns = np.zeros(max(len(start_ns) - 1, 0))
    latest = end_ns[0] if len(end_ns) else 0
    for k in range(len(gap_ns)):
        latest = max(latest, end_ns[k])
        gap_ns[k] = max(start_ns[k + 1] - latest, 0)
    return gap_ns


@compiled
def latest_ends(end_ns: Int) -> Int:
    """(rows,) the latest end up to and with each row of a stream."""
    latest = end_ns.copy()
    for k in range(1, len(latest)):
        latest[k] = max(latest[k], latest[k - 1])
    return latest


@compiled
def find_period(gap_ns: Float, size: Int, trains: bool, counted: bool, share: float) -> tuple[float, float, float]:
    """(quantum_bytes, unit_bytes, coherence) of one stretch of a stream; all 0 where nothing repeats.

    1. Gaps between the packets of one message count nothing (`pause_threshold_ns`).
    2. Pauses are clipped so that rare ones, a checkpoint or an evaluation, do not outweigh the rhythm (`_cap_ns`).
       Where nothing is clear then, not at all, and ever lower: a fault that comes and goes makes some pauses ten times
       the others. Lower too where the period came back a few times only: it may be a stall's (`is_stall`).
    3. Pauses are put into bins of the cumulative bytes before them and autocorrelated.
    4. Of the distances that stand out, the shortest one whose comb is as good as the best one's is the quantum; twice
       that where pauses alternate in length, as between scattering and gathering equal bytes (`alternates`); a part of
       it where its pattern is missing at times, as that of a fault that comes and goes is before it sets in.

    Args:
        gap_ns: (rows - 1,) idle time behind each row but the last.
        size: (rows,) bytes.
        trains: whether rows are packet trains; flow records otherwise.
        counted: whether rows are counted instead of their bytes, see `find_periods`.
        share: of the whole stream that the stretch is.
    """
    if len(size) < MIN_ROWS:
        return 0.0, 0.0, 0.0
    total = np.sum(size)
    ranked = np.sort(gap_ns)
    threshold = _threshold_ns(ranked) if trains else 0.0
    bins = _bins(len(size))
    cap, floor = _cap_ns(ranked), max(threshold, 2 * ranked[len(ranked) // 2])
    longest = ranked[max(len(ranked) - 3, 0)]
    quantum, unit, coherence = _clipped(gap_ns, size, bins, threshold, cap, counted)
    if coherence < CLEAR and longest > cap:
        again = _clipped(gap_ns, size, bins, threshold, longest, counted)
        if again[2] > coherence + CLEARER:
            quantum, unit, coherence = again
    while coherence < CLEAR and cap > LOWER_CAP * floor:
        cap /= LOWER_CAP
        again = _clipped(gap_ns, size, bins, threshold, cap, counted)
        if again[2] > coherence + CLEARER:
            quantum, unit, coherence = again
    seldom, floor = quantum, max(floor, LEAST_CAP * cap)
    while cap > floor and bins < OFTEN * share * seldom:
        cap /= HALF_CAP
        again = _clipped(gap_ns, size, bins, threshold, cap, counted)
        if again[2] >= CLEAR and is_stall(gap_ns, size, again[0] * total / bins, seldom / again[0], threshold):
            quantum, unit, coherence = again
    if quantum > 0:
        units = int(np.rint(quantum / unit))
        unit_bytes = as_pauses_have_it(gap_ns, size, quantum * total / bins, threshold) / units
        parts = count_periods_per_cycle(gap_ns, size, unit_bytes, units, threshold)
        quantum, units = quantum / parts, units // parts
        quantum *= count_cycles_per_period(gap_ns, size, units * unit_bytes, unit_bytes, threshold)
    return quantum * total / bins, unit * total / bins, coherence


@compiled
def _clipped(
    gap_ns: Float, size: Int, bins: int, threshold_ns: float, cap_ns: float, counted: bool
) -> tuple[float, float, float]:
    """(quantum, unit, coherence) in bins of what repeats where pauses are clipped at a length."""
    place, weight = _spikes(gap_ns, size, np.sum(size) / bins, bins, threshold_ns, cap_ns, counted)
    return fundamental(autocorrelation(place, weight, bins), bins)


@compiled
def _bins(rows: int) -> int:
    bins = FEWEST_AXIS
    while bins < min(BINS_A_ROW * rows, LONGEST_AXIS):
        bins *= 2
    return bins


@compiled
def pause_threshold_ns(gap_ns: Float, trains: bool) -> float:
    """What a gap must exceed to be a pause between messages.

    Args:
        gap_ns: gaps between the rows of a stream.
        trains: whether rows are packet trains. Then five median gaps; 0 where that is of the order of the longest
            gaps, or rows are flow records: every row is a message of its own already, and every gap a pause.
    """
    return _threshold_ns(np.sort(gap_ns)) if trains else 0.0


@compiled
def _threshold_ns(ranked_ns: Float) -> float:
    half = len(ranked_ns) // 2
    middle = ranked_ns[half] if len(ranked_ns) % 2 else 0.5 * (ranked_ns[half - 1] + ranked_ns[half])
    threshold = PAUSE_RATIO * middle
    return threshold if threshold < 0.5 * ranked_ns[max(len(ranked_ns) - 3, 0)] else 0.0


@compiled
def _cap_ns(ranked_ns: Float) -> float:
    """Length at which pauses are clipped: those longer, the three longest aside, hold under 40 % of all idle time."""
    most = ranked_ns[max(len(ranked_ns) - 3, 0)]
    total = 0.0
    for gap in ranked_ns:
        total += min(gap, most)
    running = 0.0
    for k in range(len(ranked_ns) - 1, -1, -1):
        running += min(ranked_ns[k], most)
        if running >= 0.4 * total:
            return float(min(ranked_ns[k], most))
    return 0.0


@compiled
def _spikes(
    gap_ns: Float, size: Int, bin_bytes: float, bins: int, threshold_ns: float, cap_ns: float, counted: bool
) -> tuple[Int, Float]:
    """Bin and weight of each pause, by place on the byte axis; of `counted` rows, of each gap less the mean one."""
    place, weight = np.empty(len(gap_ns), np.int64), np.empty(len(gap_ns))
    n, before = 0, 0
    for k in range(len(gap_ns)):
        before += size[k]
        if gap_ns[k] > threshold_ns or counted:
            place[n], weight[n] = min(int(before / bin_bytes), bins - 1), min(gap_ns[k], cap_ns)
            n += 1
    if counted:
        weight[:n] -= np.mean(weight[:n])
    return place[:n], weight[:n]


@compiled
def fundamental(values: Float, bins: int) -> tuple[float, float, float]:
    """(quantum, unit, coherence) in bins: the shortest distance whose comb is as good as the best one's; 0 without any.

    Args:
        values: autocorrelation against distance in bins (`autocorrelation`).
        bins: length of the axis.
    """
    peaks = _peaks(values[: bins // MIN_CYCLES])
    combs = np.empty(len(peaks))
    for k in range(len(peaks)):
        combs[k] = comb(values, bins, peaks[k], 0.002)
    if not len(peaks):
        return 0.0, 0.0, 0.0
    best = np.max(combs)
    at = np.argmax(combs >= AS_GOOD_RATIO * best)
    unit = np.argmax(combs >= UNIT_RATIO * best)
    return refine(values, bins, peaks[at], 0.0), refine(values, bins, peaks[unit], 0.0), combs[at]


@compiled
def _peaks(values: Float) -> Int:
    """Local maxima (the middle of a level top) that are higher by PROMINENCE than what parts them from higher ones."""
    found = np.empty(len(values), np.int64)
    n, k = 0, 1
    while k < len(values) - 1:
        last = k
        if values[k] > values[k - 1]:
            while last + 1 < len(values) and values[last + 1] == values[k]:
                last += 1
            top = last + 1 < len(values) and values[last + 1] < values[k]
            if top and _stands_out(values, k, -1) and _stands_out(values, last, 1):
                found[n] = (k + last) // 2
                n += 1
        k = last + 1
    return found[:n]


@compiled
def _stands_out(values: Float, at: int, step: int) -> bool:
    """Whether values fall by PROMINENCE on one side before they rise above the one at `at`, or end."""
    here = at + step
    while 0 <= here < len(values) and values[here] <= values[at]:
        if values[at] - values[here] >= PROMINENCE:
            return True
        here += step
    return False


@compiled
def comb(values: Float, bins: int, lag: float, slack: float) -> float:
    """Mean autocorrelation at up to eight multiples of `lag` (bins), each within +-(1.5 bins + slack) of its place."""
    teeth = min(TEETH, int(FARTHEST_SHARE * bins / lag))
    total = 0.0
    for m in range(1, teeth + 1):
        reach = 1.5 + slack * m * lag
        low, high = _window(values, m * lag, reach)
        highest = values[low] if low < high else 0.0
        for k in range(low + 1, high):
            highest = max(highest, values[k])
        total += highest
    return total / teeth if teeth else 0.0


@compiled
def refine(values: Float, bins: int, lag: float, slack: float) -> float:
    """The lag near `lag` that its own multiples agree on: each further tooth divides the error by its number."""
    for m in range(1, min(TEETH, int(FARTHEST_SHARE * bins / lag)) + 1):
        reach = 1.5 + (slack * lag if m == 1 else 0.75)
        lag = _peak(values, m * lag, reach) / m
    return lag


@compiled
def _window(values: Float, centre: float, reach: float) -> tuple[int, int]:
    return max(1, int(np.floor(centre - reach))), min(len(values) - 1, int(np.ceil(centre + reach)) + 1)


@compiled
def _peak(values: Float, centre: float, reach: float) -> float:
    """Place of the highest value within reach, to a part of a bin by a parabola through its neighbours."""
    low, high = _window(values, centre, reach)
    if low >= high:
        return centre
    at = low + int(np.argmax(values[low:high]))
    if not 0 < at < len(values) - 1:
        return float(at)
    left, top, right = values[at - 1], values[at], values[at + 1]
    bend = left - 2 * top + right
    return at + min(max(0.5 * (left - right) / bend, -0.5), 0.5) if bend < 0 else float(at)
