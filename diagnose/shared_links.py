"""Rates -> switches whose uplinks several streams share, where no single link holds what they lose."""

from __future__ import annotations

import numpy as np

from datamodel.fabric import Fabric
from datamodel.streams import Bool, Float, Int
from diagnose.links import Crossing, SlowLink, lost_ns, normal_bps
from diagnose.rates import Rates
from reconstruct.medians import median_over

# Streams that keep this share of their rate are as fast as ever, for all that buffers and neighbours do.
AS_FAST = 0.85
# Streams explain a slow period when one of them loses this share of what an iteration became longer by ...
EXPLAINS = 0.5
# ... and this share of all lost time is lost between switches.
BETWEEN_SWITCHES = 0.75


def shared_links(rates: Rates, period: Int, baseline: Int, fabric: Fabric, longer_ns: float) -> SlowLink | None:
    """Tell that streams between switches became slow, on cables they share with one another or with others.

    Traffic of others is spread over many cables, and so is what it costs: no endpoint and no switch holds it, and many
    streams lose a little. What holds up an iteration is the stream that loses most. Streams inside switches stay as
    they were.

    Args:
        rates: of a job's streams.
        period: iterations that are slow.
        baseline: iterations of the job at its best.
        fabric: which switch each endpoint is behind.
        longer_ns: by which the iterations became longer.

    Returns:
        The switch that most of the loss passes, the others that hold at least half as much, and the slow streams; None
        where streams do not explain the period.
    """
    if not fabric.switch or not len(baseline):
        return None
    now, normal = median_over(rates.delivered_bps, period), median_over(rates.delivered_bps, baseline)
    slow = np.asarray(now < AS_FAST * normal)
    lost: Float = np.where(slow, lost_ns(rates, period, now, normal), 0.0)
    where = Crossing(rates, fabric)
    if lost.max(initial=0.0) < EXPLAINS * longer_ns or lost[where.across].sum() < BETWEEN_SWITCHES * lost.sum():
        return None
    if _fell(now / normal, where.known & ~where.across):
        return None
    shares = where.shares(lost)
    if len(np.unique(np.stack([rates.src[slow], rates.dst[slow]]))) < 3:
        return None
    among = tuple(name for name, share in shares[1:] if share >= 0.5 * shares[0][1])
    expected = normal_bps(rates, period, baseline)
    return SlowLink(None, shares[0][0], None, (), slow, now, np.fmax(expected, normal), lost, among)


def _fell(change: Float, inside: Bool) -> bool:
    """Whether the streams inside switches became as slow as some between them: then cables are not what all share."""
    known = change[inside & np.isfinite(change)]
    return bool(len(known) and np.median(known) < AS_FAST)
