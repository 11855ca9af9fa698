"""Cycles of a stream compared with one another: whether several make a period, or one falls into several. Kernels."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled
from reconstruct.periods.folding import sharpened

# Lengths alternate when in this share of at least so many cycles the next one differs, by this share of the longer one,
# and the one after that is nearer than this share of the difference.
TURNS_SHARE, FEWEST_TURNS, DIFFER_SHARE, TURN_SHARE = 0.8, 5, 0.05, 0.25
# Of the cycles, so many rest at a place where the others do not.
MOST_REST = 0.6
# A pattern makes idle times of its parts differ by this share of the usual one, or more; where they differ by
# this share of that only, it is away. Where that is rarer than this share of the time, it is chance.
PATTERN_SHARE, AWAY_SHARE, AWAY_OFTEN = 0.5, 0.1, 0.1
# A period is a multiple of another to this part of that one.
OFF_MULTIPLE = 0.1
# Places of a period have pauses of their own where ranks by place differ with 95 % confidence, and typical pauses by
# more than this share: less is how long a message takes, not what is computed before it.
UNLIKE_SIGMAS, UNLIKE_SHARE = 1.645, 0.05


@compiled
def as_pauses_have_it(gap_ns: Float, size: Int, quantum_bytes: float, threshold_ns: float) -> float:
    """The quantum as its longest pauses have it, so that cycles far apart are not told by its error."""
    pauses = np.flatnonzero(gap_ns > threshold_ns)
    length = gap_ns[pauses]
    count = int(2 * np.sum(size) / quantum_bytes) + 2
    leading = pauses[length >= np.sort(length)[-min(len(length), count)]]
    return sharpened(np.cumsum(size)[leading].astype(np.float64), gap_ns[leading], quantum_bytes)


@compiled
def count_cycles_per_period(
    gap_ns: Float, size: Int, quantum_bytes: float, unit_bytes: float, threshold_ns: float
) -> int:
    """How many cycles make a period: those that are idle for two lengths in turn, or rest at one place now and then."""
    if alternates(gap_ns, size, quantum_bytes, unit_bytes, threshold_ns):
        return 2
    return rests_every(gap_ns, size, quantum_bytes, unit_bytes, threshold_ns)


@compiled
def rests_every(gap_ns: Float, size: Int, quantum_bytes: float, unit_bytes: float, threshold_ns: float) -> int:
    """After how many cycles a pause comes back at a place where all others between go on without any; 1 for none.

    Sharded training gathers and scatters for every micro-batch, and the last scatter of one and the first gather of the
    next go back to back, but where the optimizer steps between them. What waits now and then at a place where every
    cycle pauses, as for a checkpoint or an evaluation, makes no period.
    """
    units = int(np.rint(quantum_bytes / unit_bytes))
    idle_ns = _idle_ns(gap_ns, size, unit_bytes, unit_bytes, threshold_ns)
    for place in range(units):
        pauses = np.flatnonzero(idle_ns[place::units] > 0)
        cycles = len(idle_ns[place::units])
        if len(pauses) < FEWEST_TURNS or len(pauses) > cycles * MOST_REST:
            continue
        every = int(np.median(np.diff(pauses)))
        regular = np.sum(np.diff(pauses) == every)
        if every > 1 and regular >= TURNS_SHARE * (len(pauses) - 1) and regular >= TURNS_SHARE * (cycles // every - 1):
            return every
    return 1


@compiled
def alternates(gap_ns: Float, size: Int, quantum_bytes: float, unit_bytes: float, threshold_ns: float) -> bool:
    """Whether cycles are idle for two lengths in turn: then two of them are the period.

    Each cycle is compared with the next one and the one after that, so that a change of pace in between spoils but two
    comparisons. A pause of every third cycle or rarer is no turn: neighbours are alike then.
    """
    inner = _idle_ns(gap_ns, size, quantum_bytes, unit_bytes, threshold_ns)
    seen = len(inner) - 2
    if seen < FEWEST_TURNS:
        return False
    step = np.abs(inner[1:-1] - inner[:-2])
    turn = np.abs(inner[2:] - inner[:-2])
    larger = np.maximum(inner[1:-1], inner[:-2])
    clear = np.sum((turn < TURN_SHARE * step) & (step > DIFFER_SHARE * larger))
    return bool(clear >= TURNS_SHARE * seen)


@compiled
def is_stall(gap_ns: Float, size: Int, quantum_bytes: float, times: float, threshold_ns: float) -> bool:
    """Whether so many cycles in a row are a period only because of the pause at one place of it.

    Micro-batches differ by place, as a pipeline fills and drains and passes go forward and back. Iterations between two
    checkpoints do not.
    """
    cycles = int(np.rint(times))
    if cycles < 3 or abs(times - cycles) > OFF_MULTIPLE:
        return False
    quantum_bytes = as_pauses_have_it(gap_ns, size, quantum_bytes, threshold_ns)
    idle_ns = _idle_ns(gap_ns, size, quantum_bytes, quantum_bytes, threshold_ns)
    place = np.arange(len(idle_ns)) % cycles
    usual_ns = np.array([np.median(idle_ns[k::cycles]) for k in range(cycles)])
    longest = np.argmax(usual_ns)
    others = place != longest
    return not differ(idle_ns[others], place[others], np.delete(usual_ns, longest))


@compiled
def differ(idle_ns: Float, place: Int, usual_ns: Float) -> bool:
    """Whether idle times depend on the place: Kruskal and Wallis's test, its chi-square by Wilson and Hilferty.

    Args:
        idle_ns: (n,) idle times.
        place: (n,) place of each.
        usual_ns: (places,) the median one at each place.
    """
    if np.max(usual_ns) - np.min(usual_ns) <= UNLIKE_SHARE * np.median(usual_ns):
        return False
    rank = np.empty(len(idle_ns))
    rank[np.argsort(idle_ns, kind="mergesort")] = np.arange(len(idle_ns)) - 0.5 * (len(idle_ns) - 1)
    between = 0.0
    for k in np.unique(place):
        own = rank[place == k]
        between += np.sum(own) ** 2 / len(own)
    freedom = len(usual_ns) - 1
    spread = 2 / (9 * freedom)
    ratio = 12 * between / (len(idle_ns) * (len(idle_ns) + 1)) / freedom
    return bool(ratio ** (1 / 3) - 1 + spread > UNLIKE_SIGMAS * np.sqrt(spread))


@compiled
def count_periods_per_cycle(gap_ns: Float, size: Int, unit_bytes: float, units: int, threshold_ns: float) -> int:
    """Into how many periods a cycle of so many units falls, since its pattern is missing at times; 1 where it is not.

    Micro-batches of an iteration differ in every iteration: before the first there is a step to take, whatever happens.
    A fault that comes and goes every few iterations makes a pattern too, but not in the iterations before it sets in:
    where parts are idle alike through a whole cycle while they differ in most, the cycle falls into them. Parts of
    these (layers) may still differ in turn.
    """
    for own in range(1, units // 2 + 1):
        if units % own:
            continue
        if _away(_idle_ns(gap_ns, size, own * unit_bytes, unit_bytes, threshold_ns), units // own):
            return units // own
    return 1


@compiled
def _away(idle_ns: Float, parts: int) -> bool:
    """Whether so many parts in a row, idle for times that mostly differ, are somewhere idle for the same time."""
    count = len(idle_ns) - parts + 1
    if count < parts:
        return False
    spread = np.empty(count)
    for k in range(count):
        spread[k] = np.max(idle_ns[k : k + parts]) - np.min(idle_ns[k : k + parts])
    pattern, flattest = np.median(spread), int(np.argmin(spread))
    if pattern <= PATTERN_SHARE * np.median(idle_ns) or spread[flattest] >= AWAY_SHARE * pattern:
        return False
    if np.sum(spread < AWAY_SHARE * pattern) < np.floor(AWAY_OFTEN * count):
        return False
    for every in range(2, parts // 2 + 1):
        if parts % every == 0 and _takes_turns(idle_ns[flattest : flattest + parts], every):
            return False
    return True


@compiled
def _takes_turns(idle_ns: Float, every: int) -> bool:
    """Whether idle times differ, but hardly from those so many places on."""
    apart = 0.0
    for phase in range(every):
        apart = max(apart, np.max(idle_ns[phase::every]) - np.min(idle_ns[phase::every]))
    return bool(apart < TURN_SHARE * (np.max(idle_ns) - np.min(idle_ns)))


@compiled
def _idle_ns(gap_ns: Float, size: Int, cycle_bytes: float, unit_bytes: float, threshold_ns: float) -> Float:
    """Time that a stream pauses in each of its cycles, the first and the last left out.

    Pauses lie whole units apart; cycles of several are parted in the middle between two of them.
    """
    at = np.cumsum(size)[:-1] - np.cumsum(size)[np.argmax(gap_ns)]
    before = int(np.rint(cycle_bytes / unit_bytes)) // 2 + 0.5
    cycle = np.floor((at + before * unit_bytes) / cycle_bytes).astype(np.int64)
    first = cycle[0]
    idle_ns = np.zeros(cycle[-1] - first + 1)
    for k in range(len(gap_ns)):
        if gap_ns[k] > threshold_ns:
            idle_ns[cycle[k] - first] += gap_ns[k]
    return idle_ns[1:-1]
