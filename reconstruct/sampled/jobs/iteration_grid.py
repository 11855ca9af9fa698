"""The lattice of a part: every connection's bytes of an iteration, and where on its byte axis iterations end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled
from reconstruct.numeric.nonuniform_fft import Transform, transform
from reconstruct.numeric.robust_statistics import median
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.jobs.connection_sets import ConnectionSet, components
from reconstruct.sampled.jobs.dwell_spectrum import bins_for, dwell_ns

# A cycle is folded into so many bins to find its pauses.
FOLDED_BINS = 64
# A connection's own number of cycles lies so near the common one: it begins and ends anywhere in its cycle.
OWN_CYCLES, OWN_STEPS = 0.8, 81
OWN_HARMONICS = 8
# Connections that pause this share as long as the one that pauses longest are rings like it.
LIKE_LONGEST = 0.5
# The quiet instant is looked for so soon after the reference's end, in periods, in so many steps a period.
SOON, PHASES = 0.3, 64
# A bracket is looked for this near the expected boundary, in quanta.
REACH = 0.05
# Quanta tried around the first estimate, in steps of a bracket's width spread over all cycles.
TRIED = 81
FEWEST_BRACKETS = 3
# A gap that is surely so many times as long as another is a pause, and the other lies between samples while data goes.
PAUSES = 2.0
# All rest where the brackets of all members together agree this well, compared with the best instant.
AT_REST = 0.96
# A connection of which fewer brackets agree does not keep the beat; in one half of the window more must.
KEEPS_BEAT, KEPT_BEAT = 0.5, 0.7


@dataclass(frozen=True, slots=True)
class IterationGrid:
    """Connections of one part and the boundaries between their iterations.

    Attributes:
        members: (m,) connection numbers.
        quantum_bytes: (m,) bytes of an iteration.
        origin_bytes: (m,) position at which iteration 0 ends; iteration n ends n quanta later. Equal numbers are the
            same iteration of the part.
        quiet_ns: (k,) an instant between iterations `first + i` and `first + i + 1` at which hardly anybody sends.
        first: number of the first of them.
    """

    members: Int
    quantum_bytes: Float
    origin_bytes: Float
    quiet_ns: Float
    first: int


@dataclass(frozen=True, slots=True)
class _Pause:
    """The longest recurring pause of a connection: its place on the byte axis and its share of the cycle's time."""

    quantum: float
    origin: float
    share: float


def lattice(progress: ProgressCurves, part: ConnectionSet) -> IterationGrid | None:
    """Find quanta and boundaries of a part; None where no boundary comes back.

    1. Connections that pause longest at one place of their cycle are the reference: a gradient ring rests for nearly a
       whole iteration, and begins to when it ends. Of the rings the one that ends last counts.
    2. Soon after, between two iterations, all rest: everybody else has come to the end of the same iteration then.
    3. The samples before and after such an instant bracket the boundary between exact positions; the place that most
       brackets agree on, folded at the quantum, is known to about a packet. A slow link may still send then: of rings
       the pause counts that begins soon after.
    """
    pauses = [_longest_pause(*progress.curve(int(n)), part.fundamental.cycles) for n in part.members]
    share = np.array([pause.share for pause in pauses])
    rests = share >= LIKE_LONGEST * share.max()
    number, end_ns = _last_ring(progress, part, pauses, rests)
    if len(number) < FEWEST_BRACKETS:
        return None
    quiet_ns = end_ns + _until_quiet_ns(progress, part.members, number, end_ns)
    rows = []
    for connection, pause, rests_long in zip(part.members.tolist(), pauses, rests.tolist(), strict=True):
        after = _after(progress.curve(connection)[0], quiet_ns)
        if rests_long:
            after = _behind_pauses(progress, connection, after, REACH * pause.quantum)
        quantum, origin = _beat(*_brackets(progress.curve(connection)[1], number, after))
        if quantum > 0:
            rows.append((connection, quantum, origin))
    if not rows:
        return None
    members, quanta, origins = zip(*rows, strict=True)
    return IterationGrid(np.array(members, np.int64), np.array(quanta), np.array(origins), quiet_ns, int(number[0]))


def _last_ring(progress: ProgressCurves, part: ConnectionSet, pauses: list[_Pause], rests: Bool) -> tuple[Int, Float]:
    """(numbers, ends in ns) of the cycles of one connection of the last ring among those that pause longest."""
    curves = [progress.curve(int(n)) for n in part.members]
    found: dict[int, tuple[Int, Float]] = {}
    for place in sorted(range(len(pauses)), key=lambda n: -pauses[n].share):
        gaps = _longest_gaps(*curves[place], pauses[place])
        if not rests[place] or len(gaps[0]) < FEWEST_BRACKETS:
            continue
        number, end_ns = _ends(*curves[place], *_agreed(*gaps, TRIED)[1:])
        if len(number) >= FEWEST_BRACKETS:
            found[place] = number, end_ns
    if not found:
        return np.zeros(0, np.int64), np.zeros(0)
    places = np.array(list(found), np.int64)
    first = found[int(places[0])][1]
    late = np.array([_later(found[int(n)][1], first) for n in places])
    rings = components(progress, part.members[places])
    last = max(rings, key=lambda ring: float(np.median(late[ring])))
    return found[int(places[last[0]])]


@compiled
def _later(end_ns: Float, than_ns: Float) -> float:
    """By how many periods, -0.5 to 0.5, the ends of one connection usually come after those of another."""
    after = np.searchsorted(than_ns, end_ns)
    since = end_ns - than_ns[np.maximum(after - 1, 0)]
    until = than_ns[np.minimum(after, len(than_ns) - 1)] - end_ns
    return median(np.where(np.abs(since) <= np.abs(until), since, -until)) / median(np.diff(than_ns))


def _longest_pause(time_ns: Float, position: Float, cycles: float) -> _Pause:
    quantum = float(position[-1]) / _own_cycles(time_ns, position, cycles)
    place, share = _rest(time_ns, position, quantum)
    return _Pause(quantum, (place + 0.5) / FOLDED_BINS * quantum, share)


@compiled
def _rest(time_ns: Float, position: Float, quantum: float) -> tuple[int, float]:
    """(bin of the cycle, of `FOLDED_BINS`, around which it usually stays longest; share of the cycle's time)."""
    whole = max(int(position[-1] / quantum), 1)
    folded, step = np.empty((FOLDED_BINS, whole)), whole * quantum / (whole * FOLDED_BINS)
    nudge, last = 1e-9 * position[-1], len(position) - 1  # points of equal position would hide the pause between them
    point, steep, here, before = -1, 0.0, 0.0, time_ns[0]
    for k in range(whole * FOLDED_BINS):
        at = (k + 1) * step if k + 1 < whole * FOLDED_BINS else whole * quantum
        while point < 0 or (point + 2 < len(position) and position[point + 1] + (point + 1) * nudge <= at):
            point += 1
            here = position[point] + point * nudge
            steep = (time_ns[point + 1] - time_ns[point]) / (position[point + 1] + (point + 1) * nudge - here)
        now = steep * (at - here) + time_ns[point] if at < position[-1] + last * nudge else time_ns[-1]
        folded[k % FOLDED_BINS, k // FOLDED_BINS], before = now - before, now
    profile = np.array([np.median(row) for row in folded])
    smooth = profile + np.roll(profile, 1) + np.roll(profile, -1)
    place, usual_ns = int(np.argmax(smooth)), np.sum(profile)
    return place, smooth[place] / usual_ns if usual_ns > 0 else 0.0  # samples of few batches rest nowhere


def _own_cycles(time_ns: Float, position: Float, cycles: float) -> float:
    """The number of cycles near `cycles` at which a connection's own dwell times repeat best."""
    bins = bins_for(len(time_ns))
    uneven = dwell_ns(time_ns, position, bins)
    uneven -= uneven.mean()
    low, high = cycles - OWN_CYCLES, cycles + OWN_CYCLES
    harmonics = sum(h * high < min(len(time_ns), bins / 2) for h in range(1, OWN_HARMONICS + 1))
    if not harmonics:
        return low
    power = _around(low, high, harmonics, bins).power(uneven).reshape(harmonics, OWN_STEPS).sum(axis=0)
    return float(np.linspace(low, high, OWN_STEPS)[np.argmax(power)])


@lru_cache(maxsize=8)
def _around(low: float, high: float, harmonics: int, bins: int) -> Transform:
    """The transform to frequencies around the first harmonics, prepared once for all connections of like length."""
    steps = np.linspace(low, high, OWN_STEPS)
    return transform(bins, np.concatenate([h * steps for h in range(1, harmonics + 1)]))


@compiled
def _agreed(low: Float, high: Float, number: Int, tried: int) -> tuple[float, float, float]:
    """(share of the brackets that agree, quantum, origin) of the boundary in most of the brackets, folded."""
    middle = (low + high) / 2
    half = len(number) // 2
    pairs = len(number) - half
    slopes = (middle[half:] - middle[:pairs]) / (number[half:] - number[:pairs])
    usual, step = np.median(slopes), np.median(high - low) / len(number) / 20
    by_low, by_high = np.argsort(low - number * usual), np.argsort(high - number * usual)
    best = (-1, 0.0, 0.0, 0.0)
    for k in range(tried):
        quantum = usual + step * (k - tried // 2)
        folded = _ascending(low - number * quantum, by_low), _ascending(high - number * quantum, by_high)
        agree, width, place = _densest(*folded)
        if (agree, width, quantum, place) > best:  # noqa: PLR1730 -- compiled code knows no max of tuples
            best = agree, width, quantum, place
    return best[0] / len(number), best[2], best[3]


def _longest_gaps(time_ns: Float, position: Float, pause: _Pause) -> tuple[Float, Float, Int]:
    """(low, high, numbers): per boundary of a connection the points around the longest gap near it."""
    number = np.arange(int(position[-1] / pause.quantum) + 1)
    expected = pause.origin + number * pause.quantum
    begin = np.maximum(np.searchsorted(position, expected - REACH * pause.quantum) - 1, 0)
    end = np.minimum(np.searchsorted(position, expected + REACH * pause.quantum, side="right"), len(position) - 1)
    number, begin, end = (column[begin < end] for column in (number, begin, end))
    longest = _greatest(np.diff(time_ns), begin, end)
    return position[longest], position[longest + 1], number


@compiled
def _greatest(values: Float, begin: Int, end: Int) -> Int:
    """Place of the greatest value, the first of equal ones, from each begin up to each end."""
    places = begin.copy()
    for n in range(len(begin)):
        for k in range(begin[n], end[n]):
            if values[k] > values[places[n]]:
                places[n] = k
    return places


@compiled
def _after(time_ns: Float, at_ns: Float) -> Int:
    """The first point after each instant; 0 and the number of points are outside the connection's life."""
    return np.searchsorted(time_ns, at_ns, side="right")


@compiled
def _brackets(position: Float, number: Int, after: Int) -> tuple[Float, Float, Int]:
    """(low, high, numbers): the points before and after each instant within the connection's life."""
    inside = (after > 0) & (after < len(position))
    return position[after[inside] - 1], position[after[inside]], number[inside]


def _behind_pauses(progress: ProgressCurves, connection: int, after: Int, reach: float) -> Int:
    """First points behind the pause that begins with the next point or within `reach` bytes, where none is at hand.

    The link of a ring that is last, because it is slow, may still send at an instant at which the others rest. Points
    that may lie on either side of a pause, because a datagram was held, or sent before it was full, do not make one.
    """
    time_ns, position = progress.curve(connection)
    earliest_ns, doubt_ns = progress.spans(connection)
    inside = (after > 0) & (after < len(position))
    first = after[inside] - 1
    beyond = np.searchsorted(position, position[first] + reach, side="right")
    surely_ns = earliest_ns[1:] - (earliest_ns + doubt_ns)[:-1]
    longest = _greatest(surely_ns, first, np.clip(beyond, first + 2, len(surely_ns)))
    moved = after.copy()
    moved[inside] = 1 + np.where(surely_ns[longest] > PAUSES * np.diff(time_ns)[first], longest, first)
    return moved


def _beat(low: Float, high: Float, number: Int) -> tuple[float, float]:
    """(quantum, origin) of a connection whose brackets agree, all in all or in one half of the window; 0 where none do.

    A link that became slow is still busy when the others rest: before that its brackets agreed.
    """
    half = len(number) // 2
    for part, least in ((slice(None), KEEPS_BEAT), (slice(half), KEPT_BEAT), (slice(half, None), KEPT_BEAT)):
        if len(number[part]) >= FEWEST_BRACKETS * (1 if part == slice(None) else 2):
            share, quantum, origin = _agreed(low[part], high[part], number[part], TRIED)
            if share >= least:
                return quantum, origin
    return 0.0, 0.0


@compiled
def _ascending(values: Float, order: Int) -> Float:
    """Values in order; the one that is given nearly is theirs, as that of the try before, and becomes it."""
    for n in range(1, len(order)):
        own, at = order[n], n
        while at > 0 and values[order[at - 1]] > values[own]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = own
    return values[order]


@compiled
def _densest(low: Float, high: Float) -> tuple[int, float, float]:
    """(how many intervals, width, middle) of the stretch that lies in most intervals, given their ascending ends."""
    deepest, begin, end = 0, 0.0, 0.0
    opened, closed = 0, 0
    while opened < len(low):
        if low[opened] <= high[closed]:
            opened += 1
            if opened - closed > deepest:
                deepest, begin = opened - closed, low[opened - 1]
                end = min(low[opened], high[closed]) if opened < len(low) else high[closed]
        else:
            closed += 1
    return deepest, end - begin, begin + (end - begin) / 2


@compiled
def _ends(time_ns: Float, position: Float, quantum: float, origin: float) -> tuple[Int, Float]:
    """(numbers, time of the last point before each boundary), both ends of the connection left out."""
    first, last = np.ceil((position[0] - origin) / quantum), np.floor((position[-1] - origin) / quantum)
    number = np.arange(int(first), int(last) + 1)
    after = np.searchsorted(position, origin + number * quantum)
    inside = (after > 0) & (after < len(position))
    return number[inside], time_ns[after[inside] - 1]


def _until_quiet_ns(progress: ProgressCurves, members: Int, number: Int, end_ns: Float) -> float:
    """How long after the reference has ended all members rest, within `SOON` of a period.

    A connection at rest is at the same place of its cycle every time, and the samples around that instant bracket it;
    while it sends, the brackets differ. The first rest counts: a pipeline's first message may soon follow.
    """
    period = float(np.median(np.diff(end_ns)))
    after_ns = np.arange(1, int(SOON * PHASES)) / PHASES * period
    rest = np.zeros(len(after_ns))
    for member in members.tolist():
        rest += _rests(*progress.curve(member), number, end_ns, after_ns)
    return float(after_ns[np.argmax(rest >= AT_REST * rest.max())])


@compiled
def _rests(time_ns: Float, position: Float, number: Int, end_ns: Float, after_ns: Float) -> Float:
    """Share of the brackets that agree so long after each of the ends; 0 where there are few."""
    share = np.zeros(len(after_ns))
    for k in range(len(after_ns)):
        low, high, numbers = _brackets(position, number, _after(time_ns, end_ns + after_ns[k]))
        if len(low) >= FEWEST_BRACKETS:
            share[k] = _agreed(low, high, numbers, 1)[0]
    return share
