"""Delays of sends -> compute before them: of several sends the quickest tells, others may have waited."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.compute.send_delays import SendDelays
from diagnose.compute.stragglers import READY_SHARE

# So many endpoints of a stage tell its compute.
SAMPLE = 256


def select_informative(delays: list[Float]) -> list[Float]:
    """Those of sends that were not ready before their turn came."""
    longest = max((float(np.median(d)) for d in delays), default=0.0)
    return [d for d in delays if float(np.median(d)) >= READY_SHARE * longest]


def sampled(kind: SendDelays, peers: Bool, period: Int) -> Float:
    """Delays that were seen, of at most `SAMPLE` endpoints of a stage."""
    members = np.flatnonzero(peers)
    delay = kind.delay_ns[np.ix_(members[:: max(len(members) // SAMPLE, 1)], period)]
    return np.asarray(delay[np.isfinite(delay)])


def compute_min_delay(kinds: list[SendDelays], peers: Bool, period: Int) -> float:
    """The least median delay of sends, those aside that were ready before their turn came."""
    delays = [d for k in kinds if len(d := sampled(k, peers, period))]
    return min((float(np.median(d)) for d in select_informative(delays)), default=float("nan"))
