"""Rates -> elements: how much longer each stream's bytes are under way than they should be, in logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.measures.lesser_half import lesser_half
from diagnose.measures.stream_rates import Rates
from diagnose.measures.switch_pairs import SwitchPairs
from diagnose.options import ModelOptions
from reconstruct.numeric.medians import MAD_TO_SIGMA, median_over, medians_of_own_group, row_medians


@dataclass(frozen=True, slots=True)
class Elements:
    """One row a stream.

    Attributes:
        src, dst, role: (s,) ends as address codes, and role.
        shift: (s,) logarithm of the time a byte is under way, less that of the baseline; nan where not known.
        behind: (s,) slow streams that do not wait in their sender.
        error: (s,) standard error of the shifts.
        scatter: (s,) standard error of the logarithm of `now_bps` by itself.
        now_bps, normal_bps: (s,) rate, and what it should be.
        lost_ns: (s,) time an iteration loses in the stream.
        slow: (s,) streams that are slower beyond doubt.
        intact: (s,) streams that lose far fewer packets than those that are slow for it: they pass another link.
    """

    src: Int
    dst: Int
    role: Int
    shift: Float
    behind: Bool
    error: Float
    scatter: Float
    now_bps: Float
    normal_bps: Float
    lost_ns: Float
    slow: Bool
    intact: Bool


@dataclass(frozen=True, slots=True)
class _Level:
    """(s,) median of the logarithm of a rate over some iterations, and the variance of that median."""

    value: Float
    variance: Float

    @classmethod
    def of(cls, rate_bps: Float, iterations: Int, role: Int, options: ModelOptions) -> _Level:
        """Of iterations in which the stream was seen; it scatters as others of its role do, or more.

        Few iterations of one stream may lie close to each other by chance.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.log(rate_bps[:, iterations])
        told[~np.isfinite(told)] = np.nan
        value = row_medians(told)
        spread = MAD_TO_SIGMA * row_medians(np.abs(told - value[:, None]))
        count = np.minimum(np.isfinite(told).sum(axis=1), options.counted)
        of_role = medians_of_own_group(spread, role)
        return cls(value, np.fmax(spread, of_role) ** 2 / np.maximum(count, 1))


def elements(
    rates: Rates,
    interval: Int,
    baseline: Int,
    longer_ns: float,
    where: SwitchPairs,
    host: Mapping[int, str],
    options: ModelOptions,
) -> Elements:
    """Compare each stream in an interval with itself at the job's best, or with its peers where it was never better.

    Args:
        rates: of all streams.
        interval: iterations to judge.
        baseline: iterations of the job at its best; may be empty.
        longer_ns: what an iteration became longer by; 0 where that is not known.
        where: switches at the ends of the streams.
        host: of each address code, as far as known.
        options: of the model.
    """
    telling = _telling(rates, options)
    delivered = np.where(telling[:, None], rates.delivered_bps, np.nan)
    now = _Level.of(delivered, interval, rates.role, options)
    volume = median_over(rates.bytes, interval)
    if len(baseline):
        before = _Level.of(delivered, baseline, rates.role, options)
        usual = before.value - _common(before.value - now.value, rates, where, options)
    else:
        before = _of_peers(now, rates, where.across, volume, options)
        usual = before.value if host else before.value - _elsewhere(before.value - now.value, rates, options)
    shift = usual - now.value
    now_bps, normal_bps = np.exp(now.value), np.exp(usual)
    with np.errstate(divide="ignore", invalid="ignore"):
        busy = volume * 8e9 / np.sqrt(now_bps * normal_bps)
        victim = np.minimum(np.where(busy > 0, options.victim_share * longer_ns / busy, 0.0), options.victim_most)
        lost = np.nan_to_num(np.maximum(volume * 8e9 / now_bps - volume * 8e9 / normal_bps, 0.0))
    error = np.sqrt(now.variance + before.variance + options.floor_ratio**2 + victim**2)
    slow = shift > options.slow_sigmas * error
    return Elements(
        src=rates.src,
        dst=rates.dst,
        role=rates.role,
        shift=shift,
        behind=_waits_behind(rates, shift, error, (interval, baseline), options),
        error=error,
        scatter=np.sqrt(now.variance),
        now_bps=now_bps,
        normal_bps=normal_bps,
        lost_ns=lost,
        slow=slow,
        intact=_intact(rates, interval, np.where(slow, lost, 0.0), options),
    )


def _telling(rates: Rates, options: ModelOptions) -> Bool:
    """(s,) streams of which rates tell of links: latency sets the rate of a few bytes, as of a barrier's."""
    best = np.where(np.isfinite(rates.delivered_bps), rates.delivered_bps, 0).max(axis=1, initial=0)
    tells = best >= options.telling_ratio * best.max(initial=0)
    volume = rates.bytes.sum(axis=1)
    tells |= volume >= options.telling_volume * np.median(volume[tells]) if tells.any() else tells
    return np.asarray(tells)


def _of_peers(now: _Level, rates: Rates, across: Bool, volume: Float, options: ModelOptions) -> _Level:
    """The median of each one's peers, with their spread, which is never less than what paths may differ by.

    Peers are the streams of its role, size and crossing of switches, or where those are too few, of any size. Streams
    of one role between the same two run side by side, and have their link's rate divided by their number: peers have as
    many.
    """
    ends = np.unique(np.stack([rates.src, rates.dst, rates.role]), axis=1, return_inverse=True)[1].ravel()
    beside, crosses = np.bincount(ends)[ends], across.astype(np.int64)
    size = np.round(5 * np.log(np.maximum(volume, 1.0))).astype(np.int64)
    value, variance = np.full(len(size), np.nan), np.zeros(len(size))
    for alike in (np.zeros_like(size), size):
        kind = np.unique(np.stack([rates.role, crosses, beside, alike]), axis=1, return_inverse=True)[1].ravel()
        middle = medians_of_own_group(now.value, kind)
        spread = MAD_TO_SIGMA * medians_of_own_group(np.abs(now.value - middle), kind)
        enough = np.bincount(kind[np.isfinite(now.value)], minlength=len(kind))[kind] >= options.fewest_peers
        value = np.where(enough, middle, value)
        variance = np.where(enough, spread**2, variance)
    return _Level(value, variance + options.peer_floor_ratio**2)


def _common(shift: Float, rates: Rates, where: SwitchPairs, options: ModelOptions) -> Float:
    """(s,) by how much the lesser half of a role's streams became slower: that is no link's, if there are enough.

    Where more than half of them begin or end at one endpoint, its own link may be the cause. Then only the streams of
    other endpoints count; without any, nothing is common. Nor is it where all of them run between the same two
    switches: a cable of these may be the cause.
    """
    found = np.zeros(len(shift))
    for value in np.unique(rates.role):
        own = np.flatnonzero((rates.role == value) & np.isfinite(shift))
        if len(own) < options.fewest_peers or where.same_cables(own):
            continue
        endpoints, streams = np.unique(np.concatenate([rates.src[own], rates.dst[own]]), return_counts=True)
        most = endpoints[2 * streams > len(own)]
        levels = [lesser_half(shift[own[(rates.src[own] != e) & (rates.dst[own] != e)]]) for e in most]
        found[rates.role == value] = max(min([lesser_half(shift[own]), *levels]), 0.0)
    return found


def _elsewhere(shift: Float, rates: Rates, options: ModelOptions) -> Float:
    """(s,) by how much the slowest stream between two others is slower than its peers, of slow streams.

    Where nobody says who is behind which switch, a longer path looks like a slow link. Of many slow streams some lie
    between two others for certain: only the slowest are looked at.
    """
    slow = np.flatnonzero(np.nan_to_num(shift) > 0)
    slow = slow[np.argsort(-shift[slow], kind="stable")]
    found = np.where(np.nan_to_num(shift) > 0, shift, 0.0)
    for n in slow[: options.slowest].tolist():
        ends = (rates.src[n], rates.dst[n])
        apart = np.flatnonzero(~np.isin(rates.src[slow], ends) & ~np.isin(rates.dst[slow], ends))
        found[n] = min(shift[slow[apart[0]]], shift[n]) if len(apart) else 0.0
    return found


def _waits_behind(rates: Rates, shift: Float, error: Float, compared: tuple[Int, Int], options: ModelOptions) -> Bool:
    """(s,) slow streams whose bytes leave as fast as ever, and arrive late: what is slow lies behind their sender.

    That they leave slowly says nothing: whoever is held up further on is told so, and paces itself.
    """
    interval, baseline = compared
    levels = (_Level.of(rates.sent_bps, iterations, rates.role, options).value for iterations in (baseline, interval))
    before, now = levels
    return np.asarray((shift > options.slow_sigmas * error) & (before - now < shift / 2))


def _intact(rates: Rates, interval: Int, lost_ns: Float, options: ModelOptions) -> Bool:
    """(s,) streams that lose far fewer packets than slow ones do, where loss explains why these are slow.

    Only streams that sent enough packets to show it. A bad cable or port loses the same share of whatever passes it.
    Who waits for those packets is slow without any.
    """
    packets, again = rates.packets[:, interval].sum(axis=1), rates.retransmitted[:, interval].sum(axis=1)
    share = again / np.maximum(packets, 1.0)
    lossy = (share >= options.lossy_ratio) & (lost_ns > 0)
    if lost_ns[lossy].sum() <= (1 - options.least_share) * lost_ns.sum():
        return np.zeros(len(share), np.bool_)
    usual = float(np.median(share[lossy]))
    return np.asarray((packets * usual >= options.fewest_lost) & (options.notice_ratio * share <= usual))
