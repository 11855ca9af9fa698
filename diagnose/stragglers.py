"""Delays -> endpoints that compute longer than they did, or than their peers do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.streams import Bool, Float, Int
from diagnose.delays import PP, Sends

# The slowest of healthy sends: this percentile over the peers of a stage.
HEALTHY_PERCENTILE = 95
# An endpoint is late by this share of the most late one's excess, or more.
AS_LATE = 0.5
# When this share of all endpoints is late, no one of them is the cause.
EVERYBODY = 0.6
# A send whose delay is below this share of the longest of its direction was ready before its turn came.
READY_SHARE = 0.1
# Of several late stages of one pipeline, those whose quickest message is late by this share of the latest one's count.
SLOWEST_OF_CHAIN = 0.9


@dataclass(frozen=True, slots=True)
class Lateness:
    """How much longer than usual endpoints took before they sent.

    Attributes:
        excess_ns: (e,) sum over the sends of an iteration of what exceeds the slowest healthy one.
        typical_ns: (e,) sum of the median delays in the period.
        normal_ns: (e,) sum of what is healthy.
        late: (e,) who is late.
    """

    excess_ns: Float
    typical_ns: Float
    normal_ns: Float
    late: Bool


def lateness(
    kinds: tuple[Sends, ...], stages: Int, period: Int, baseline: Int, iteration_ns: float, least_ratio: float
) -> Lateness:
    """Compare each endpoint's delays in a period with those of its stage at the job's best.

    The reference for a send is the 95th percentile over the stage's endpoints and the baseline's iterations: now and
    then a rank is set going by an earlier event, and its delay looks long without being so. Without a baseline it is
    the peers' 75th percentile in the period. Where there is a pipeline only messages count: a
    gradient collective starts late at the neighbour of a late rank too.

    Args:
        kinds: delays by kind of send.
        stages: (e,) stage of each endpoint.
        period: iterations to judge.
        baseline: iterations of the job at its best; may be empty.
        iteration_ns: iteration time in the period.
        least_ratio: excess worth naming, as a share of the iteration.
    """
    messages = tuple(k for k in kinds if k.role == PP)
    excess, typical, normal = (np.zeros(len(stages)) for _ in range(3))
    for kind in messages or kinds:
        for stage in np.unique(stages):
            peers = stages == stage
            now = _median(kind.delay_ns[peers][:, period])
            usual = _reference(kind.delay_ns[peers], now, baseline)
            excess[peers] += np.nan_to_num(np.maximum(now - usual, 0))
            typical[peers] += np.nan_to_num(now)
            normal[peers] += np.where(np.isfinite(now), np.nan_to_num(usual), 0)
    late = excess >= max(least_ratio * iteration_ns, AS_LATE * float(excess.max(initial=0)))
    return Lateness(excess, typical, normal, late)


def _reference(delay_ns: Float, now: Float, baseline: Int) -> Float:
    if len(baseline):
        healthy = delay_ns[:, baseline]
        return np.full(
            len(now), np.nanpercentile(healthy, HEALTHY_PERCENTILE) if np.isfinite(healthy).any() else np.nan
        )
    if np.isfinite(now).sum() < 4:
        return np.full(len(now), np.nan)
    return np.full(len(now), float(np.nanpercentile(now, 75)))


def _median(values: Float) -> Float:
    out = np.full(len(values), np.nan)
    seen = np.isfinite(values).sum(axis=1) * 2 >= values.shape[1]
    if seen.any():
        out[seen] = np.nanmedian(values[seen], axis=1)
    return out


def without_predecessors(late: Bool, endpoints: Int, successor: Mapping[int, int]) -> Bool:
    """Late endpoints, less those whose successor in a ring is late too.

    In a rendezvous ring a rank can send only when the next one is ready to receive, so the predecessor of a late rank
    looks as late as the rank itself; the last late one before a punctual one is the cause.
    """
    members = {int(e) for e in endpoints[late]}
    roots = [e for e in members if successor.get(e) not in members]
    return np.isin(endpoints, roots) if roots else late


def quickest_ratio(kinds: tuple[Sends, ...], stages: Int, period: Int) -> Float:
    """(e,) an endpoint's quickest message over its peers' quickest, in the direction where that is least.

    Compute takes long for every message; a rank that waits for its receiver to be ready is held up only now and then,
    and in one direction. Where the network does not show the receiver's readiness, this tells the two apart.
    """
    least = np.full(len(stages), np.inf)
    for towards in {k.towards for k in kinds if k.role == PP}:
        medians = np.stack([_median(k.delay_ns[:, period]) for k in kinds if (k.role, k.towards) == (PP, towards)])
        longest = np.nan_to_num(medians).max(axis=0)
        quickest = np.where(medians >= READY_SHARE * longest, medians, np.inf).min(axis=0)
        for stage in np.unique(stages):
            peers = stages == stage
            known = quickest[peers][np.isfinite(quickest[peers])]
            if len(known):
                least[peers] = np.fmin(least[peers], quickest[peers] / max(float(np.median(known)), 1.0))
    return np.where(np.isfinite(least), least, 0.0)


def without_waiting_stages(late: Bool, endpoints: Int, chains: Iterable[tuple[int, ...]], ratio: Float) -> Bool:
    """Late endpoints, less those that wait for another late one of their own pipeline.

    Args:
        late: (e,) who is late.
        endpoints: (e,) address codes.
        chains: pipelines as address codes.
        ratio: (e,) from `quickest_ratio`.
    """
    kept = late.copy()
    for chain in chains:
        inside = late & np.isin(endpoints, chain)
        if inside.sum() > 1:
            kept[inside] = ratio[inside] >= SLOWEST_OF_CHAIN * ratio[inside].max()
    return kept
