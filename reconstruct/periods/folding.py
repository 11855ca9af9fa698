"""One stream folded at its quantum: where in the cycle it pauses, and the lattice of its main pause. Kernels."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled

# Two pauses this close on the byte axis (share of the quantum) are the same place of the cycle.
SAME_PLACE_SHARE = 0.004
# A place counts when a pause stands there in this share of the cycles.
RECURRENCE = 0.6
# Walking from cycle to cycle, a pause within this share of the quantum may be the next main one ...
REACH = 0.015
# ... when it is at least this share of the main place's median pause.
LIKE_MAIN = 0.3
UNBOUNDED = np.iinfo(np.int64).max
# Parts a number of 53 bits into two of 26: products of either with a number of turns are exact.
SPLIT = 2.0**27 + 1
MOST_TURNS = 2.0**26


@compiled
def remainder(value: float, modulus: float) -> float:
    """`value % modulus` to the last bit, without the bit-by-bit division that takes most processors ten times as long.

    Dekker's product: both parts of the modulus times the turns are exact, and so are their differences from the value.
    """
    if value < 0 or value >= MOST_TURNS * modulus:
        return value + modulus if -modulus < value < 0 else value % modulus
    turns = float(np.floor(value / modulus))
    coarse = SPLIT * modulus - (SPLIT * modulus - modulus)
    rest = value - turns * coarse - turns * (modulus - coarse)
    if rest < 0:
        return rest + modulus
    return rest - modulus if rest >= modulus else rest


@compiled
def _remainders(values: Float, modulus: float) -> Float:
    found = np.empty(len(values))
    for k in range(len(values)):
        found[k] = remainder(values[k], modulus)
    return found


@compiled
def thinned(size: Int, least_bytes: float) -> tuple[Int, Int]:
    """Row numbers of the rows of at least `least_bytes`, and the bytes up to and with each of them."""
    rows, cumulative = np.empty(len(size), np.int64), np.empty(len(size), np.int64)
    n, total = 0, 0
    for k in range(len(size)):
        if size[k] >= least_bytes:
            total += size[k]
            rows[n], cumulative[n] = k, total
            n += 1
    return rows[:n], cumulative[:n]


@compiled
def long_pauses(pause_ns: Float, floor_ns: float) -> tuple[Int, Int]:
    """Row counts before each pause above `floor_ns`, the end included; and their lengths, unbounded at the end."""
    n = 1
    for pause in pause_ns:
        n += pause > floor_ns
    breaks, break_ns = np.empty(n, np.int64), np.empty(n, np.int64)
    at = 0
    for k in range(len(pause_ns)):
        if pause_ns[k] > floor_ns:
            breaks[at], break_ns[at] = k + 1, pause_ns[k]
            at += 1
    breaks[at], break_ns[at] = len(pause_ns) + 1, UNBOUNDED
    return breaks, break_ns


@compiled
def sharpened(at: Float, length: Float, quantum_bytes: float) -> float:
    """Fit the quantum to the longest pauses: the weighted median of their slopes to the longest one of all.

    Pauses near that one come first: each round trusts the quantum four times as far as the one before.
    """
    anchor = at[np.argmax(length)]
    reach = 16.0
    while True:
        farthest = 0.0
        slope, weight = np.empty(len(at)), np.empty(len(at))
        n = 0
        for k in range(len(at)):
            steps = np.rint((at[k] - anchor) / quantum_bytes)
            farthest = max(farthest, abs(steps))
            off = abs(at[k] - anchor - steps * quantum_bytes)
            near = off < SAME_PLACE_SHARE * quantum_bytes * (1 + abs(steps))
            if steps != 0 and abs(steps) <= reach and near:
                slope[n], weight[n] = (at[k] - anchor) / steps, abs(steps)
                n += 1
        if n:
            quantum_bytes = weighted_median(slope[:n], weight[:n])
        if reach >= farthest:
            return quantum_bytes
        reach *= 4


@compiled
def weighted_median(values: Float, weights: Float) -> float:
    """The value at which half of the weight is reached, from below."""
    order = np.argsort(values, kind="mergesort")
    half, running = 0.5 * np.sum(weights), 0.0
    for k in order:
        running += weights[k]
        if running >= half:
            return float(values[k])
    return float(values[order[-1]])


@compiled
def find_recurring_pauses(at: Float, length: Float, quantum_bytes: float, count: float) -> tuple[Float, Float]:
    """Cluster folded positions on the circle; (offset, pause) of the clusters that recur, by offset.

    A place is where, in each cycle, the longest of its pauses is: beside the gap between two iterations there may be
    many short ones, between the last or the first packets of a message.

    Args:
        at: (pauses,) byte positions, ascending.
        length: (pauses,) how long each is.
        quantum_bytes: what to fold at.
        count: cycles of the stream.
    """
    folded = _remainders(at, quantum_bytes)
    order = np.argsort(folded, kind="mergesort")
    reach = SAME_PLACE_SHARE * quantum_bytes
    begin = _first_gap(folded, order, reach, quantum_bytes)
    offsets, medians = np.empty(len(at)), np.empty(len(at))
    n, low = 0, 0
    turned = np.empty(len(at), np.int64)
    for k in range(len(at)):
        turned[k] = order[(begin + k) % len(at)]
    while low < len(at):
        high = low + 1
        while high < len(at) and remainder(folded[turned[high]] - folded[turned[high - 1]], quantum_bytes) <= reach:
            high += 1
        inside = turned[low:high]
        first = folded[inside[0]]
        offset = first + np.median(_remainders(folded[inside] - first, quantum_bytes))
        longest = inside[_longest_each_cycle(at[inside], length[inside], offset, quantum_bytes)]
        if len(longest) >= RECURRENCE * (count - 1):
            offset = first + np.median(_remainders(folded[longest] - first, quantum_bytes))
            offsets[n], medians[n] = offset % quantum_bytes, np.median(length[longest])
            n += 1
        low = high
    ascending = np.argsort(offsets[:n], kind="mergesort")
    return offsets[:n][ascending], medians[:n][ascending]


@compiled
def _first_gap(folded: Float, order: Int, reach: float, quantum_bytes: float) -> int:
    """Where to begin so that no cluster hangs together over the end of the circle; 0 where there is no gap at all."""
    if folded[order[0]] + quantum_bytes - folded[order[-1]] > reach:
        return 0
    for k in range(1, len(order)):
        if folded[order[k]] - folded[order[k - 1]] > reach:
            return k
    return 0


@compiled
def _longest_each_cycle(at: Float, length: Float, offset: float, quantum_bytes: float) -> Int:
    """Which pause at a place is the longest one, for each cycle that meets it."""
    cycle = np.rint((at - offset) / quantum_bytes)
    order = np.argsort(cycle, kind="mergesort")
    longest = np.empty(len(at), np.int64)
    n = 0
    for k in range(len(order)):
        if k == 0 or cycle[order[k]] != cycle[order[k - 1]]:
            longest[n] = order[k]
            n += 1
        elif length[order[k]] > length[longest[n - 1]]:
            longest[n - 1] = order[k]
    return longest[:n]


@compiled
def track_pauses(at: Int, length: Int, place: float, quantum_bytes: float, pause_ns: float) -> Float:
    """Byte positions of the main place in every cycle, walked from its best pause both ways.

    Each step goes one quantum further and takes the longest pause nearby that is like the main one, so that bytes a
    mirror lost, or a connection sent once, shift the lattice instead of breaking it. Without such a pause the step
    stands where it was expected.

    Args:
        at: (pauses,) byte positions, ascending, the stream's end last.
        length: (pauses,) how long each is; unbounded at the end.
        place: where the main place lies in the cycle.
        quantum_bytes: bytes of a cycle.
        pause_ns: the main place's median pause.
    """
    start, closest = 0, np.inf
    for k in range(len(at) - 1):
        off = abs(remainder(at[k] - place + quantum_bytes / 2, quantum_bytes) - quantum_bytes / 2)
        if length[k] >= LIKE_MAIN * pause_ns and off < closest:
            start, closest = k, off
    room = int(at[-1] / ((1 - REACH) * quantum_bytes)) + 2
    down, up = np.empty(room), np.empty(room)
    below, above = 0, 0
    here = float(at[start]) - quantum_bytes
    while here > SAME_PLACE_SHARE * quantum_bytes and below < room:
        down[below] = here = _longest_near(at, length, here, quantum_bytes, pause_ns)
        below += 1
        here -= quantum_bytes
    here = float(at[start]) + quantum_bytes
    while here <= at[-1] + REACH * quantum_bytes and above < room:
        up[above] = here = _longest_near(at, length, here, quantum_bytes, pause_ns)
        above += 1
        here += quantum_bytes
    found = np.empty(below + above + 1)
    found[:below] = down[:below][::-1]
    found[below] = at[start]
    found[below + 1 :] = up[:above]
    return found


@compiled
def _longest_near(at: Int, length: Int, here: float, quantum_bytes: float, pause_ns: float) -> float:
    """Where the longest pause near a byte position is, among those like the main one; the position without any."""
    best, longest = here, 0.0
    for k in range(np.searchsorted(at, here - REACH * quantum_bytes), len(at)):
        if at[k] >= here + REACH * quantum_bytes:
            break
        if length[k] >= LIKE_MAIN * pause_ns and length[k] > longest:
            best, longest = float(at[k]), float(length[k])
    return best


@compiled
def crossings(positions: Float, at: Int, breaks: Int, break_ns: Int, cumulative: Int, slack_bytes: float) -> Int:
    """How many rows lie before the boundary at each byte position: the longest pause within the slack decides.

    Where none lies there (messages followed one another without a pause), the byte position itself does.

    Args:
        positions: (k,) byte positions.
        at: (b,) bytes before each long pause, ascending.
        breaks: (b,) rows before it.
        break_ns: (b,) how long it is.
        cumulative: (m,) bytes up to and with each row.
        slack_bytes: how far a pause may be off.
    """
    before = np.empty(len(positions), np.int64)
    for k in range(len(positions)):
        best, longest = -1, -1
        for b in range(np.searchsorted(at, positions[k] - slack_bytes), len(at)):
            if at[b] > positions[k] + slack_bytes:
                break
            if break_ns[b] > longest:
                best, longest = breaks[b], break_ns[b]
        if best < 0:
            best = np.searchsorted(cumulative, positions[k] - slack_bytes / 8) + 1
        before[k] = min(best, len(cumulative))
    return before


@compiled
def lattice(anchors: Float, place_bytes: float, main_bytes: float, quantum_bytes: float, total_bytes: float) -> Float:
    """Byte positions of one place in every cycle the stream covers: its very end included, its start not."""
    slack = quantum_bytes * SAME_PLACE_SHARE
    positions = np.empty(len(anchors) + 1)
    offset = (place_bytes - main_bytes) % quantum_bytes
    n = 0
    for k in range(-1, len(anchors)):
        here = (anchors[0] - quantum_bytes if k < 0 else anchors[k]) + offset
        if slack < here <= total_bytes + slack:
            positions[n] = here
            n += 1
    return positions[:n]
