"""Rings that begin late -> who arrived last at them, by how much each member could send before it had to wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.streams import Float, Int
from diagnose.sampled_delays import Late
from diagnose.sampled_view import Compared, SampledView
from diagnose.stragglers import EXCHANGES
from reconstruct.sampled.folded import Points

# Who waits sends at its old time until here, in shares of its bytes; a ring of three has waited before its first third.
HEAD = 0.35
# A ring is late when what follows the head passes later by this share of what an iteration became longer.
EXPLAINS = 0.5
# A sample is punctual that is nearer to its usual time than to the late one, and was not of the iteration before.
BEFORE_ITS_TIME = 0.5
# Who arrived last sends nothing punctually while its successor does: by so many standard errors, by this share of the
# largest such step.
SURE, AS_LARGE = 3.0, 0.5
# Successors are not far ahead where a member itself sends this share of the head's samples punctually.
PUNCTUAL = 0.15
FEWEST = 6


@dataclass(frozen=True, slots=True)
class _Head:
    """Samples of the head of some connections: how many, how many of them punctual, by how much the rest is late.

    `before_ns` is when the ring began at the job's best, after the iteration did.
    """

    samples: int
    punctual: int
    late_ns: float
    before_ns: float

    @property
    def share(self) -> float:
        return self.punctual / max(self.samples, 1)

    def variance(self) -> float:
        """Of the share, with half a sample more on either side."""
        p = (self.punctual + 0.5) / (self.samples + 1)
        return p * (1 - p) / max(self.samples, 1)


def meet_first_in_rings(view: SampledView) -> bool:
    """Whether ranks that wait for one another do so first in their gradient rings.

    Sharded training gathers and scatters all through the iteration, and the head of its bytes begins nothing. Those who
    exchange tokens, keys or values before arrive as late as the latest of them.
    """
    return not view.job.sharded and not np.isin(view.role, list(EXCHANGES)).any()


def late_in_rings(view: SampledView, compared: Compared, longer_ns: float) -> Late:
    """Who arrives late at its gradient rings, where nothing else tells and they `meet_first_in_rings`.

    A member sends its own first chunk when it arrives, and then what its predecessor sent it. So the successor of a
    late rank sends one chunk in time before it stalls, the next one two; the late rank itself sends none, and in a
    rendezvous ring neither does its predecessor. The step from nothing to a chunk lies behind the late rank. In a long
    ring, whose chunks are small, the step behind its successor looks alike; that one only waits. Those that compute
    together, on rails of their own, count as one.
    """
    ends, number = view.job.endpoints, view.computing()
    heads, follows = _heads(view, compared, longer_ns)
    steps = {}
    for group, head in heads.items():
        after = heads.get(follows[group])
        if after is not None and min(head.samples, after.samples) >= FEWEST:
            rise, doubt = after.share - head.share, float(np.sqrt(head.variance() + after.variance()))
            steps[group] = rise, rise / doubt
    largest = max((rise for rise, _ in steps.values()), default=0.0)
    roots = [g for g, (rise, sigma) in steps.items() if sigma >= SURE and rise >= AS_LARGE * largest]
    roots = [g for g in roots if heads[g].share <= PUNCTUAL]
    waiting = {follows[g] for g in roots}
    roots = [g for g in roots if g not in waiting] or roots
    excess, error, before = np.zeros(len(ends)), np.full(len(ends), longer_ns), np.zeros(len(ends))
    for group in roots:
        own = number[ends] == group
        excess[own], error[own] = heads[group].late_ns, heads[group].late_ns / steps[group][1]
        before[own] = heads[group].before_ns
    late = np.isin(number[ends], roots)
    return Late(ends, excess, error, before, late, late)


def _heads(view: SampledView, compared: Compared, longer_ns: float) -> tuple[dict[int, _Head], dict[int, int]]:
    """(heads of the groups that compute together, the group that follows each in its rings)."""
    number = view.computing()
    found: dict[int, list[_Head]] = {}
    follows: dict[int, int] = {}
    for ring in view.rings():
        if len(ring) < 3:
            continue
        line, late_ns = _begins(view.of(ring), compared)
        if not late_ns >= EXPLAINS * longer_ns:
            continue
        for m in ring.tolist():
            group = int(number[view.src[m]])
            found.setdefault(group, []).append(_head(view.points[m], line, late_ns, compared.now))
            follows[group] = int(number[view.dst[m]])
    return {g: _added(of_group) for g, of_group in found.items()}, follows


def _added(heads: list[_Head]) -> _Head:
    first = heads[0]
    return _Head(sum(h.samples for h in heads), sum(h.punctual for h in heads), first.late_ns, first.before_ns)


def _begins(members: list[Points], compared: Compared) -> tuple[tuple[float, float], float]:
    """((begin, time for all bytes) of a ring at the job's best, by how much what follows the head is later now)."""

    def after(iterations: Int) -> tuple[Float, Float]:
        chosen = [np.isin(m.iteration, iterations) & (m.phase > HEAD) for m in members]
        phase = np.concatenate([m.phase[c] for m, c in zip(members, chosen, strict=True)])
        return phase, np.concatenate([m.after_ns[c] for m, c in zip(members, chosen, strict=True)])

    phase, time_ns = after(compared.before)
    now_phase, now_ns = after(compared.now)
    if min(len(phase), len(now_phase)) < FEWEST:
        return (float("nan"), float("nan")), float("nan")
    low, high = (float(np.median(time_ns[side])) for side in (phase <= np.median(phase), phase > np.median(phase)))
    x = [float(np.median(phase[side])) for side in (phase <= np.median(phase), phase > np.median(phase))]
    pace = max((high - low) / max(x[1] - x[0], 1e-9), 0.0)
    begin = low - pace * x[0]
    return (begin, pace), float(np.median(now_ns - begin - pace * now_phase))


def _head(own: Points, line: tuple[float, float], late_ns: float, iterations: Int) -> _Head:
    chosen = np.isin(own.iteration, iterations) & (own.phase <= HEAD)
    left = own.after_ns[chosen] - line[0] - line[1] * own.phase[chosen]
    left = left[left >= -BEFORE_ITS_TIME * late_ns]
    return _Head(len(left), int((left < late_ns / 2).sum()), late_ns, line[0])
