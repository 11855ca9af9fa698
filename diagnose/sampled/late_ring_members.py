"""Rings that begin late -> who arrived last at them, by how much each member could send before it had to wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from diagnose.compute.stragglers import EXCHANGES
from diagnose.hangs.ring_order import ring_order
from diagnose.sampled.late_senders import Late
from diagnose.sampled.sampled_findings import NAMED
from diagnose.sampled.sampled_job_view import IterationComparison, SampledView
from reconstruct.numeric.medians import MAD_TO_SIGMA
from reconstruct.sampled.folding.folded_samples import LATER_HALF, Points

# A ring is late when the later half of its bytes passes later by this share of what an iteration became longer, and by
# so many times as much as its samples scatter: else those in time are not told from those that are late.
EXPLAINS, APART = 0.5, 4.0
# A sample so early, in shares of what the ring is late by, is of the iteration before.
BEFORE_ITS_TIME = 0.5
# This share of the samples is dated anyhow.
ASTRAY = 0.05
# The ramp explains this share of what samples, each by itself, say of who is in time.
EXPLAINED = 0.5
# A ring that goes round several times for its bytes has smaller chunks: tried a quarter of an octave apart, and for so
# many of the likeliest places closer and closer, for a chunk's size that is slightly wrong makes a neighbour likelier.
CHUNKS, LIKELIEST, OCTAVES = 2.0 ** (-np.arange(25) / 4), 8, (1 / 4, 1 / 32)
# Chunks that a member takes before it passes the first on itself; any number where receivers need not be ready.
SLOTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 16.0, np.inf])
FEWEST = 6
_UNIFORM = float(np.sqrt(12.0))  # a uniform span's standard deviation is its width over this


@dataclass(frozen=True, slots=True)
class _Head:
    """Samples of the earlier half of a ring's bytes.

    Attributes:
        ring: the groups that compute together, each followed by the one it sends to.
        place, phase: (n,) whose each is, as a place in the ring, and what was sent before, as a share of the bytes.
        odds: (n,) logarithm of how much likelier it is that each is in time than that it is late.
        late_ns, error_ns: by how much the ring is late, and the standard error of that.
        before_ns: when it began at the job's best, after the iteration did.
    """

    ring: tuple[int, ...]
    place: Int
    phase: Float
    odds: Float
    late_ns: float
    error_ns: float
    before_ns: float


@dataclass(frozen=True, slots=True)
class _Samples:
    """Samples by member and by what was sent before.

    Attributes:
        phase: of each member's, ascending.
        summed: sums of their odds up to each, with 0 before the first.
        odds: of all.
    """

    phase: list[Float]
    summed: list[Float]
    odds: Float

    @classmethod
    def of(cls, heads: list[_Head]) -> _Samples:
        """All samples of rings of the same groups."""
        place, phase, odds = (np.concatenate([getattr(h, name) for h in heads]) for name in ("place", "phase", "odds"))
        order = np.lexsort([phase, place])
        bounds = np.searchsorted(place[order], np.arange(1, len(heads[0].ring)))
        phases, of_each = np.split(phase[order], bounds), np.split(odds[order], bounds)
        return cls(phases, [np.concatenate([[0.0], np.cumsum(own)]) for own in of_each], odds)

    @property
    def members(self) -> int:
        """Of the ring."""
        return len(self.phase)

    def likely(self, ramps: Float, places: Int) -> Float:
        """(ramps, places) logarithm of how much likelier samples are if a ramp begins there than if all are late."""
        total = np.zeros((len(ramps), len(places)))
        for member, (phase, summed) in enumerate(zip(self.phase, self.summed, strict=True)):
            sent = ramps[:, (member - places) % self.members]
            total += summed[np.searchsorted(phase, sent, side="right")]
        return total


def meet_first_in_rings(view: SampledView) -> bool:
    """Whether ranks that wait for one another do so first in their gradient rings.

    Sharded training gathers and scatters all through the iteration, and the head of its bytes begins nothing. Those who
    exchange tokens, keys or values before arrive as late as the latest of them.
    """
    return not view.job.sharded and not np.isin(view.role, list(EXCHANGES)).any()


def late_in_rings(view: SampledView, compared: IterationComparison, longer_ns: float) -> Late:
    """Who arrives late at its gradient rings, where nothing else tells and they `meet_first_in_rings`.

    A member sends its own first chunk when it arrives, and then what its predecessor sent it. So the successor of a
    late rank sends one chunk in time before it stalls, the next one two, and so on round the ring, until those just
    before the late rank, who can send only what it is ready to take: the late rank itself sends none, and in a
    rendezvous ring neither does its predecessor. Where this ramp begins lies the late rank. All samples together are
    made likely or not by each place, over all sizes of chunks; the place is told where it has most of the probability.
    Where nobody sends in time, all have become late. Those that compute together, on rails of their own, count as one.
    """
    ends, number = view.job.endpoints, view.computing()
    excess, error, before = np.zeros(len(ends)), np.full(len(ends), longer_ns), np.zeros(len(ends))
    late = np.zeros(len(ends), np.bool_)
    for heads in _by_ring(view, compared, longer_ns):
        group = _last(heads)
        if group is not None:
            own = number[ends] == group
            excess[own], error[own], before[own] = heads[0].late_ns, heads[0].error_ns, heads[0].before_ns
            late |= own
    return Late(ends, excess, error, before, late, late)


def _by_ring(view: SampledView, compared: IterationComparison, longer_ns: float) -> list[list[_Head]]:
    """Heads of the rings that are late; together those of the same groups, on several rails."""
    found: dict[tuple[int, ...], list[_Head]] = {}
    for ring in view.rings():
        order = _order(view, ring)
        head = _head(view, ring, order, compared, longer_ns) if len(order) >= 3 else None
        if head is not None:
            found.setdefault(order, []).append(head)
    return list(found.values())


def _order(view: SampledView, ring: Int) -> tuple[int, ...]:
    """Groups that compute together in the order of a ring, the first one first; nothing where it is no single ring."""
    number = view.computing()
    return ring_order(set(zip(number[view.src[ring]].tolist(), number[view.dst[ring]].tolist(), strict=True)))


def _head(
    view: SampledView, ring: Int, order: tuple[int, ...], compared: IterationComparison, longer_ns: float
) -> _Head | None:
    """The head of a ring that is late; None where it is not, or where late and in time are not told apart."""
    (begin, pace), late_ns = _begins(view.of(ring), compared)
    if not late_ns >= EXPLAINS * longer_ns:
        return None
    number, where = view.computing(), {group: n for n, group in enumerate(order)}
    rows = [(where[int(number[view.src[m]])], view.points[m]) for m in ring.tolist()]
    chosen = [np.isin(own.iteration, compared.now) for _, own in rows]
    phase, after_ns, doubt_ns = (
        np.concatenate([getattr(own, name)[c] for (_, own), c in zip(rows, chosen, strict=True)])
        for name in ("phase", "after_ns", "doubt_ns")
    )
    place = np.repeat([n for n, _ in rows], [int(c.sum()) for c in chosen])
    left_ns = after_ns - begin - pace * phase
    scatter_ns = MAD_TO_SIGMA * float(np.median(np.abs(left_ns[phase > LATER_HALF] - late_ns)))
    if late_ns < APART * scatter_ns:
        return None
    # a span that holds both moments, that in time and the late one, tells neither
    own = (phase <= LATER_HALF) & (left_ns >= -BEFORE_ITS_TIME * late_ns) & (doubt_ns < late_ns)
    deviation_ns = np.hypot(scatter_ns, doubt_ns[own] / _UNIFORM) + 1.0
    odds = _dated(left_ns[own], deviation_ns, late_ns) - _dated(left_ns[own] - late_ns, deviation_ns, late_ns)
    error_ns = scatter_ns / float(np.sqrt(len(compared.now)))
    return _Head(order, place[own], phase[own], odds, late_ns, error_ns, begin)


def _dated(off_ns: Float, deviation_ns: Float, late_ns: float) -> Float:
    """Logarithm of how likely samples are so far off, those that are dated anyhow among them."""
    near = np.exp(-((off_ns / deviation_ns) ** 2) / 2) / (deviation_ns * np.sqrt(2 * np.pi))
    return np.asarray(np.log((1 - ASTRAY) * near + ASTRAY / (2 * late_ns)), np.float64)


def _begins(members: list[Points], compared: IterationComparison) -> tuple[tuple[float, float], float]:
    """((begin, time for all bytes) of a ring at the job's best, by how much its later half is later now)."""

    def after(iterations: Int) -> tuple[Float, Float]:
        chosen = [np.isin(m.iteration, iterations) & (m.phase > LATER_HALF) for m in members]
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


def _last(heads: list[_Head]) -> int | None:
    """Of the groups of rings that are late together, the one that arrived last; None where that stays open.

    Dates err together, as those of a datagram do, and what they make of a ramp no ramp explains whole. So a place must
    be likelier than the next one by more than half of what no place explains.
    """
    samples = _Samples.of(heads)
    roughly = samples.likely(_ramps(samples.members, CHUNKS, SLOTS), np.arange(samples.members))
    weight = roughly.max(axis=0)
    for where in np.argsort(-weight, kind="stable")[:LIKELIEST].tolist():
        slots, chunk = divmod(int(np.argmax(roughly[:, where])), len(CHUNKS))
        weight[where] = _closer(samples, where, float(CHUNKS[chunk]), SLOTS[slots : slots + 1])
    best, most = int(np.argmax(weight)), float(np.maximum(samples.odds, 0.0).sum())
    if not weight[best] >= EXPLAINED * most > 0:
        return None
    beyond = weight[best] - float(np.delete(weight, best).max())
    told = beyond >= max(EXPLAINED * (most - weight[best]), float(np.log(NAMED / (1 - NAMED))))
    return heads[0].ring[best] if told else None


def _closer(samples: _Samples, where: int, chunk: float, slots: Float) -> float:
    """How likely a place makes the samples with chunks of the size that fits best, at most that of a single round."""
    likely = np.zeros(0)
    for octaves in OCTAVES:
        chunks = np.minimum(chunk * 2.0 ** np.linspace(-octaves, octaves, 17), 1.0)
        likely = samples.likely(_ramps(samples.members, chunks, slots), np.array([where]))[:, 0]
        chunk = float(chunks[int(np.argmax(likely))])
    return float(likely.max())


def _ramps(members: int, chunks: Float, slots: Float) -> Float:
    """(ramps, members) share of its bytes that a member sends in time, by how far behind the late one it is.

    A ring goes round its members twice less a step for each; how often it does that for all of its bytes, and how many
    chunks a member takes before it passes the first on, libraries differ in.

    Args:
        members: of the ring.
        chunks: sizes, as shares of what goes round at once.
        slots: chunks that a member takes; infinite where its predecessor need not wait for it.
    """
    behind = np.arange(members)
    shares = chunks / (2 * (members - 1))
    taken = [np.minimum(behind, most * behind[::-1]) if np.isfinite(most) else behind for most in slots.tolist()]
    return np.asarray(np.concatenate([np.outer(shares, most) for most in taken]), np.float64)
