"""What a change cost a job in time: the interruption, and how much longer the iterations after it took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int

# So many iterations in a row this near the baseline are warm.
WARM, WARM_RATIO = 3, 0.05


@dataclass(frozen=True, slots=True)
class Interruption:
    """Times around a change.

    Attributes:
        last_ns: end of the last complete iteration before it.
        first_ns: end of the first complete iteration after it.
        down_ns: time between the two less one iteration at the baseline.
        warm_up_ns: what iterations took longer than the baseline until three in a row are within 5 % of it; None where
            they are not.
        baseline_ns: median iteration time before it; after it where the job has another size then.
    """

    last_ns: int
    first_ns: int
    down_ns: int
    warm_up_ns: int | None
    baseline_ns: int


def find_interruption(edges_ns: Int, resumed_ns: int, *, resized: bool) -> Interruption | None:
    """The interruption at a change; None where the window shows no complete iteration before or after it.

    Args:
        edges_ns: (iterations,) end of each complete iteration.
        resumed_ns: first byte on a new one.
        resized: whether iterations before and after it are of one size.
    """
    before, after = edges_ns[edges_ns <= resumed_ns], edges_ns[edges_ns > resumed_ns]
    if len(before) < 2 or len(after) < 1:
        return None
    took_before, took_after = np.diff(before).astype(np.float64), np.diff(after).astype(np.float64)
    usual = took_after if resized and len(took_after) else took_before
    baseline = float(np.median(usual))
    down = int(after[0] - before[-1]) - round(baseline)
    return Interruption(int(before[-1]), int(after[0]), max(down, 0), _warm_up(took_after, baseline), round(baseline))


def _warm_up(took_ns: Float, baseline_ns: float) -> int | None:
    near = np.abs(took_ns - baseline_ns) <= WARM_RATIO * baseline_ns
    for first in range(len(near) - WARM + 1):
        if near[first : first + WARM].all():
            return max(round(float((took_ns[:first] - baseline_ns).sum())), 0)
    return None
