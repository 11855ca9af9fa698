"""A slow link + paths -> the cables that it can be, where the streams that slowed down were seen on their way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.reconstructed.paths import Paths
from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.links.candidate_routes import Routes, routes, steady
from diagnose.links.slow_links import Cable, LinkSuspect, SlowLink, renormalized
from diagnose.measures.stream_rates import Rates
from reconstruct.numeric.medians import median_over

# A link is suspect when slow streams that hold this share of the lost time can have passed it.
HOLDS = 0.75
# A stream that carries this share of a slow one's bytes through the same port at a normal rate clears the port.
CLEARS_SHARE = 0.25
# Links that explain as much of the lost time but for this share are suspects alike.
AS_MUCH = 0.05


def narrow_to_uplinks(
    link: SlowLink,
    rates: Rates,
    period: Int,
    window_ns: tuple[int, int],
    fabric: EndpointLocations,
    paths: Paths | None,
) -> SlowLink:
    """The slow link with the cables, and endpoints' own links, that all slow streams and no quick one passed.

    1. A link stays suspect while slow streams that hold nearly all of the lost time can have passed it.
    2. A direction of it is clear where a stream of usual pace passed it that is faster than all slow ones that can have
       passed there are together: what is slow lets nothing through that fast. Buffers let little things through at any
       rate; so it carries a share of what those do, or as much as the smallest stream that did become slow.
    3. An endpoint that is named passes its own port for certain, and stays named unless that is clear; others that
       explain as much stay while theirs is not.

    Where sightings leave nothing, or nothing less, or packets are spread over cables, the link stays as it was.

    Args:
        link: what was concluded from rates.
        rates: of the streams that `link` speaks of.
        period: iterations that are slow.
        window_ns: their time; sightings of other times do not count.
        fabric: where endpoints are plugged in.
        paths: where the streams were seen; None where no feed tells.
    """
    if paths is None or not _open(link, fabric) or not steady(paths):
        return link
    ends = [
        (fabric.switch.get(s), fabric.switch.get(d))
        for s, d in zip(rates.src.tolist(), rates.dst.tolist(), strict=True)
    ]
    through = routes(paths, window_ns, rates.streams, ends, link.slow)
    volume = median_over(rates.bytes, period)
    own = {e: _explained(link, volume, *_port(rates, e)) for e in _endpoints(link)}
    cables = _cables(link, volume, through)
    if link.endpoint is not None and max(own.values()) >= HOLDS:
        passed = {end for n in cables if cables[n] >= HOLDS for end in (paths.cables[n].a, paths.cables[n].b)}
        kept = [s for s in link.suspects if (s.switch in passed if s.endpoint is None else own[s.endpoint] >= HOLDS)]
        return replace(link, suspects=renormalized(kept)) if kept[0].endpoint == link.endpoint else link
    enough = max([HOLDS, *(share - AS_MUCH for share in [*own.values(), *cables.values()])])
    left = sorted((n for n in cables if cables[n] >= enough), key=lambda n: -cables[n])
    rivals = tuple(e for e in own if own[e] >= enough)
    if not left or (link.endpoint is None and len(left) + len(rivals) >= _suspects(link, fabric)):
        return link
    found = tuple(_cable(link, through, paths, n) for n in left)
    switch = _switch(link, found, set(fabric.switch.values()))
    each = 1 / (len(found) + len(rivals))
    suspects = LinkSuspect(None, switch, each * len(found)), *(LinkSuspect(e, None, each) for e in rivals)
    return replace(link, suspects=suspects, direction=None, cables=found)


def _switch(link: SlowLink, cables: tuple[Cable, ...], with_endpoints: set[str]) -> str | None:
    """The switch suspected already, if a cable is one of its own; else the first end of them with endpoints."""
    ends = [end for cable in cables for end in (cable.link.a, cable.link.b)]
    return link.switch if link.switch in ends else next((end for end in ends if end in with_endpoints), link.switch)


def _open(link: SlowLink, fabric: EndpointLocations) -> bool:
    """Whether several are suspects, or an endpoint, which may stand for the cable that it alone uses."""
    return link.endpoint is not None or (link.switch is not None and _suspects(link, fabric) > 1)


def _suspects(link: SlowLink, fabric: EndpointLocations) -> int:
    """How many links are suspects of a slow uplink."""
    return sum(len(fabric.uplinks(name)) for name in (link.switch or "", *link.among)) + len(link.rivals)


def _endpoints(link: SlowLink) -> tuple[int, ...]:
    return link.rivals if link.endpoint is None else (link.endpoint, *link.rivals)


def _port(rates: Rates, endpoint: int) -> tuple[Bool, Bool]:
    """(s, 2) streams that pass an endpoint's port, sending and receiving; what may pass it does."""
    passes = np.stack([rates.src == endpoint, rates.dst == endpoint], axis=1)
    return passes, passes


def _cables(link: SlowLink, volume: Float, through: Routes) -> dict[int, float]:
    """Number of each cable that slow streams can have passed -> the share of the lost time that it explains."""
    passed = np.unique(np.flatnonzero(through.may[link.slow].any(axis=0)) // 2).tolist()
    return {
        n: _explained(link, volume, through.may[:, 2 * n : 2 * n + 2], through.must[:, 2 * n : 2 * n + 2])
        for n in passed
    }


def _cable(link: SlowLink, through: Routes, paths: Paths, number: int) -> Cable:
    ways = slice(2 * number, 2 * number + 2)
    streams = int((link.slow & through.must[:, ways].any(axis=1)).sum())
    return Cable(paths.cables[number], streams, int(through.sightings[ways].sum()))


def _explained(link: SlowLink, volume: Float, may: Bool, must: Bool) -> float:
    """Share of the lost time in slow streams that can have passed a link in a direction that is not clear.

    Args:
        link: the slow streams.
        volume: (s,) bytes an iteration.
        may: (s, 2) streams that can have passed it, in each direction.
        must: (s, 2) streams that have.
    """
    usual = np.isfinite(link.rate_bps) & ~link.slow
    explained = np.zeros(len(volume), np.bool_)
    for can, does in zip(may.T, must.T, strict=True):
        slow = link.slow & can
        if not slow.any():
            continue
        enough = volume >= min(CLEARS_SHARE * float(np.median(volume[slow])), float(volume[link.slow].min()))
        if not (usual & does & enough & (link.rate_bps > link.rate_bps[slow].sum())).any():
            explained |= slow
    return float(link.lost_ns[explained].sum() / link.lost_ns.sum())
