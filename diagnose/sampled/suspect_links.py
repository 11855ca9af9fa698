"""Slow rings -> the links that may be it, endpoints' own or cables between switches, and how likely each is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.findings import Subject
from diagnose.links.link_findings import own_link
from diagnose.sampled.message_delays import MessageDelays
from diagnose.sampled.ring_pace import MOST_EVIDENCE, RingPace, likely_by_stalls
from diagnose.sampled.sampled_job_view import IterationComparison, SampledView
from reconstruct.numeric.medians import MAD_TO_SIGMA

# Fewer have no usual lateness to be compared with; one that is later by fewer standard errors is as late as usual.
FEWEST, SURE = 3, 2.0
# A direction is told when it is as likely as this, both ways being the third.
TOLD = 0.8
# Rings that need less than so many times as long keep their usual pace.
CLEAR = 1.2
BOTH = "both"


@dataclass(frozen=True, slots=True)
class SuspectLinks:
    """Links that may be the slow one, the likeliest first.

    Attributes:
        links: each as the report names it; a switch stands for its cables to others where these are not known apart.
        probability: (n,) of each.
        own: (n,) which are an endpoint's own link.
        side: of the first: "tx", "rx", or None for both or unknown.
    """

    links: tuple[Subject, ...]
    probability: Float
    own: Bool
    side: str | None


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """One link that may be slow, in one direction or both.

    Attributes:
        link: as the report names it.
        own: whether it is an endpoint's own.
        side: "tx", "rx" or `BOTH`.
        concerned: (connections,) which of them pass it.
        endpoint: whose own it is; -1 for a cable.
    """

    link: Subject
    own: bool
    side: str
    concerned: Bool
    endpoint: int


def suspects(
    view: SampledView,
    rings: tuple[Sequence[RingPace], Sequence[RingPace]],
    between: MessageDelays,
    compared: IterationComparison,
) -> SuspectLinks | None:
    """Weigh the links that all slow rings pass against one another; None where no such link is known.

    1. A link may be slow as an endpoint sends, as it receives, or both; or between switches, where interface indices
       of the samples tell which cable a connection passes, or an inventory which switches. Several rings have no
       endpoint in common, so then it lies between switches. What stalls were measured (`likely_by_stalls`) is evidence.
    2. Until a ring begins its members work in pipelines that know nothing of one another: messages that pass the slow
       link are late already. How late, among those of the other links, is evidence of its own.
    3. A link that a ring of usual pace passes in the same direction is clear.

    Args:
        view: the job.
        rings: those that are slow, and all.
        between: messages between stages.
        compared: which iterations.
    """
    slow = rings[0]
    fine = [r.ring for r in rings[1] if r.ratio < CLEAR and not any(r is s for s in slow)]
    found = [*_endpoints(view, slow[0].ring)] if len(slow) == 1 else []
    found += [h for h in _cables(view) if all(h.concerned[r.ring].any() for r in slow)]
    found = [h for h in found if not any(h.concerned[ring].any() for ring in fine)]
    if not found:
        return None
    by_stalls = likely_by_stalls(view, slow, np.array([h.concerned for h in found]), compared.now)
    weight = by_stalls + _by_lateness(between, found)
    names = [(h.link.type, h.link.ids) for h in found]
    weight -= np.log([names.count(name) for name in names])
    odds = np.exp(weight - weight.max())
    odds /= odds.sum()
    links = list(dict.fromkeys(names))
    of = np.array([links.index(name) for name in names])
    total = np.bincount(of, odds).astype(np.float64)
    order = np.lexsort([np.arange(len(links)), -total])
    first = [found[names.index(links[n])] for n in order]
    sides = {h.side: float(odds[n]) for n, h in enumerate(found) if of[n] == order[0]}
    side = max(sides, key=lambda s: sides[s])
    told = side if sides[side] >= TOLD * total[order[0]] and side != BOTH else None
    return SuspectLinks(
        tuple(h.link for h in first), total[order], np.array([h.own for h in first]), told if first[0].own else None
    )


def _endpoints(view: SampledView, ring: Int) -> Iterator[_Hypothesis]:
    for e in np.unique(np.concatenate([view.src[ring], view.dst[ring]])).tolist():
        yield from _ways(own_link(view.job, e), view.src == e, view.dst == e, e)


def _cables(view: SampledView) -> Iterator[_Hypothesis]:
    """Cables that connections were seen to pass; of switches whose cables nobody saw, all together."""
    places = view.job.fabric.switch
    leaf, reach = (np.array([places.get(int(e), "") for e in ends]) for ends in (view.src, view.dst))
    for n, cable in enumerate(view.cables):
        link = Subject(type="link", ids=(cable.a, cable.b), a_port=cable.a_port, b_port=cable.b_port)
        out, into = view.over[:, n] & np.isin(leaf, link.ids), view.over[:, n] & np.isin(reach, link.ids)
        if view.over[:, n].any():
            yield from _ways(link, out, into)
    unseen = (leaf != "") & (reach != "") & (leaf != reach) & ~view.over.any(axis=1)
    for switch in sorted({*leaf[unseen].tolist(), *reach[unseen].tolist()}):
        link = Subject(type="switch", ids=(switch,))
        yield from _ways(link, unseen & (leaf == switch), unseen & (reach == switch))


def _ways(link: Subject, out: Bool, into: Bool, endpoint: int = -1) -> Iterator[_Hypothesis]:
    for side, concerned in (("tx", out), ("rx", into), (BOTH, out | into)):
        yield _Hypothesis(link, endpoint >= 0, side, concerned, endpoint)


def _passes(hypothesis: _Hypothesis, between: MessageDelays) -> Bool:
    """(messages,) which pass the link, in either direction: who is late both gets and sends late."""
    if hypothesis.own:
        return np.asarray((between.src == hypothesis.endpoint) | (between.dst == hypothesis.endpoint), np.bool_)
    return np.asarray(hypothesis.concerned[between.connection], np.bool_)


def _by_lateness(between: MessageDelays, found: Sequence[_Hypothesis]) -> Float:
    """(hypotheses,) logarithm of how much likelier each is for messages that are later than those of its like.

    Endpoints are compared with endpoints, cables with cables; what is not beyond chance says nothing.
    """
    weight = np.zeros(len(found))
    for own in (True, False):
        alike = [n for n, h in enumerate(found) if h.own == own]
        passes = [_passes(found[n], between) for n in alike]
        if len({tuple(p.tolist()) for p in passes if p.any()}) < FEWEST:
            continue
        late = np.array([np.median(between.later_ns[p]) if p.any() else np.nan for p in passes])
        error = np.array([np.median(between.error_ns[p]) if p.any() else np.nan for p in passes])
        usual = float(np.nanmedian(late))
        spread = MAD_TO_SIGMA * float(np.nanmedian(np.abs(late - usual)))
        beyond = np.nan_to_num((late - usual) / np.hypot(error, spread))
        weight[alike] = np.where(beyond >= SURE, np.minimum(beyond**2 / 2, MOST_EVIDENCE), 0.0)
    return weight
