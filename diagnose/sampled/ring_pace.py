"""Gradient rings whose pace changed, and what samples of them say about which link it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.sampled.sampled_job_view import IterationComparison, SampledView
from reconstruct.sampled.folding.folded_samples import Estimate, pace_ns
from reconstruct.sampled.folding.ring_stalls import stalls

# A ring is slow when it needs so many times as long for its bytes as at the job's best, beyond so many standard errors.
SLOWER, SURE = 1.5, 4.0
# Evidence of one kind counts no more than a thousand to one: its errors are estimates themselves.
MOST_EVIDENCE = float(np.log(1000))


@dataclass(frozen=True, slots=True)
class RingPace:
    """A ring's connections and how long its bytes take, at the pace of their later half."""

    ring: Int
    now: Estimate
    before: Estimate

    @property
    def ratio(self) -> float:
        """How many times as long."""
        return self.now.value / self.before.value

    @property
    def longer_ns(self) -> float:
        """By how much."""
        return self.now.value - self.before.value

    @property
    def error_ns(self) -> float:
        """Standard error of that."""
        return float(np.hypot(self.now.error, self.before.error))

    @property
    def slow(self) -> bool:
        """Whether that is more than its errors and its usual spread make."""
        return self.ratio >= SLOWER and self.longer_ns >= SURE * self.error_ns


def paced(view: SampledView, compared: IterationComparison) -> list[RingPace]:
    """Every gradient ring with its pace; those of which too few samples tell it are left out."""
    found = []
    for ring in view.rings():
        members = view.of(ring)
        now, before = pace_ns(members, compared.now), pace_ns(members, compared.before)
        if np.isfinite([now.error, before.error]).all() and before.value > 0:
            found.append(RingPace(ring, now, before))
    return found


def likely_by_stalls(view: SampledView, slow: Sequence[RingPace], concerned: Bool, iterations: Int) -> Float:
    """(hypotheses,) logarithm of how likely each makes the stalls that were measured, the best one 0.

    The slow link sends without rest while the others stall between steps: two levels of stalls in each ring, a lower
    one for the connections that pass the link in question and a higher one for the others, explain what was measured
    well or badly.

    Args:
        view: the job.
        slow: its slow rings.
        concerned: (hypotheses, connections) which connections pass the link.
        iterations: those that are slow.
    """
    misfit = np.zeros(len(concerned))
    for one in slow:
        seen = stalls(view.of(one.ring), iterations, one.now.value)
        if seen is not None:
            misfit += [_misfit(seen.swing_ns, seen.error_ns, own) for own in concerned[:, one.ring]]
    return np.asarray(np.maximum(-(misfit - misfit.min()) / 2, -MOST_EVIDENCE), np.float64)


def _misfit(swing: Float, error: Float, concerned: Bool) -> float:
    """Chi-squared of one level for the connections concerned and a higher one for the others."""
    weight = error**-2
    level = np.full(len(swing), np.average(swing, weights=weight))
    if concerned.any() and not concerned.all():
        low, high = (float(np.average(swing[c], weights=weight[c])) for c in (concerned, ~concerned))
        if low < high:
            level = np.where(concerned, low, high)
    return float((((swing - level) / error) ** 2).sum())
