"""Rates -> the links that slow a job: of all hypotheses of the model the likely ones, as one value a fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.measures.congestion_notifications import CongestionNotifications, Notified, notified
from diagnose.measures.stream_rates import Rates
from diagnose.measures.switch_pairs import SwitchPairs
from diagnose.model.compared_iterations import ComparedIterations
from diagnose.model.elements import Elements, elements
from diagnose.model.links import LinkHypothesis, Side, link_hypotheses, suspects
from diagnose.options import MODEL, ModelOptions


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


class StreamLosses(NamedTuple):
    """What streams lose in an interval, and which switches they run between."""

    elements: Elements
    where: SwitchPairs


def stream_losses(
    rates: Rates, compared: ComparedIterations, fabric: EndpointLocations, options: ModelOptions = MODEL
) -> StreamLosses:
    """Compare all streams in an interval."""
    where = SwitchPairs(rates, fabric)
    iterations = compared.interval, compared.baseline, compared.longer_ns
    return StreamLosses(elements(rates, *iterations, where, fabric.host, options), where)


class LinkSuspect(NamedTuple):
    """One link that may be meant: an endpoint's own, or a cable of a switch; a switch of None is not known."""

    endpoint: int | None
    switch: str | None
    probability: float


def renormalized(suspects: list[LinkSuspect]) -> tuple[LinkSuspect, ...]:
    """Suspects of which the others were ruled out."""
    whole = sum(s.probability for s in suspects)
    return tuple(s._replace(probability=s.probability / whole) for s in suspects)


@dataclass(frozen=True, slots=True)
class SlowLink:
    """What slow streams have in common.

    Attributes:
        suspects: which links it may be, the likeliest first.
        direction: "tx", "rx" or None for both or unknown.
        slow: (s,) which streams are slow.
        rate_bps, normal_bps: (s,) median rate in the interval and what was to be expected.
        lost_ns: (s,) time an iteration loses in each slow stream.
        notified: where congestion notifications decided between endpoints.
        cables: the suspects between switches, where sightings leave fewer than the uplinks of switches.
    """

    suspects: tuple[LinkSuspect, ...]
    direction: Side | None
    slow: Bool
    rate_bps: Float
    normal_bps: Float
    lost_ns: Float
    notified: Notified | None = None
    cables: tuple[Cable, ...] = ()

    @property
    def endpoint(self) -> int | None:
        """Whose own link is the likeliest; None where that is one between switches."""
        return self.suspects[0].endpoint

    @property
    def switch(self) -> str | None:
        """The likeliest switch whose uplinks are suspected; None for an endpoint's own link, or an unknown switch."""
        return self.suspects[0].switch

    @property
    def rivals(self) -> tuple[int, ...]:
        """Other endpoints whose own link it may be."""
        return tuple(s.endpoint for s in self.suspects[1:] if s.endpoint is not None)

    @property
    def among(self) -> tuple[str, ...]:
        """Other switches whose uplinks it may be."""
        return tuple(s.switch for s in self.suspects[1:] if s.switch is not None)


def slow_links(
    rates: Rates,
    compared: ComparedIterations,
    lost: StreamLosses,
    fabric: EndpointLocations,
    notices: CongestionNotifications,
    edges_ns: Int,
    options: ModelOptions = MODEL,
    *,
    whole_bursts: bool = False,
) -> list[SlowLink]:
    """The links that explain why an interval is slow, one a fault, the surest first; none where nothing does.

    After the best hypothesis its streams are set aside and the rest is scored again: a further fault must explain what
    is left by itself. Without an inventory one link that several streams share, nobody knows where, may be likelier
    than all of these. Where rates are those of `whole_bursts`, the slowest stream of a collective holds up the others
    within them: what they lose is its fault.
    """
    losses, where = lost
    if whole_bursts:
        losses = _without_held_up(losses, options)
    votes, counts = notified(rates, notices, edges_ns, compared.interval, compared.baseline, losses.slow, options)
    everything = link_hypotheses(losses, where, votes, compared.least_lost_ns, options)
    found, score = _one_by_one(everything, losses, where, votes, counts, compared, options)
    if fabric.switch or not len(compared.baseline):
        return found
    shared = [h for h in everything if not h.named and h.likelihood > options.sure_scattered and h.shows.sum() >= 2]
    return [_slow_link(losses, [(shared[0], 1.0)], counts)] if shared and shared[0].score > score else found


def _one_by_one(
    ordered: Sequence[LinkHypothesis],
    losses: Elements,
    where: SwitchPairs,
    votes: Float,
    counts: Notified | None,
    compared: ComparedIterations,
    options: ModelOptions,
) -> tuple[list[SlowLink], float]:
    """The links with a place to go to, and the sum of their scores; several at once are so much less likely.

    `ordered` are the hypotheses on all losses, the best first.
    """
    found: list[SlowLink] = []
    score, sure = 0.0, compared.sure
    while True:
        ordered = [h for h in ordered if h.likelihood > sure]
        if not any(h.named for h in ordered):
            return found, score
        near = suspects(ordered, losses.lost_ns, options)
        best = near[0][0]
        shared = [n for n, link in enumerate(found) if link.endpoint is None]
        if best.endpoint is None and shared:
            found[shared[0]] = _joined(found[shared[0]], losses, best)
        else:
            found.append(_slow_link(losses, near, counts))
        losses = _without(losses, best.own)
        ordered = link_hypotheses(losses, where, votes, compared.least_lost_ns, options)
        score += best.score - (float(np.log(options.rival_odds)) if len(found) > 1 else 0.0)
        sure = max(compared.sure, options.sure_among_peers)


def slowest_loss_ns(losses: Elements) -> float:
    """What an iteration loses in the stream that loses most, or in slow ones of one endpoint, role after role.

    Whether or not a link explains it. Streams of one role wait for each other at the same time; a stage sends its
    activations before its gradients, so what both lose adds up.
    """
    most = losses.lost_ns.max(initial=0.0)
    slow = np.flatnonzero(losses.slow)
    for side in (losses.src[slow], losses.dst[slow]):
        (endpoint, _), row = np.unique(np.stack([side, losses.role[slow]]), axis=1, return_inverse=True)
        of_role_ns = np.zeros(len(endpoint))
        np.maximum.at(of_role_ns, row.ravel(), losses.lost_ns[slow])
        most = max(most, np.bincount(endpoint, of_role_ns).max(initial=0.0))
    return float(most)


def _slow_link(losses: Elements, near: list[tuple[LinkHypothesis, float]], counts: Notified | None) -> SlowLink:
    best = near[0][0]
    likely = tuple(LinkSuspect(h.endpoint, h.switch, share) for h, share in near)
    lost = np.where(best.shows, losses.lost_ns, 0.0)
    link = SlowLink(likely, best.direction, best.shows, losses.now_bps, losses.normal_bps, lost)
    return replace(link, notified=counts) if counts is not None and best.shows[counts.stream] else link


def _joined(link: SlowLink, losses: Elements, further: LinkHypothesis) -> SlowLink:
    """Slow cables of several switches as one fault: what fills one of them fills others."""
    each = 1 / (1 + len(link.among) + 1)
    switches = (link.switch, *link.among, *(() if further.switch in link.among else (further.switch,)))
    return replace(
        link,
        suspects=tuple(LinkSuspect(None, name, each) for name in switches),
        slow=link.slow | further.shows,
        lost_ns=np.where(further.shows, losses.lost_ns, link.lost_ns),
    )


def _without_held_up(losses: Elements, options: ModelOptions) -> Elements:
    """The elements without streams of a collective that are faster than its slowest: they pass on what it brings.

    Streams of a pipeline do not: each activation is a burst of its own.
    """
    size = int(max(losses.src.max(), losses.dst.max())) + 1
    src, dst = losses.src + losses.role * size, losses.dst + losses.role * size
    nodes = size * (int(losses.role.max()) + 1)
    graph = coo_array((np.ones(len(src)), (src, dst)), shape=(nodes, nodes))
    collective = connected_components(graph, directed=False)[1][src]
    own = np.flatnonzero(losses.slow & (losses.role != ROLES.index("pp")))
    own = own[np.lexsort([losses.now_bps[own], collective[own]])]
    _, first, of = np.unique(collective[own], return_index=True, return_inverse=True)
    slowest = own[first][of]
    faster = np.log(losses.now_bps[own] / losses.now_bps[slowest])
    chance = options.slow_sigmas * np.hypot(losses.scatter[own], losses.scatter[slowest])
    held_up = np.zeros(len(losses.src), np.bool_)
    held_up[own] = faster > np.maximum(chance, options.alike_ratio)
    return _without(losses, held_up)


def _without(losses: Elements, streams: Bool) -> Elements:
    """The elements without those of some streams."""
    return replace(
        losses,
        shift=np.where(streams, np.nan, losses.shift),
        behind=losses.behind & ~streams,
        slow=losses.slow & ~streams,
        lost_ns=np.where(streams, 0.0, losses.lost_ns),
    )
