"""How well iteration times are known: of what no network shows, the optimizer's step, and of the edges between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erf, stdtrit

from datamodel.frame import Frame
from datamodel.reconstructed.operations import FAMILY_SLOTS
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import ROLES
from reconstruct.jit import compiled
from reconstruct.numeric.robust_statistics import quantile

PP, DP = ROLES.index("pp"), ROLES.index("dp")
# What the network cannot see of an iteration's end, the optimizer's step, takes about this share of a usual one.
# Computing takes some eight pieces, the passes of a few micro-batches, of unequal length, that jitter by themselves and
# in part together: like so many independent equal ones. So does the step, as one more. Of an iteration at least this
# share is computing, however much of it a ring seems to take.
UNSEEN_SHARE, PIECES, COMPUTING = 0.02, 5, 0.5
# Of a pass there and back, this share is the way back.
BACK_SHARE = 2 / 3
# That jitter is taken from so many neighbours: a fault changes it. Changes of more than so many deviations are no
# jitter; two changes in a row share an iteration, so that n of them tell as much as n over this.
NEIGHBOURS, OUTLYING, SHARED = 15, 3.0, 1.5
# A 95 % interval reaches so many standard errors to either side.
REACHES = 1.96
# No error is smaller: a billionth of a nanosecond, by which any time may be divided.
LEAST_NS = 1e-9
# This share of a normal error lies within its standard deviation.
WITHIN_DEVIATION = 0.683


class IterationTimeErrors(NamedTuple):
    """Errors of iteration times; (iterations - 1,) each, nan where too little tells them.

    Attributes:
        chance_ns: standard deviation of what jitters.
        known_ns: by how much the unseen step comes to take longer, or less long, where computing does.
        freedom: degrees of freedom of what is known of both.
    """

    chance_ns: Float
    known_ns: Float
    freedom: Float

    def standard_ns(self) -> Float:
        """Standard error of each iteration time."""
        return np.asarray(np.hypot(self.chance_ns, self.known_ns), np.float64)

    def interval_ns(self) -> Float:
        """The same, as much wider as makes 1.96 of it hold 95 %.

        The jitter itself is told by a few neighbours, and the error of edges by iterations of like pace, so the error
        is Student's, with as many degrees of freedom as their sum has: the more, the less either makes of it alone.
        """
        return np.asarray(self.standard_ns() * stdtrit(np.maximum(self.freedom, 1.0), 0.975) / REACHES, np.float64)

    def mean_ns(self) -> Float:
        """Expected absolute error of each iteration time.

        What jitters is mostly small, what changes is not: the mean of a normal error that is off by a known size,
        folded.
        """
        chance = np.maximum(self.chance_ns, LEAST_NS)
        off = self.known_ns / chance
        return np.asarray(chance * np.sqrt(2 / np.pi) * np.exp(-(off**2) / 2) + self.known_ns * erf(off / np.sqrt(2)))


class EdgeErrors(NamedTuple):
    """What is known of the distances of edges; (iterations - 1,) each.

    Attributes:
        own_ns: standard error of either edge's own, together.
        shared_ns: of what edges of one pace share, where that changes.
        freedom: degrees of freedom of the former.
    """

    own_ns: Float
    shared_ns: Float
    freedom: Float


def errors(
    edges_ns: Int, computing_ns: Float, edges: EdgeErrors | None = None, unseen_share: float = UNSEEN_SHARE
) -> IterationTimeErrors:
    """Errors of iteration times.

    An iteration's time is the distance of two edges, each with an error of its own, and of two ends that lie an unseen
    step behind the last byte. That jitters as all computing does, by the same share of its time, and where computing
    comes to take longer from one iteration to the next, as with a slower GPU, so may the step. What takes longer once,
    a checkpoint, is none of it.

    Args:
        edges_ns: (iterations,) end of each iteration.
        computing_ns: (iterations - 1,) what of each iteration is computing.
        edges: how well these are known; None where every byte is seen.
        unseen_share: what of a usual iteration follows its last byte.
    """
    steps = np.maximum(np.diff(edges_ns).astype(np.float64), 1.0)
    noise, freedom = noises_ns(steps)
    least = np.maximum(computing_ns, COMPUTING * steps)
    unseen = unseen_share * float(np.min(steps / least, initial=np.inf))  # of computing, which alone jitters
    jitter = np.sqrt(2 * PIECES) * unseen * noise
    change = np.abs(np.diff(_levels(computing_ns), prepend=computing_ns[:1]))
    known = np.where(change > OUTLYING * np.sqrt(2) * noise, unseen * change, 0.0)  # else it is counted as jitter
    if edges is None:
        return IterationTimeErrors(jitter, known, freedom)
    variance = np.asarray(edges.own_ns**2 + edges.shared_ns**2 + jitter**2, np.float64)
    doubt = _freedom(variance + known**2, (jitter**2, freedom), (edges.own_ns**2, edges.freedom))
    return IterationTimeErrors(np.sqrt(variance), known, doubt)


def computing_ns(operations: Frame, edges_ns: Int) -> Float:
    """(iterations - 1,) what of each is computing: until the last endpoint sends gradients, or else all of it.

    Args:
        operations: of one job, as `datamodel.reconstructed.operations.OPERATIONS`.
        edges_ns: (iterations,) end of each iteration.
    """
    number = operations["iteration"]
    own = (operations["role"] == DP) & (number >= 0) & (number < len(edges_ns)) & (operations["slot"] == 0)
    last_ns = np.zeros(len(edges_ns), np.int64)
    np.maximum.at(last_ns, number[own], operations["start_ns"][own])
    steps = np.diff(edges_ns)
    until = last_ns[1:] - edges_ns[:-1]
    return np.where((until > 0) & (until < steps), until, steps).astype(np.float64)


def estimate_hidden_step(operations: Frame, iterations: int, stages: int) -> float:
    """Share of a usual iteration that no network shows: the optimizer's step, and without gradients the last pass back.

    A pipeline whose gradients stay inside the hosts ends for the network with the last message to its first stage,
    which then has one pass back to do. With m messages an iteration from stage to stage, and p stages, there is time
    for m + p - 1 passes there and back (Narayanan et al., 2021, section 2.2), of which the way back takes two thirds.

    Args:
        operations: of one job, as `datamodel.reconstructed.operations.OPERATIONS`.
        iterations: how many complete ones there are.
        stages: its pipeline stages.
    """
    role, number = operations["role"], operations["iteration"]
    inside = (number >= 0) & (number < iterations)
    message = inside & (role == PP)
    if (inside & (role == DP)).any() or not message.any():
        return UNSEEN_SHARE
    messages = int(operations["slot"][message].max()) % FAMILY_SLOTS + 1
    return UNSEEN_SHARE + BACK_SHARE / (messages + stages - 1)


def noises_ns(steps: Float) -> tuple[Float, Float]:
    """(spread of iteration times about each one, from one to the next; its degrees of freedom), (n,) each.

    The root mean square of the changes near it, without outlying ones: where a fault sets in. 0 for fewer than three.
    """
    changes = np.abs(np.diff(steps))
    if len(changes) < 2:
        return np.zeros(len(steps)), np.ones(len(steps))
    first = np.clip(np.arange(len(steps)) - NEIGHBOURS // 2 - 1, 0, max(len(changes) - NEIGHBOURS, 0))
    squares, usual = _usual(changes, first)
    return np.sqrt(squares / 2), usual / SHARED


@compiled
def _usual(changes: Float, first: Int) -> tuple[Float, Float]:
    """(mean square of the usual ones of so many neighbours from each first one on, how many these are)."""
    squares, count = np.zeros(len(first)), np.zeros(len(first))
    for n in range(len(first)):
        near = changes[first[n] : first[n] + NEIGHBOURS]
        limit = OUTLYING * quantile(near, WITHIN_DEVIATION)
        for change in near:
            if change <= limit:
                squares[n] += change**2
                count[n] += 1
        squares[n] /= count[n]
    return squares, count


def _levels(values: Float) -> Float:
    """(n,) values, of which one that neither neighbour comes near is taken for the nearer of these."""
    beside = [np.concatenate([values[:1], values[:-1]]), values, np.concatenate([values[1:], values[-1:]])]
    return np.asarray(np.median(beside, axis=0), np.float64)


def _freedom(variance: Float, *parts: tuple[Float, Float]) -> Float:
    """Degrees of freedom of a sum of variances, some of which are estimates of so many (Welch 1947; Satterthwaite)."""
    doubt = np.sum([part**2 / freedom for part, freedom in parts], axis=0)
    return np.asarray(variance**2 / np.maximum(doubt, np.finfo(np.float64).tiny), np.float64)
