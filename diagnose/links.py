"""Rates -> the link that slows a job: an endpoint's own link, or one between switches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from datamodel.fabric import Fabric
from datamodel.streams import Bool, Float, Int
from diagnose.medians import median_over
from diagnose.rates import Rates

# A stream is slow below this share of both its own rate at the job's best and the median of its peers ...
SLOW_SHARE = 0.6
# ... or, where the job was never better, below this share of its peers.
SLOW_AMONG_PEERS = 0.5
# A stream that was never as fast as this share of the fastest carries too little: latency sets its rate, not a link.
TELLS_SHARE = 0.02
# A link is named when it carries this share of the time that slow streams lose.
HOLDS = 0.75


@dataclass(frozen=True, slots=True)
class SlowLink:
    """What slow streams have in common.

    Attributes:
        endpoint: whose own link it is; None for a link between switches.
        switch: the switch whose uplinks are suspected; None for an endpoint's own link, or where it is not known
            which switches the slow streams pass.
        direction: "tx", "rx" or None for both or unknown.
        rivals: other endpoints that explain the slow streams as well.
        slow: (s,) which streams are slow.
        rate_bps, normal_bps: (s,) median rate in the period and what was to be expected.
        lost_ns: (s,) time an iteration loses in each stream.
    """

    endpoint: int | None
    switch: str | None
    direction: str | None
    rivals: tuple[int, ...]
    slow: Bool
    rate_bps: Float
    normal_bps: Float
    lost_ns: Float


def slow_link(rates: Rates, period: Int, baseline: Int, fabric: Fabric) -> SlowLink | None:
    """Name the link whose streams all move the same bytes in more time; None where no stream is slow.

    1. A stream is slow against itself at the job's best and against its peers of the same role.
    2. The endpoint that holds most of the lost time is named, if it holds nearly all; of two that hold as much, the one
       whose own direction is slow throughout. A sender's slow link paces its bytes already beside it; a receiver's, or
       one further on, lets them go fast and acknowledges late.
    3. Else the switch whose streams to other switches hold nearly all of it: one of its uplinks. Without an inventory
       that is not known, and several streams that became slow only say that they share something; streams that always
       were slower than others may just run further.
    """
    rates = _telling(rates)
    now, normal = median_over(rates.delivered_bps, period), _normal(rates, period, baseline)
    slow = np.asarray(now < (SLOW_SHARE if len(baseline) else SLOW_AMONG_PEERS) * normal)
    volume = np.nanmedian(rates.bytes[:, period], axis=1)
    lost = np.where(slow, volume * 8e9 / np.maximum(now, 1) - volume * 8e9 / np.maximum(normal, 1), 0.0)
    if not slow.any() or lost.sum() <= 0:
        return None
    named = _endpoint(rates, slow, lost, period, baseline)
    if named is not None:
        endpoint, direction, rivals = named
        return SlowLink(endpoint, None, direction, rivals, slow, now, normal, lost)
    switch = _switch(rates, slow, lost, fabric)
    unknown = not fabric.switch and len(baseline) > 0 and slow.sum() >= 2
    return SlowLink(None, switch, None, (), slow, now, normal, lost) if switch is not None or unknown else None


def _telling(rates: Rates) -> Rates:
    """Rates without those of streams that say nothing of links: acknowledgements, readiness, a barrier's few bytes."""
    best = np.where(np.isfinite(rates.delivered_bps), rates.delivered_bps, 0).max(axis=1, initial=0)
    tells = best >= TELLS_SHARE * best.max(initial=0)
    return replace(rates, delivered_bps=np.where(tells[:, None], rates.delivered_bps, np.nan))


def _normal(rates: Rates, period: Int, baseline: Int) -> Float:
    """What each stream's rate should be: the lesser of its own at the job's best and its peers' in the same period."""
    now = median_over(rates.delivered_bps, period)
    peers = np.full(len(now), np.nan)
    for role in np.unique(rates.role):
        same = (rates.role == role) & np.isfinite(now)
        peers[same] = np.nanmedian(now[same]) if same.sum() >= 3 else np.nan
    return np.fmin(peers, median_over(rates.delivered_bps, baseline)) if len(baseline) else peers


def _endpoint(
    rates: Rates, slow: Bool, lost: Float, period: Int, baseline: Int
) -> tuple[int, str | None, tuple[int, ...]] | None:
    ends = sorted({int(e) for e in np.concatenate([rates.src[slow], rates.dst[slow]])})
    share = {e: float(lost[(rates.src == e) | (rates.dst == e)].sum() / lost.sum()) for e in ends}
    holding = [e for e in ends if share[e] >= HOLDS]
    if not holding:
        return None
    paced = _paced_by_sender(rates, slow, period, baseline)
    score = {e: _purity(rates, slow, e) + 0.5 * _side(rates, slow, paced, e) for e in holding}
    best = max(holding, key=lambda e: (round(share[e], 2), score[e], -e))
    rivals = tuple(
        e for e in holding if e != best and share[e] >= share[best] - 0.05 and abs(score[e] - score[best]) < 0.25
    )
    return best, _direction(rates, slow, best), rivals


def _purity(rates: Rates, slow: Bool, endpoint: int) -> float:
    """Share of slow streams among all that leave, or all that reach, an endpoint; the purer of the two."""
    out, into = rates.src == endpoint, rates.dst == endpoint
    return max(float(slow[side].mean()) if side.any() else 0.0 for side in (out & _busy(rates), into & _busy(rates)))


def _busy(rates: Rates) -> Bool:
    return np.asarray(np.isfinite(rates.delivered_bps).any(axis=1))


def _side(rates: Rates, slow: Bool, paced: bool | None, endpoint: int) -> float:
    """1 where the endpoint stands on the side of the slow streams that pacing points to, 0 where not, 0.5 unknown."""
    if paced is None:
        return 0.5
    on_side = rates.src == endpoint if paced else rates.dst == endpoint
    return float(on_side[slow].mean() >= 0.5)


def _paced_by_sender(rates: Rates, slow: Bool, period: Int, baseline: Int) -> bool | None:
    """Whether bytes already leave slowly (True) or leave fast and arrive late (False); None where that is not seen."""
    sent, delivered = median_over(rates.sent_bps, period)[slow], median_over(rates.delivered_bps, period)[slow]
    if not np.isfinite(sent).any() or np.allclose(sent, delivered, rtol=0.02, equal_nan=True):
        return None
    before = median_over(rates.sent_bps, baseline)[slow] if len(baseline) else np.nanmedian(rates.sent_bps)
    return bool(np.nanmedian(sent / before) < SLOW_SHARE)


def _direction(rates: Rates, slow: Bool, endpoint: int) -> str | None:
    out, into = rates.src == endpoint, rates.dst == endpoint
    leaves = bool(slow[out].mean() >= 0.5) if out.any() else False
    reaches = bool(slow[into].mean() >= 0.5) if into.any() else False
    return {(True, False): "tx", (False, True): "rx"}.get((leaves, reaches))


def _switch(rates: Rates, slow: Bool, lost: Float, fabric: Fabric) -> str | None:
    """The switch that nearly all lost time passes on its way to or from other switches."""
    share: dict[str, float] = {}
    for a, b, ns in zip(rates.src[slow], rates.dst[slow], lost[slow], strict=True):
        ends = fabric.switch.get(int(a)), fabric.switch.get(int(b))
        if None not in ends and ends[0] != ends[1]:
            for name in _known(ends):
                share[name] = share.get(name, 0.0) + float(ns)
    holding = {n: v for n, v in share.items() if v >= HOLDS * lost.sum()}
    return max(sorted(holding), key=lambda n: holding[n]) if holding else None


def _known(names: Iterable[str | None]) -> list[str]:
    return [n for n in names if n is not None]
