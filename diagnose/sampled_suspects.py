"""Slow rings -> the links that may be it, endpoints' own or cables between switches, and how likely each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.findings import Subject
from datamodel.streams import Bool, Float
from diagnose.link_findings import own_link
from diagnose.sampled_passages import Passages
from diagnose.sampled_rings import MOST_EVIDENCE, Paced, likely_by_stalls
from diagnose.sampled_view import Compared, SampledView
from reconstruct.sampled.folded import MEDIAN_TO_SD

# Fewer have no usual lateness to be compared with.
FEWEST = 3

# A direction is told when it is as likely as this, both ways being the third.
TOLD = 0.8


@dataclass(frozen=True, slots=True)
class Suspected:
    """Links that may be the slow one, the likeliest first.

    Attributes:
        links: each as the report names it.
        probability: (n,) of each.
        side: of the first, an endpoint's own link: "tx", "rx", or None for both or unknown.
    """

    links: tuple[Subject, ...]
    probability: Float
    side: str | None = None


def endpoints_of(view: SampledView, slow: Paced, between: Passages, compared: Compared) -> Suspected:
    """Weigh the members of one slow ring against one another.

    1. Each endpoint's link may be slow as it sends, as it receives, or both (`likely_by_stalls`).
    2. Until the ring begins its members work in pipelines that know nothing of one another: the one with the slow link
       is late with its messages already. How late, among the others, is evidence of its own.
    """
    ends = np.unique(np.concatenate([view.src[slow.ring], view.dst[slow.ring]]))
    out, into = (ends[:, None] == side[None, :] for side in (view.src, view.dst))
    concerned = np.concatenate([out, into, out | into])
    by_stalls = likely_by_stalls(view, [slow], concerned, compared.now).reshape(3, len(ends))
    passes = (between.src[None, :] == ends[:, None]) | (between.dst[None, :] == ends[:, None])
    odds = _odds(by_stalls + _by_lateness(between, passes))
    order = np.lexsort([ends, -odds.sum(axis=0)])
    sides = odds[:, order[0]] / odds[:, order[0]].sum()
    side = {0: "tx", 1: "rx"}.get(int(np.argmax(sides))) if sides.max() >= TOLD else None
    links = tuple(own_link(view.job, int(e)) for e in ends[order])
    return Suspected(links, odds.sum(axis=0)[order], side)


def cables_of(view: SampledView, slow: Sequence[Paced], between: Passages, compared: Compared) -> Suspected | None:
    """Weigh the cables between switches that all of several slow rings pass; None where none is known.

    Rings share no endpoint's link, so what slows several at once lies between switches. What passes a cable was read
    from interface indices in the samples.
    """
    shared = [n for n in range(len(view.cables)) if all(view.over[r.ring, n].any() for r in slow)]
    if not shared:
        return None
    by_stalls = likely_by_stalls(view, slow, view.over[:, shared].T, compared.now)
    passes = view.over[:, shared].T[:, between.connection]
    odds = _odds(by_stalls + _by_lateness(between, passes))
    order = np.lexsort([np.arange(len(shared)), -odds])
    cables = [view.cables[shared[n]] for n in order]
    links = tuple(Subject(type="link", ids=(c.a, c.b), a_port=c.a_port, b_port=c.b_port) for c in cables)
    return Suspected(links, odds[order])


def _odds(weight: Float) -> Float:
    odds = np.exp(weight - weight.max())
    return np.asarray(odds / odds.sum(), np.float64)


def _by_lateness(between: Passages, passes: Bool) -> Float:
    """(hypotheses,) logarithm of how much likelier each is for messages that are later than those of the others.

    Args:
        between: messages between stages.
        passes: (hypotheses, messages) which of them pass the link in question.
    """
    late, error = (np.full(len(passes), np.nan) for _ in range(2))
    for n, own in enumerate(passes):
        if own.any():
            late[n], error[n] = np.median(between.later_ns[own]), np.median(between.error_ns[own])
    if np.isfinite(late).sum() < FEWEST:
        return np.zeros(len(passes))
    usual = float(np.nanmedian(late))
    spread = MEDIAN_TO_SD * float(np.nanmedian(np.abs(late - usual)))
    beyond = np.nan_to_num((late - usual) / np.hypot(error, spread))
    return np.asarray(np.minimum(np.maximum(beyond, 0.0) ** 2 / 2, MOST_EVIDENCE), np.float64)
