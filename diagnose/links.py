"""Rates -> the link that slows a job: an endpoint's own link, or one between switches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from datamodel.fabric import Fabric
from datamodel.inventory import Link
from datamodel.streams import Bool, Float, Int
from diagnose.rates import Rates
from reconstruct.medians import median_over

# A stream is slow below this share of both its own rate at the job's best and the median of its peers ...
SLOW_SHARE = 0.6
# ... or, where the job was never better, below this share of its peers.
SLOW_AMONG_PEERS = 0.5
# A stream that was never as fast as this share of the fastest, and carries little: latency sets its rate, not a link.
TELLS_SHARE = 0.02
# A link is named when it carries this share of the time that slow streams lose.
HOLDS = 0.75
# A stream that carries this share of a slow one's bytes through the same port at a normal rate clears the port; and
# one that carries this share of what quick streams do is no message of a few bytes.
CLEARS_SHARE = 0.25
# Where messages leave so many times as fast as they arrive, latency sets their rate, or a queue further on.
AHEAD = 10.0
# Where it is rarer than this that a hash puts nothing but one endpoint's streams on a slow cable, its port is meant.
BY_CHANCE = 0.25


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable between switches that slow streams passed.

    Attributes:
        link: the cable.
        streams: slow streams that must have passed it.
        sightings: of slow streams, at its ends.
    """

    link: Link
    streams: int
    sightings: int


@dataclass(frozen=True, slots=True)
class SlowLink:
    """What slow streams have in common.

    Attributes:
        endpoint: whose own link it is; None for a link between switches.
        switch: the switch whose uplinks are suspected; None for an endpoint's own link, or where it is not known
            which switches the slow streams pass.
        direction: "tx", "rx" or None for both or unknown.
        rivals: other endpoints that explain the slow streams as well; beside a switch, those whose own link does.
        slow: (s,) which streams are slow.
        rate_bps, normal_bps: (s,) median rate in the period and what was to be expected.
        lost_ns: (s,) time an iteration loses in each stream.
        among: other switches that the slow streams pass nearly as much.
        notified: where congestion notifications decided between endpoints: a slow stream, how many it provokes an
            iteration, and how many usually (`diagnose.queues`).
        cables: the suspects between switches, where sightings leave fewer than the uplinks of `switch` and `among`.
    """

    endpoint: int | None
    switch: str | None
    direction: str | None
    rivals: tuple[int, ...]
    slow: Bool
    rate_bps: Float
    normal_bps: Float
    lost_ns: Float
    among: tuple[str, ...] = ()
    notified: tuple[int, float, float] | None = None
    cables: tuple[Cable, ...] = ()


def slow_link(rates: Rates, period: Int, baseline: Int, fabric: Fabric) -> SlowLink | None:
    """Name the link whose streams all move the same bytes in more time; None where no stream is slow.

    1. A stream is slow against itself at the job's best and against its peers of the same role.
    2. The endpoint that holds most of the lost time is named, if it holds nearly all; of two that hold as much, the one
       whose own direction is slow throughout. A sender's slow link paces its bytes already beside it; a receiver's, or
       one further on, lets them go fast and acknowledges late.
    3. All that an endpoint sends, or all that it gets, passes its own port. Where some of it, inside its switch, is as
       fast as ever, the port is clear, and what only the streams to other switches share is an uplink. Where nothing
       stays inside the switch, one slow direction leaves both: cables behind a switch carry the two directions of an
       endpoint on paths of their own. But each of its neighbours that is as fast as ever between switches in the same
       direction would have to take another of the cables: the more of them, the rarer. A single slow stream passes both
       its ends' ports for certain, and each of several uplinks only if the hash put it there.
    4. An endpoint that leaves slow streams unexplained is not meant where the uplinks of one switch explain all of
       them, however little those others carry.
    5. Else the switch whose streams to other switches hold nearly all of it: one of its uplinks. Without an inventory
       that is not known, and several streams that became slow only say that they share something; streams that always
       were slower than others may just run further; so may a single one, where one of other ends is about as slow.
    """
    rates = _telling(rates)
    where = Crossing(rates, fabric)
    now, normal = median_over(rates.delivered_bps, period), normal_bps(rates, period, baseline, where.across)
    slow = np.asarray(now < (SLOW_SHARE if len(baseline) else SLOW_AMONG_PEERS) * normal)
    if not len(baseline) and not fabric.switch:
        slow &= ~_as_slow_elsewhere(rates, period, now, slow)
    lost = np.where(slow, lost_ns(rates, period, now, normal), 0.0)
    if not slow.any() or lost.sum() <= 0:
        return None
    named = _endpoint(rates, slow, lost, period, baseline)
    whole = where.holds_all(slow)
    if named is not None and whole is not None and not (slow & ~where.touches(named[0])).any():
        whole = None
    if named is not None and whole is None:
        endpoint, direction, rivals = named
        volume = median_over(rates.bytes, period)
        switch = where.uplink_of(endpoint, direction, slow, now >= SLOW_SHARE * normal, volume)
        if switch is None or (rivals and not where.clears(endpoint, direction, slow, volume)):
            return SlowLink(endpoint, None, direction, rivals, slow, now, normal, lost)
        own = () if where.clears(endpoint, direction, slow, volume) else (endpoint,)
        return SlowLink(None, switch, direction, own, slow, now, normal, lost)
    shares = where.shares(lost)
    switch = whole or (shares[0][0] if shares and shares[0][1] >= HOLDS else None)
    unknown = not fabric.switch and len(baseline) > 0 and slow.sum() >= 2
    return SlowLink(None, switch, None, (), slow, now, normal, lost) if switch is not None or unknown else None


def lost_ns(rates: Rates, period: Int, now: Float, normal: Float) -> Float:
    """(s,) time an iteration loses in each stream because its bytes move at `now` instead of `normal`."""
    volume = median_over(rates.bytes, period)
    return np.nan_to_num(np.maximum(volume * 8e9 / np.maximum(now, 1) - volume * 8e9 / np.maximum(normal, 1), 0.0))


def _telling(rates: Rates) -> Rates:
    """Rates without those of streams that say nothing of links: acknowledgements, readiness, a barrier's few bytes.

    Latency sets the rate of a few bytes. What carries about as much as quick streams do is slow for another reason.
    """
    best = np.where(np.isfinite(rates.delivered_bps), rates.delivered_bps, 0).max(axis=1, initial=0)
    tells = best >= TELLS_SHARE * best.max(initial=0)
    volume = rates.bytes.sum(axis=1)
    tells |= volume >= CLEARS_SHARE * np.median(volume[tells]) if tells.any() else tells
    return replace(rates, delivered_bps=np.where(tells[:, None], rates.delivered_bps, np.nan))


def normal_bps(rates: Rates, period: Int, baseline: Int, across: Bool | None = None) -> Float:
    """What each stream's rate should be: the lesser of its own at the job's best and its peers' in the same period.

    Paths differ, and a median of several kinds of them is the rate of none. So peers count by their rates, and by what
    became of these: where most of them fell, its own at the job's best is expected to have fallen as far.

    Without its own to compare with, of streams whose messages are short beside the latency those peers tell that cross
    switches as they do, if there are three: over a longer path they go at a lower rate.
    """
    now = median_over(rates.delivered_bps, period)
    if len(baseline):
        best = median_over(rates.delivered_bps, baseline)
        with np.errstate(divide="ignore", invalid="ignore"):
            fallen = np.fmin(_of_peers(now / best, rates.role), 1.0)
        return np.fmin(_of_peers(now, rates.role), best * np.where(np.isfinite(fallen), fallen, 1.0))
    peers = _of_peers(now, rates.role)
    if across is None:
        return peers
    waits = _waits(rates, period, now)
    alike = _of_peers(now, 2 * rates.role + across)
    return np.where(waits, np.fmin(alike, peers), peers)


def _waits(rates: Rates, period: Int, now: Float) -> Bool:
    """(s,) whether messages leave much faster than they arrive: latency sets their rate, or a queue further on."""
    return np.asarray(median_over(rates.sent_bps, period) >= AHEAD * now)


def _as_slow_elsewhere(rates: Rates, period: Int, now: Float, slow: Bool) -> Bool:
    """(s,) slow streams whose latency may be that of their path: one that shares no end with them is about as slow.

    Where it is not known who is behind which switch, a longer path looks like a slow receiver.
    """
    found = slow & _waits(rates, period, now)
    for n in np.flatnonzero(found).tolist():
        ends = [rates.src[n], rates.dst[n]]
        apart = (rates.role == rates.role[n]) & ~np.isin(rates.src, ends) & ~np.isin(rates.dst, ends)
        found[n] = (now[n] >= SLOW_SHARE * now[apart & np.isfinite(now)]).any()
    return found


def _of_peers(now: Float, kind: Int) -> Float:
    """Median rate of the streams of each one's kind; nan where there are fewer than three."""
    peers = np.full(len(now), np.nan)
    for value in np.unique(kind):
        same = (kind == value) & np.isfinite(now)
        peers[same] = np.nanmedian(now[same]) if same.sum() >= 3 else np.nan
    return peers


class Crossing:
    """Which switches each stream runs between."""

    def __init__(self, rates: Rates, fabric: Fabric) -> None:
        """Look up both ends of every stream."""
        self.rates, self.fabric = rates, fabric
        self.names = sorted(set(fabric.switch.values()))
        number = {name: n for n, name in enumerate(self.names)}
        codes = np.full(len(fabric.addresses) + 1, -1, np.int64)
        for endpoint, name in fabric.switch.items():
            codes[endpoint] = number[name]
        self.leaves, self.reaches = codes[rates.src], codes[rates.dst]
        self.known = (self.leaves >= 0) & (self.reaches >= 0)
        self.across = self.known & (self.leaves != self.reaches)

    def shares(self, lost: Float) -> list[tuple[str, float]]:
        """Switches by their share of the lost time, of streams to or from other switches; the largest first."""
        total = max(float(lost.sum()), 1.0)
        held = np.zeros(len(self.names))
        for ends in (self.leaves, self.reaches):
            held += np.bincount(ends[self.across], lost[self.across], len(self.names)) / total
        return [(self.names[n], float(held[n])) for n in np.argsort(-held, kind="stable") if held[n] > 0]

    def touches(self, endpoint: int) -> Bool:
        """(s,) streams that an endpoint sends or gets."""
        return np.asarray((self.rates.src == endpoint) | (self.rates.dst == endpoint))

    def holds_all(self, slow: Bool) -> str | None:
        """The only switch between which and others all of several slow streams run; None where there is none."""
        if not self.across[slow].all() or slow.sum() < 2:
            return None
        both = [n for n in range(len(self.names)) if ((self.leaves == n) | (self.reaches == n))[slow].all()]
        return self.names[both[0]] if len(both) == 1 else None

    def _through(self, endpoint: int, direction: str | None) -> Bool:
        """(s,) streams that pass an endpoint's port in the slow direction, or in both."""
        out, into = self.rates.src == endpoint, self.rates.dst == endpoint
        return np.asarray({"tx": out, "rx": into}.get(direction or "", out | into))

    def clears(self, endpoint: int, direction: str | None, slow: Bool, volume: Float) -> bool:
        """Whether some stream that stays inside the endpoint's switch passes its port at a normal rate."""
        own = self._through(endpoint, direction)
        enough = volume >= CLEARS_SHARE * float(np.median(volume[slow & own])) if (slow & own).any() else own
        busy = np.isfinite(self.rates.delivered_bps).any(axis=1)
        return bool((own & enough & busy & ~slow & self.known & ~self.across).any())

    def uplink_of(self, endpoint: int, direction: str | None, slow: Bool, fine: Bool, volume: Float) -> str | None:
        """The endpoint's switch, where an uplink of it explains its slow streams at least as well as its own port."""
        switch = self.fabric.switch.get(endpoint)
        own = slow & self._through(endpoint, direction)
        if switch is None or not own.any() or not self.across[slow].all() or len(self.fabric.uplinks(switch)) == 0:
            return None
        if self.clears(endpoint, direction, ~fine, volume):
            return switch
        inside = (self._through(endpoint, direction) & self.known & ~self.across).any()
        other = {"tx": "rx", "rx": "tx"}.get(direction or "")
        if inside or other is None or not (self._through(endpoint, other) & self.across & fine).any():
            return None
        telling = fine & (volume >= CLEARS_SHARE * float(np.median(volume[own])))
        return switch if self._missed_by_chance(endpoint, other, telling) > BY_CHANCE else None

    def _missed_by_chance(self, endpoint: int, healthy: str, fine: Bool) -> float:
        """Chance that a slow cable of the endpoint's switch carries none of the neighbours that stayed fast.

        Each neighbour takes one of the cables, as routing by destination has it; where every stream takes one of its
        own it is rarer still. 0 where the switch has one cable, for that all would pass.
        """
        ends, switches = (self.rates.dst, self.reaches) if healthy == "tx" else (self.rates.src, self.leaves)
        behind = self.across & fine & (switches == switches[ends == endpoint][0])
        neighbours = len(np.setdiff1d(ends[behind], [endpoint]))
        return float((1 - 1 / len(self.fabric.uplinks(self.fabric.switch[endpoint]))) ** neighbours)


def _endpoint(
    rates: Rates, slow: Bool, lost: Float, period: Int, baseline: Int
) -> tuple[int, str | None, tuple[int, ...]] | None:
    size = int(max(rates.src.max(), rates.dst.max())) + 1
    inner = rates.src == rates.dst
    held = np.bincount(rates.src, lost, size) + np.bincount(rates.dst, np.where(inner, 0.0, lost), size)
    share = held / lost.sum()
    holding = np.flatnonzero(share >= HOLDS).tolist()
    if not holding:
        return None
    paced = _paced_by_sender(rates, slow, period, baseline)
    score = {e: _purity(rates, slow, e) + 0.5 * _side(rates, slow, paced, e) for e in holding}
    best = max(holding, key=lambda e: (round(share[e], 2), score[e], -e))
    rivals = tuple(
        e for e in holding if e != best and share[e] >= share[best] - 0.05 and abs(score[e] - score[best]) < 0.25
    )
    return best, direction_of(rates, slow, best), rivals


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
    sent, delivered = median_over(rates.sent_bps[slow], period), median_over(rates.delivered_bps[slow], period)
    if not np.isfinite(sent).any() or np.allclose(sent, delivered, rtol=0.02, equal_nan=True):
        return None
    before = median_over(rates.sent_bps[slow], baseline) if len(baseline) else np.nanmedian(rates.sent_bps)
    return bool(np.nanmedian(sent / before) < SLOW_SHARE)


def direction_of(rates: Rates, slow: Bool, endpoint: int) -> str | None:
    """The direction of an endpoint in which half of its streams or more are slow; None where both are, or neither."""
    out, into = rates.src == endpoint, rates.dst == endpoint
    leaves = bool(slow[out].mean() >= 0.5) if out.any() else False
    reaches = bool(slow[into].mean() >= 0.5) if into.any() else False
    return {(True, False): "tx", (False, True): "rx"}.get((leaves, reaches))
