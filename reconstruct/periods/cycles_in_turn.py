"""Cycles that take turns: several make an iteration where every n-th of them lasts longer, all through the window.

Micro-batches whose messages are alike have one cycle each, on all streams. The optimizer steps, and a pipeline fills
and drains, once an iteration: so one in n of them is longer, at one place of the n. What comes between iterations, a
checkpoint or an evaluation, does so too, but seldom.
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.periods.period_multiples import UNLIKE_SHARE

# Checkpoints and evaluations are more than the most cycles of a turn apart, or come back less often in a window than
# the fewest turns: of more micro-batches than that nothing tells what makes every n-th one longer.
FEWEST_TURNS, MOST_CYCLES = 8, 8
# Twice the logarithm of the odds for turns against cycles that are alike: chance makes one job in twenty thousand.
LEAST_EVIDENCE = 20.0
# The same cycle is the longest in so many turns: not where a fault sets in, or holds several iterations in a row.
LONGEST_SHARE = 0.9


def count_cycles_in_turn(numbers: Int, lasted_ns: Float) -> int:
    """Count the cycles that make an iteration; 1 where they do not take turns, or too few were seen.

    Of all counts for which the same cycle of a turn is the longest in nearly all turns, by more than messages take
    longer or shorter, it is the one with most evidence (`_evidence`): of lengths, or of lengths beside the cycles
    around them. Faults that set in, or get worse, make all cycles longer by more than the places of a turn differ.

    Args:
        numbers: (cycles,) number of each cycle, ascending; cycles that are not known are left out.
        lasted_ns: (cycles,) how long each took.
    """
    evidence = {1: LEAST_EVIDENCE}
    for times in range(2, min(MOST_CYCLES, len(numbers) // FEWEST_TURNS) + 1):
        place = numbers % times
        if len(np.unique(place)) < times:
            continue
        # what is usual around the cycles of a turn is found from them: one in each says nothing of its own
        own = len(place) - len(np.unique(numbers // times))
        ratio = _beside_others(numbers, lasted_ns, times)
        found = [
            _evidence(place, measured, free)
            for measured, free in ((lasted_ns, len(place)), (ratio, own))
            if _takes_turns(numbers, measured, times)
        ]
        evidence[times] = max(found, default=0.0)
    return max(evidence, key=lambda times: (evidence[times], -times))


def _takes_turns(numbers: Int, lasted_ns: Float, times: int) -> bool:
    """Whether one place of a turn is the longest: usually, by enough, and in nearly every turn by itself.

    Longer than any other, not than one that is short: iterations of a recording that is played again and again differ
    by place, too, and none of them stands out.
    """
    usual_ns = np.array([np.median(lasted_ns[numbers % times == k]) for k in range(times)])
    second_ns, longest_ns = np.sort(usual_ns)[-2:].tolist()
    if longest_ns - second_ns <= UNLIKE_SHARE * np.median(lasted_ns):
        return False
    turn = numbers // times - numbers[0] // times
    table = np.full((int(turn[-1]) + 1, times), np.nan)
    table[turn, numbers % times] = lasted_ns
    whole = table[np.isfinite(table).all(axis=1)]
    return bool(np.mean(whole.argmax(axis=1) == usual_ns.argmax()) >= LONGEST_SHARE) if len(whole) else False


def _beside_others(numbers: Int, lasted_ns: Float, times: int) -> Float:
    """(cycles,) how long each took, over the median of the cycles up to half a turn before and behind it.

    As many lie before as behind, so that what gets longer and longer is as long as what is around it. Edges that a
    meter's timeouts hid leave cycles of no length: these count as a nanosecond.
    """
    half, place = times // 2, numbers - numbers[0]
    table = np.full(int(place[-1]) + 1 + 2 * half, np.nan)
    table[place + half] = lasted_ns
    around = np.lib.stride_tricks.sliding_window_view(table, 2 * half + 1)[place]
    return np.asarray(lasted_ns / np.maximum(np.nanmedian(around, axis=1), 1.0), np.float64)


def _evidence(place: Int, lasted_ns: Float, free: int) -> float:
    """Twice the log of the odds for times that differ by place against times that do not, by Schwarz's criterion.

    Ranks stand for the times: a single cycle that takes ten times as long, as before a checkpoint, counts for no more
    than the longest one.

    Args:
        place: (cycles,) place of each in its turn.
        lasted_ns: (cycles,) how long each took, or what stands for it.
        free: how many of these say something of their own.
    """
    count = len(place)
    rank = np.empty(count)
    rank[np.argsort(lasted_ns, kind="stable")] = np.arange(count)
    mean = (np.bincount(place, rank) / np.bincount(place))[place]
    alike, by_place = np.sum((rank - rank.mean()) ** 2), np.sum((rank - mean) ** 2)
    return float(free * np.log(alike / by_place) - place.max() * np.log(free))
