"""Whether a job that follows another is the same training: restarted, or resized (elastic training).

A ring all-reduce of G bytes over n replicas has each send 2 G (n - 1) / n, a reduce-scatter or an all-gather half of it
(Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009); pipeline messages do not depend on n. So each endpoint that
stays sends between as much as before and that times the ratio of the two factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from datamodel.reconstructed.streams import Float

# Bytes of headers and of padding differ by less.
TOLERANCE = 0.02
# Of the endpoints that stay so many must fit: those next to the end of a ring may send to other peers.
FITTING = 0.9
# Few iterations of samples show bytes of an iteration this well.
SAMPLED_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class TrainingShape:
    """What is compared.

    Attributes:
        start_ns, end_ns: first and last byte.
        sent_bytes: endpoint -> bytes that it sends in an iteration.
    """

    start_ns: int
    end_ns: int
    sent_bytes: Mapping[int, float]


def is_resized(before: TrainingShape, after: TrainingShape) -> bool:
    """Whether `after` began when `before` had ended, on more or fewer of its endpoints, with the same work for each."""
    if before.end_ns > after.start_ns:
        return False
    old, new = set(before.sent_bytes), set(after.sent_bytes)
    common = old & new
    if common not in (old, new):
        return False
    factor = resized_ring(len(old), len(new))
    if factor == 1:
        return False
    low, high = sorted((1.0, factor))
    ratios = [after.sent_bytes[e] / before.sent_bytes[e] for e in common if before.sent_bytes[e] > 0]
    fits = sum(low * (1 - TOLERANCE) <= ratio <= high * (1 + TOLERANCE) for ratio in ratios)
    return bool(ratios) and fits >= FITTING * len(common)


def is_restarted(before: TrainingShape, after: TrainingShape) -> bool:
    """Whether `after` began when `before` had ended, on as many endpoints, with the same work for half of them or more.

    One change inside a window leaves one job; of several, recognition follows one.
    """
    common = before.sent_bytes.keys() & after.sent_bytes.keys()
    if before.end_ns > after.start_ns or len(before.sent_bytes) != len(after.sent_bytes):
        return False
    if 2 * len(common) < len(before.sent_bytes):
        return False
    ratios = [after.sent_bytes[e] / before.sent_bytes[e] for e in common if before.sent_bytes[e] > 0]
    return bool(ratios) and sum(abs(ratio - 1) <= TOLERANCE for ratio in ratios) >= FITTING * len(common)


def does_same_work(before_bytes: Float, after_bytes: Float, factor: float) -> bool:
    """Whether pairs that stay move as much in an iteration as before, or as much as a ring of another size asks.

    Pairs count by their bytes: those of few samples are known worst.

    Args:
        before_bytes: (pairs,) moved in an iteration before, more than 0.
        after_bytes: (pairs,) likewise after.
        factor: see `resized_ring`.
    """
    low, high = sorted((1.0, factor))
    ratio = after_bytes / before_bytes
    fits = (ratio >= low * (1 - SAMPLED_TOLERANCE)) & (ratio <= high * (1 + SAMPLED_TOLERANCE))
    return len(ratio) > 0 and float(before_bytes[fits].sum()) >= FITTING * float(before_bytes.sum())


def resized_ring(before: int, after: int) -> float:
    """Bytes that each of so many endpoints sends in the rings of their replicas, over those that it sent before.

    1 where that is not known: as many endpoints, or no whole number of replicas.
    """
    replica = abs(before - after)
    factors = [_ring_factor(number, replica) if replica else 0.0 for number in (before, after)]
    return factors[1] / factors[0] if min(factors) > 0 else 1.0


def _ring_factor(endpoints: int, replica: int) -> float:
    """(n - 1) / n of the replicas; 0 where the endpoints are no whole number of them, or one only."""
    replicas, rest = divmod(endpoints, replica)
    return 0.0 if rest or replicas < 2 else 1 - 1 / replicas
