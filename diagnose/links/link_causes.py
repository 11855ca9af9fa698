"""Slow streams + packet counts -> why they are slow, where the counts say so: loss, congestion, one cable for many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.links.slow_links import SlowLink
from diagnose.measures.stream_rates import Rates
from diagnose.measures.switch_pairs import SwitchPairs
from diagnose.options import MODEL

# A cause is named when the streams that show it lose this share of all lost time.
EXPLAINS = 0.8
# So many marked packets make senders slow down ...
MARKED = 0.05
# ... when there are so many times as many as at the job's best.
MORE = 3.0
# Streams that together fill a cable to this share of its speed are slow because it is full.
FULL = 0.8


@dataclass(frozen=True, slots=True)
class Cause:
    """Why streams are slow.

    Attributes:
        name: `loss`, `congestion` or `ecmp_collision`.
        metric: what was measured.
        value, baseline: of the slow streams in the period, and at the job's best (of a cable: its speed).
        unit: of both.
    """

    name: str
    metric: str
    value: float
    baseline: float
    unit: str


def cause_of(
    operations: Frame, link: SlowLink, rates: Rates, period: Int, baseline: Int, fabric: EndpointLocations
) -> Cause | None:
    """The first of these that explains four fifths of the lost time; None where nothing does.

    1. Loss: the slow streams send packets again, and did not at the job's best.
    2. Congestion: their packets carry marks of a queue, and did not.
    3. Collision: those that leave one switch, or those that reach it, are together as fast as one of its cables; there
       are others, so the hash put them on the same one. Where several switches are suspected, they may be full all.

    Args:
        operations: of the job.
        link: what is slow.
        rates: of the streams that `link` speaks of.
        period: iterations that are slow.
        baseline: iterations of the job at its best; may be empty.
        fabric: switches and the speed of their cables.
    """
    tests = (("loss", "retransmitted_packets", MODEL.lossy_ratio), ("congestion", "ecn_ce_packets", MARKED))
    for name, column, least in tests:
        now, before = (_share(operations, rates, column, chosen) for chosen in (period, baseline))
        shows = link.slow & (now >= np.maximum(least, MORE * np.nan_to_num(before)))
        if shows.any() and link.lost_ns[shows].sum() >= EXPLAINS * link.lost_ns.sum():
            metric = "packets sent again" if name == "loss" else "packets marked with congestion"
            usual = float(np.nan_to_num(np.median(before[shows])))
            return Cause(name, metric, float(np.median(now[shows])), usual, "share of packets")
    return _collision(operations, link, rates, period, fabric)


def _share(operations: Frame, rates: Rates, column: str, iterations: Int) -> Float:
    """(s,) share of each stream's packets in some iterations; nan where none were counted."""
    chosen = np.isin(operations["iteration"], iterations)
    place = np.searchsorted(rates.streams, operations["stream"])
    chosen &= (place < len(rates.streams)) & (operations["packets"] > 0)
    packets = np.bincount(place[chosen], operations["packets"][chosen], len(rates.streams))
    marked = np.bincount(place[chosen], operations[column][chosen], len(rates.streams))
    return np.where(packets > 0, marked / np.maximum(packets, 1), np.nan)


def _collision(operations: Frame, link: SlowLink, rates: Rates, period: Int, fabric: EndpointLocations) -> Cause | None:
    """Slow streams of a suspected switch, each way, that fill one of its cables; at all such switches together."""
    if link.switch is None:
        return None
    where = SwitchPairs(rates, fabric)
    explained, most, full_at = np.zeros(len(link.slow), np.bool_), 0.0, 0.0
    for switch in {link.switch, *link.among} & set(where.names):
        speeds = [cable.speed_gbps for cable in fabric.uplinks(switch) if cable.speed_gbps]
        own = where.names.index(switch)
        for ends in (where.leaves, where.reaches):
            way = link.slow & where.across & (ends == own)
            if len(speeds) < 2 or way.sum() < 2:
                continue
            rate = _rate_bps(operations, rates.streams[way], period)
            if rate >= FULL * min(speeds) * 1e9:
                explained |= way
                most, full_at = max((most, full_at), (rate, min(speeds) * 1e9))
    if not explained.any() or link.lost_ns[explained].sum() < EXPLAINS * link.lost_ns.sum():
        return None
    return Cause("ecmp_collision", "rate of the slow streams together", most, full_at, "bit/s")


def _rate_bps(operations: Frame, streams: Int, iterations: Int) -> float:
    """Bytes of some streams over the time in which any of them has bytes under way."""
    chosen: Bool = np.isin(operations["stream"], streams) & np.isin(operations["iteration"], iterations)
    rows = operations.take(chosen).sort("start_ns")
    reach = np.maximum.accumulate(rows["delivered_ns"])
    idle = np.maximum(rows["start_ns"][1:] - reach[:-1], 0).sum()
    busy = int(reach[-1] - rows["start_ns"][0] - idle)
    return float(rows["bytes"].sum()) * 8e9 / max(busy, 1)
