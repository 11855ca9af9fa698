"""Hypotheses of slow links, scored: a NIC sends slowly, gets slowly, or both; a cable of a switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.measures.switch_pairs import SwitchPairs
from diagnose.model.elements import Elements
from diagnose.model.likelihood import gains
from diagnose.options import ModelOptions
from reconstruct.numeric.row_runs import run_starts

Side = Literal["tx", "rx"]


class LinkHypothesis(NamedTuple):
    """One link that may be slow.

    Attributes:
        endpoint: whose NIC it is; None for a cable.
        switch: whose cable it is; None for a NIC, or where switches are not known.
        direction: "tx", "rx" or None for both.
        likelihood: tempered logarithm of how much better it explains all streams than nothing does.
        score: that, less what it costs to assume it, with what notifications say.
        lost_ns: what an iteration lost in its own streams.
        own: (s,) its streams.
        shows: (s,) which of them show it.
    """

    endpoint: int | None
    switch: str | None
    direction: Side | None
    likelihood: float
    score: float
    lost_ns: float
    own: Bool
    shows: Bool

    @property
    def named(self) -> bool:
        """Whether it is known where it is."""
        return self.endpoint is not None or self.switch is not None


def link_hypotheses(
    found: Elements, where: SwitchPairs, votes: Float, least_lost_ns: float, options: ModelOptions
) -> list[LinkHypothesis]:
    """All links whose own streams lost enough, the most likely first.

    Args:
        found: elements of all streams.
        where: which switches they run between.
        votes: (s,) of notifications that a stream waits behind its sender's port; negative: before it.
        least_lost_ns: what an iteration must have lost in a link's streams.
        options: of the model.
    """
    links = len(np.unique(np.concatenate([found.src, found.dst]))) + where.cables(options.unknown_cables)
    each = [*_nics(found, votes, least_lost_ns, options), *_cables(found, where, votes, options)]
    each = [h._replace(score=h.score - float(np.log(links))) for h in each]
    return sorted((h for h in each if h.lost_ns >= least_lost_ns and h.likelihood > 0), key=lambda h: -h.score)


def suspects(
    ordered: Sequence[LinkHypothesis], lost_ns: Float, options: ModelOptions
) -> list[tuple[LinkHypothesis, float]]:
    """The best hypothesis of each NIC and of each switch that is likely beside the best of all, and its probability.

    Those of the likelier kind come first, NICs or cables; what is as likely to a tenth of its logarithm, by name. What
    explains other streams than the best is no rival: it may be a fault beside it. A link of which nobody knows where it
    is has its share of the probability, and is no suspect.
    """
    first = next(h for h in ordered if h.named)
    enough_ns = options.rival_share * lost_ns[first.shows].sum()
    least = first.score - np.log(options.rival_odds)
    near = [h for h in ordered if h.score > least and lost_ns[h.shows & first.shows].sum() >= enough_ns]
    weight = np.exp([h.score - first.score for h in near])
    best: dict[tuple[int | None, str | None], tuple[LinkHypothesis, float]] = {}
    for hypothesis, share in zip(near, (weight / weight.sum()).tolist(), strict=True):
        name = hypothesis.endpoint, hypothesis.switch
        likeliest, so_far = best.get(name, (hypothesis, 0.0))
        if hypothesis.named:
            best[name] = likeliest, so_far + share
    nics = sum(share for h, share in best.values() if h.endpoint is not None)

    def order(suspect: tuple[LinkHypothesis, float]) -> tuple[bool, float, int, str]:
        hypothesis, share = suspect
        likelier = (hypothesis.endpoint is not None) == (nics >= 0.5)
        return not likelier, -round(np.log(share), 1), hypothesis.endpoint or 0, hypothesis.switch or ""

    return sorted(best.values(), key=order)


def _nics(found: Elements, votes: Float, least_lost_ns: float, options: ModelOptions) -> list[LinkHypothesis]:
    ends, place = np.unique(np.concatenate([found.src, found.dst]), return_inverse=True)
    src, dst = place[: len(found.src)], place[len(found.src) :]
    arrives = gains(found.shift, found.error, options.missing_ratio, options.misfit_ratio, options)
    arrives = np.where(found.intact[:, None], np.log(options.missing_ratio), arrives)
    leaves = np.where(found.behind[:, None], np.log(options.missing_ratio), arrives)
    out, into = (_summed(told, side, len(ends)) for told, side in ((leaves, src), (arrives, dst)))
    lost_ns = _side_by_side(found)
    sent, got = (np.bincount(side, lost_ns, len(ends)).astype(np.float64) for side in (src, dst))
    ways: list[tuple[Side | None, Float, Float, float]] = [
        ("tx", out, sent, options.one_way_penalty),
        ("rx", into, got, options.one_way_penalty),
        (None, out + into, np.maximum(sent, got), options.both_ways_penalty),
    ]
    hypotheses = []
    for direction, told, lost, penalty in ways:
        size = told.argmax(axis=1)
        likelihood = told.max(axis=1)
        for n in np.flatnonzero((likelihood > 0) & (lost > 0) & (lost >= least_lost_ns)).tolist():
            own = ((src == n) & (direction != "rx")) | ((dst == n) & (direction != "tx"))
            shows = own & (arrives[:, size[n]] > 0)
            vote = _weighed(np.where(src == n, -votes, votes)[own], found.lost_ns[own])
            score = likelihood[n] + np.log(options.nic_odds) - penalty + vote
            hypotheses.append(
                LinkHypothesis(
                    int(ends[n]), None, direction, float(likelihood[n]), float(score), float(lost[n]), own, shows
                )
            )
    return hypotheses


def _side_by_side(found: Elements) -> Float:
    """(s,) what an iteration loses in streams; those of one role and pair lose it together: 0 but in the slowest."""
    order = np.lexsort((-found.lost_ns, found.role, found.dst, found.src))
    slowest = order[run_starts(found.src[order], found.dst[order], found.role[order])]
    lost_ns = np.zeros(len(order))
    lost_ns[slowest] = found.lost_ns[slowest]
    return lost_ns


def _cables(found: Elements, where: SwitchPairs, votes: Float, options: ModelOptions) -> list[LinkHypothesis]:
    gained: tuple[int, Float] | None = None  # switches that follow each other mostly have as many cables
    hypotheses = []
    for switch, counts, out, into in where.switches(options.unknown_cables):
        for count in counts:
            if gained is None or gained[0] != count:
                gained = count, _cable_gains(found, count, options)
            sides: tuple[tuple[Side | None, Bool], ...] = (("tx", out), ("rx", into), (None, out | into))
            for direction, own in sides:
                if own.any():
                    one = _cable(found, (switch, count), (direction, own), gained[1], votes, options)
                    hypotheses.append(one)
    return hypotheses


def _cable_gains(found: Elements, count: int, options: ModelOptions) -> Float:
    """(s, g) how much more likely each stream is where one of so many cables that it may pass is slow."""
    missing = 1 - (1 - options.cable_missing_ratio) / count
    gained = gains(found.shift, found.error, missing, options.cable_misfit_ratio, options)
    return np.where(found.intact[:, None], np.log(missing), gained)


def _cable(
    found: Elements,
    cables: tuple[str | None, int],
    side: tuple[Side | None, Bool],
    gained: Float,
    votes: Float,
    options: ModelOptions,
) -> LinkHypothesis:
    """One of so many cables of a switch, by how much more likely each stream is where such a one is slow."""
    (switch, count), (direction, own) = cables, side
    total = gained[own].sum(axis=0)
    size = int(total.argmax())
    shows = own & (gained[:, size] > 0)
    likelihood = float(total[size])
    penalty = options.both_ways_penalty if direction is None else options.one_way_penalty
    score = likelihood + float(np.log(count)) - penalty + _weighed(votes[shows], found.lost_ns[shows])
    lost = float(found.lost_ns[shows].max(initial=0.0))
    return LinkHypothesis(None, switch, direction, likelihood, score, lost, shows, shows)


def _weighed(votes: Float, lost_ns: Float) -> float:
    """Mean vote of some streams, each by what it lost."""
    return float((votes * lost_ns).sum() / max(float(lost_ns.sum()), 1.0))


def _summed(values: Float, group: Int, groups: int) -> Float:
    """(groups, g) sums of the rows of each group."""
    total = np.zeros((groups, values.shape[1]))
    np.add.at(total, group, values)
    return total
