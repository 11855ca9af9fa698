"""Delays -> endpoints that compute longer than they did, or than their peers do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.compute.send_delays import PP, SendDelays
from diagnose.endpoint_index import group_numbers
from reconstruct.numeric.medians import group_medians, row_medians, typical_over

# Of tokens, of keys and values, and of tensor groups across hosts: all in the passes.
EXCHANGES = frozenset(ROLES.index(name) for name in ("ep", "cp", "tp"))
# The slowest of healthy sends: this percentile over the peers of a stage.
HEALTHY_PERCENTILE = 95
# Without a better time to compare with: so many percent of the peers are taken to be healthy.
PEERS_PERCENTILE = 75
# A send whose delay is below this share of the longest of its direction was ready before its turn came.
READY_SHARE = 0.1
# Of several late stages of one pipeline, those whose compute grew by this share of what the most grown one's did count.
SLOWEST_OF_CHAIN = 0.5
# The latest one is late by this share of an iteration, half the smallest slowdown reported.
LATE = 0.025
# A message had no slack where its usual delay is at most this many times the quickest one's of its direction.
WITHOUT_SLACK = 1.25


@dataclass(frozen=True, slots=True)
class Lateness:
    """How much longer than usual endpoints took before they sent.

    Attributes:
        excess_ns: (e,) sum over the sends of an iteration of what exceeds the slowest healthy one.
        normal_ns: (e,) sum of what is healthy.
        spread_ns: (e,) median distance of an iteration from what is typical.
    """

    excess_ns: Float
    normal_ns: Float
    spread_ns: Float


def lateness(kinds: tuple[SendDelays, ...], stages: Int, period: Int, baseline: Int) -> Lateness:
    """Compare each endpoint's delays in a period with those of its stage at the job's best.

    Where dates leave open how long a delay was, it is as short as they allow, and the healthy ones as long: a lateness
    that uncertain dates explain is none.

    The reference for a send is the 95th percentile over the stage's endpoints and the baseline's iterations: now and
    then a rank is set going by an earlier event, and its delay looks long without being so. Without a baseline it is
    the peers' 75th percentile in the period. Where there is a pipeline only messages count, and else where
    endpoints exchange tokens, keys or values in the passes only those exchanges do: a gradient collective starts late
    at the neighbour of a late rank too, and at that of anybody whom a late rank has kept waiting.

    Args:
        kinds: delays by kind of send.
        stages: (e,) stage of each endpoint.
        period: iterations to judge.
        baseline: iterations of the job at its best; may be empty.
    """
    excess, normal = np.zeros(len(stages)), np.zeros(len(stages))
    total = np.zeros((len(stages), len(period)))
    for kind in _of_the_passes(kinds):
        now = typical_over(kind.delay_ns, period)
        least, most = (now, now) if kind.bounds is None else _between(kind, period)
        seen = np.isfinite(now)
        for stage in np.unique(stages[seen]):
            peers = np.flatnonzero(seen & (stages == stage))
            usual = _reference(kind.within.most_ns, most, np.flatnonzero(stages == stage), baseline)
            if np.isfinite(usual):
                excess[peers] += np.maximum(least[peers] - usual, 0)
                normal[peers] += usual
        total += np.nan_to_num(kind.delay_ns[:, period])
    spread = row_medians(np.abs(total - row_medians(total)[:, None]))
    return Lateness(excess, normal, spread)


def _between(kind: SendDelays, period: Int) -> tuple[Float, Float]:
    """Typical delays of a period, as short and as long as dates allow."""
    return typical_over(kind.within.least_ns, period), typical_over(kind.within.most_ns, period)


def _of_the_passes(kinds: tuple[SendDelays, ...]) -> tuple[SendDelays, ...]:
    """Sends of the passes: messages between stages, else exchanges of tokens, keys and values; all where none are."""
    messages = tuple(k for k in kinds if k.role == PP)
    return messages or tuple(k for k in kinds if k.role in EXCHANGES) or kinds


def _reference(delay_ns: Float, now: Float, peers: Int, baseline: Int) -> float:
    """The slowest healthy delay of a stage's endpoints; nan where that is not known."""
    if len(baseline):
        healthy = delay_ns[np.ix_(peers, baseline)]
        healthy = healthy[np.isfinite(healthy)]
        return _percentile(healthy, HEALTHY_PERCENTILE) if len(healthy) else float("nan")
    known = now[peers][np.isfinite(now[peers])]
    return _percentile(known, PEERS_PERCENTILE) if len(known) >= 4 else float("nan")


def _percentile(values: Float, percent: int) -> float:
    """The value that so many percent are not above."""
    at = (len(values) - 1) * percent // 100
    return float(np.partition(values, at)[at])


def compute_ratio(kinds: tuple[SendDelays, ...], stages: Int, period: Int, baseline: Int, together: Int) -> Float:
    """(e,) how many times as long an endpoint computes before its messages as usual, the least over its messages.

    In a pipeline a message begins when both its ends are ready: whoever neighbours a late stage sends late too, but
    not always. The first messages of an iteration find their receivers idle, the last ones their senders; one that
    only waits has messages that come as early as ever, in one direction or all of them. Compute that takes longer
    delays every message. Messages that usually have slack (a warm-up that waits for its first gradient) say nothing.

    Args:
        kinds: delays by kind of send.
        stages: (e,) stage of each endpoint.
        period: iterations to judge.
        baseline: iterations of the job at its best; where empty, the peers of the stage are the measure.
        together: (e,) number of each endpoint's tensor group, whose members compute in step; -1 for none.
    """
    messages = [k for k in kinds if k.role == PP]
    least = np.full(len(stages), np.inf)
    for towards in sorted({k.towards for k in messages}):
        own = [k for k in messages if k.towards == towards]
        now = np.stack([typical_over(k.delay_ns, period) for k in own])
        before = np.stack([row_medians(k.delay_ns[:, baseline]) for k in own]) if len(baseline) else now
        for stage in np.unique(stages):
            peers = stages == stage
            usual = row_medians(before[:, peers])
            tight = _without_slack(usual)
            if stage == 0 and towards > 0:
                tight[0] = np.isfinite(usual[0])  # behind the optimizer's step: nobody to wait for
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = now[tight][:, peers] / usual[tight][:, None]
            if len(ratio):
                least[peers] = np.fmin(least[peers], np.where(np.isfinite(ratio), ratio, np.inf).min(axis=0))
    least = np.where(np.isfinite(least), least, 1.0)
    shared = group_medians(least[together >= 0], together[together >= 0], int(together.max(initial=-1)) + 1)
    return np.where(together >= 0, np.append(shared, np.nan)[together], least)


def _without_slack(usual_ns: Float) -> Bool:
    """(slots,) messages before which an endpoint does nothing but compute."""
    known = np.isfinite(usual_ns)
    ready = usual_ns < READY_SHARE * float(np.max(usual_ns[known], initial=0.0))
    quickest = float(np.min(usual_ns[known & ~ready], initial=np.inf))
    return np.asarray(known & ~ready & (usual_ns <= WITHOUT_SLACK * quickest))


def share_of_chain(endpoints: Int, chains: Sequence[tuple[int, ...]], ratio: Float) -> Float:
    """(e,) how much longer each computes, as a share of half of what the one of its pipeline does that does so most.

    Args:
        endpoints: (e,) address codes.
        chains: pipelines as address codes.
        ratio: (e,) from `compute_ratio`.
    """
    number = group_numbers(endpoints, chains)
    most = np.zeros(len(chains) + 1)
    np.maximum.at(most, number, ratio - 1)
    share = (ratio - 1) / (SLOWEST_OF_CHAIN * np.maximum(most[number], np.finfo(np.float64).tiny))
    return np.where(number >= 0, np.clip(share, 0.0, 1.0), 1.0)
