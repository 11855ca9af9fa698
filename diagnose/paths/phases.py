"""What connections send -> phases of each job's iteration, and the bytes of every connection while each lasts.

A cable is shared only by what is sent at the same time. A phase begins where connections that make up at least half of
the bytes under way begin to send, and where these are others than before: what takes longer because it shares a cable
stays in the phase it began in.
Other jobs' connections count with what they send on average while a phase lasts, from its first bytes to its last:
nothing where two jobs are never busy together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.paths.placing.equal_sizes import equalized
from reconstruct.jit import compiled

# Parts of an iteration: a phase is no shorter. Fine enough for one in fifty, coarse enough for a second of samples.
BINS = 64
# A connection is under way where it sends this share of what it does in its busiest part.
ACTIVE = 0.05
# Connections that begin to send begin a phase if they make up this share of all that is under way. Where gradients of
# one stage follow those of another it is just a half, which chance makes a little less of samples.
BEGINS, BEGINS_SAMPLED = 0.5, 0.4
# A connection belongs to two parts of an iteration if it sends this share as much in one as in the other. Iterations
# of different length shift a tenth; what is late for a full cable is far more.
IN_BOTH = 0.25
# Parts are apart if connections of one alone make up this share of the bytes of either. Where one part is what full
# cables leave of another, all connections of the later or of the earlier part send in both.
APART = 0.25
# The most of one job; beyond, the beginnings with most bytes count.
MOST_PHASES = 4
NO_JOB = -1
# Bytes of a phase before its first and behind its last, such as agreements on norms and messages cut at edges; of
# samples also those that an agent held until after the phase.
QUIET, QUIET_SAMPLED = 0.001, 0.01
# A connection whose samples show fewer of its bytes than chance, so many standard errors, may send none the less.
SURE_SIGMAS = 2.0


@dataclass(frozen=True, slots=True)
class JobCycle:
    """A job and the time that its iterations took.

    Attributes:
        members: (n,) whether each connection is the job's, and crosses switches.
        iterations_ns: (iterations, 2) begin and end of each, in order.
    """

    members: Bool
    iterations_ns: Int


@dataclass(frozen=True, slots=True)
class Phases:
    """Phases of all jobs' iterations.

    Attributes:
        job: (phases,) index of the job.
        begin, end: (phases,) of the job's first and last bytes of each, as shares of the iteration.
        bytes: (n, phases) of each connection in one iteration, while the phase lasts.
        own: (n, phases) whether the phase is of the connection's own job.
        owner: (n,) job of each connection; -1 where it is of none.
    """

    job: Int
    begin: Float
    end: Float
    bytes: Float
    own: Bool
    owner: Int


def phases(payloads: Frame, jobs: Sequence[JobCycle]) -> Phases:
    """Fold all payloads at each job's iterations; rows of `PAYLOADS`."""
    number: list[int] = []
    bounds: list[tuple[float, float]] = []
    columns: list[Float] = []
    owns: list[Bool] = []
    size = len(jobs[0].members) if jobs else 0
    sample = _sample_bytes(payloads, size)
    for n, job in enumerate(jobs):
        folded = _fold(payloads, job.iterations_ns, len(job.members))
        mine = folded[job.members]
        if 2 * mine[sample[job.members] > 0].sum() <= mine.sum():  # short messages of exact records last no time, too
            sample[job.members] = 0.0
        single = sample[job.members] / max(len(job.iterations_ns), 1)
        parts = list(pairwise(_distinct(mine, [*_cuts(mine, single), BINS], single)))
        sent = np.stack([folded[:, slice(*part)].sum(axis=1) for part in parts], axis=1)
        least = np.where(sample > 0, ACTIVE * sent.max(axis=1), 0.0)
        for part, own in zip(parts, sent.T, strict=True):
            taking = job.members & (own > least)
            begin, end = _busy(folded[taking], part, QUIET_SAMPLED if sample[taking].any() else QUIET)
            number.append(n)
            bounds.append((begin / BINS, end / BINS))
            columns.append(np.where(job.members, own, folded[:, begin:end].sum(axis=1)))
            owns.append(taking)
    sent = np.stack(columns, axis=1) if columns else np.zeros((size, 0))
    own = np.stack(owns, axis=1) if owns else np.zeros((size, 0), np.bool_)
    limits = np.array(bounds, np.float64).reshape(-1, 2)
    owner = np.full(size, NO_JOB)
    of = np.array(number, np.int64)
    for n, job in enumerate(jobs):
        owner[job.members] = n
        main = np.flatnonzero(of == n)[np.where(own, sent, 0.0)[job.members][:, of == n].argmax(axis=1)]
        count = max(len(job.iterations_ns), 1)
        sent[job.members] = equalized(sent[job.members], main, sample[job.members] / count, count)
    return Phases(of, limits[:, 0], limits[:, 1], sent, own, owner)


def _sample_bytes(payloads: Frame, size: int) -> Float:
    """(n,) mean bytes that a sample of each connection stands for; 0 where most are of records that last."""
    single = payloads.take(payloads["end_ns"] <= payloads["start_ns"])
    sent = np.bincount(single["connection"], single["bytes"], size)
    most = 2 * sent > np.bincount(payloads["connection"], payloads["bytes"], size)
    count = np.maximum(np.bincount(single["connection"], minlength=size), 1)
    return np.where(most, sent / count, 0.0)


def _busy(folded: Float, part: tuple[int, int], quiet: float) -> tuple[int, int]:
    """The bounds of what a job sends in a part of its iteration, but for a quiet share; the part's if silent."""
    sent = np.cumsum(folded[:, slice(*part)].sum(axis=0))
    if not sent[-1]:
        return part
    first = int(np.searchsorted(sent, quiet * sent[-1], side="right"))
    last = int(np.searchsorted(sent, (1 - quiet) * sent[-1]))
    return part[0] + first, part[0] + last + 1


def _distinct(folded: Float, cuts: list[int], single: Float) -> list[int]:
    """The cuts before and behind which different connections send.

    Elsewhere one part is what full cables leave of the other. Each would have a slowest cable of its own, although
    whatever is late in one is less in the other, and all of it is gone once the cables are not full.
    """
    kept = cuts[:1]
    for here, following in pairwise(cuts[1:]):
        before, behind = folded[:, kept[-1] : here].sum(axis=1), folded[:, here:following].sum(axis=1)
        if _is_other(before, behind, single) and _is_other(behind, before, single):
            kept.append(here)
    return [*kept, BINS]


def _is_other(part: Float, other: Float, single: Float) -> bool:
    """Whether many bytes of a part are of connections that hardly send in another.

    Where (n,) bytes of a single sample are not 0, chance decides how many samples fall into each.
    """
    error = np.sqrt(single * (IN_BOTH**2 * part + other))
    return bool(part[other + SURE_SIGMAS * error < IN_BOTH * part].sum() > APART * part.sum())


def _fold(payloads: Frame, iterations_ns: Int, size: int) -> Float:
    """(connections, BINS) mean bytes of an iteration in each part of it."""
    share = np.linspace(0, 1, BINS + 1)
    edges = iterations_ns[:, :1] + np.rint((iterations_ns[:, 1:] - iterations_ns[:, :1]) * share).astype(np.int64)
    begin, end = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    found = np.zeros((size, BINS))
    start, stop = payloads["start_ns"], np.maximum(payloads["end_ns"], payloads["start_ns"] + 1)
    first = np.searchsorted(end, start, side="right")
    _add_parts(found, payloads["connection"], (start, stop), payloads["bytes"], first, (begin, end))
    found /= max(len(iterations_ns), 1)
    return found


@compiled
def _add_parts(
    found: Float, connection: Int, time_ns: tuple[Int, Int], sent: Int, first: Int, parts_ns: tuple[Int, Int]
) -> None:
    """Add each payload's bytes to the parts that it lasts in, evenly; `first` is the first part that ends after it."""
    start, stop = time_ns
    begin, end = parts_ns
    for n in range(len(connection)):
        part = first[n]
        while part < len(begin) and begin[part] < stop[n]:
            met = min(stop[n], end[part]) - max(start[n], begin[part])
            found[connection[n], part % BINS] += sent[n] * max(met, 0) / (stop[n] - start[n])
            part += 1


def _cuts(folded: Float, single: Float) -> list[int]:
    """Parts of the iteration that phases begin with, the first always."""
    busiest, error = folded.max(axis=1, initial=0.0), np.sqrt(folded * single[:, None])
    active = (folded - SURE_SIGMAS * error > ACTIVE * busiest[:, None]) & (busiest > 0)[:, None]
    weight = folded.sum(axis=1)
    begins = active & ~np.roll(active, 1, axis=1)
    beginning, under_way = weight @ begins, weight @ active
    share = BEGINS_SAMPLED if single.any() else BEGINS
    new = (beginning >= share * under_way) & (under_way > 0)
    new[0] = False
    chosen = np.flatnonzero(new)
    most = chosen[np.argsort(-beginning[chosen], kind="stable")][: MOST_PHASES - 1]
    return [0, *sorted(most.tolist())]
