"""Hypotheses of who computes longer, scored: a cell, a host, a stage, everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.measures.lesser_half import lesser_half
from diagnose.model.compared_iterations import ComparedIterations
from diagnose.model.likelihood import gains, sizes
from diagnose.model.own_time import OwnTime
from diagnose.options import ModelOptions
from reconstruct.numeric.medians import MAD_TO_SIGMA, row_medians, typical_over

Who = Literal["cell", "host", "stage", "everybody"]


@dataclass(frozen=True, slots=True)
class Grown:
    """Own time of each cell beside what it should be.

    Attributes:
        now_ns, normal_ns: (cells,) per iteration.
        variance: (cells,) of their difference, ns^2.
        shift: (cells,) logarithm of the one over the other; nan where not known.
        error: (cells,) its standard error.
    """

    now_ns: Float
    normal_ns: Float
    variance: Float
    shift: Float
    error: Float

    @property
    def lost_ns(self) -> Float:
        """(cells,) by how much each takes longer."""
        return np.nan_to_num(self.now_ns - self.normal_ns)


class _Common(NamedTuple):
    """What the lesser half of the cells grew by, at least.

    Attributes:
        size: number of the size that this is; -1 where it is smaller, or larger, than any that is tried.
        ratio: how many times as long they take.
        longer_ns: how much longer.
    """

    size: int
    ratio: float
    longer_ns: float

    @classmethod
    def of(cls, found: Grown, options: ModelOptions) -> _Common:
        """Of all cells that are known."""
        known, size = np.isfinite(found.shift), sizes(options)
        shift = lesser_half(found.shift[known])
        tried = size[0] < shift <= size[-1]
        number = int(np.searchsorted(size, shift)) if tried else -1
        return cls(number, float(np.exp(shift)), lesser_half(found.lost_ns[known]))


class Cells(NamedTuple):
    """What computes together.

    Attributes:
        hosts: of each cell; names of their own where unknown.
        stages: (cells,) number of the stage.
        waits: (n, 2) pairs of cells of which the second may look as late as the first for waiting for it.
    """

    hosts: Sequence[str]
    stages: Int
    waits: Int


class ComputeHypothesis(NamedTuple):
    """Some cells that may compute longer.

    Attributes:
        who: what they are.
        own: (cells,) which.
        behind: (cells,) which others may look as late for waiting for them.
        likelihood: tempered logarithm of how much better it explains all cells than nothing does.
        score: that, less what it costs to assume it.
        lost_ns: what an iteration loses by them.
        ratio: how many times as long they compute.
        others_ratio: how many times as long all others take, whose work grew, or who wait.
    """

    who: Who
    own: Bool
    behind: Bool
    likelihood: float
    score: float
    lost_ns: float
    ratio: float
    others_ratio: float = 1.0


class Explanation(NamedTuple):
    """The best explanation, and what is as likely with its probability, itself among them."""

    best: ComputeHypothesis
    near: tuple[tuple[ComputeHypothesis, float], ...]


def grown(own: OwnTime, compared: ComparedIterations, place: Int, options: ModelOptions) -> Grown:
    """Compare each cell with its own past, or, where there is none, with its peers.

    Args:
        own: own time of the cells.
        compared: which iterations.
        place: (cells,) number of the stage.
        options: of the model.
    """
    floor_ns = options.own_floor_ratio * compared.iteration_ns
    now, spread = _level(own.own_ns[:, compared.interval])
    if len(compared.baseline):
        normal, before = _level(own.own_ns[:, compared.baseline])
        spread = np.fmax(np.fmax(spread, before), floor_ns)  # few iterations may lie close to each other by chance
        variance = spread**2 * (1 / _counted(compared.interval, options) + 1 / _counted(compared.baseline, options))
    else:
        normal, among = _of_peers(now, place, floor_ns, options)
        variance = np.fmax(spread, floor_ns) ** 2 / _counted(compared.interval, options) + among
    return compare(now, normal, variance, compared, options)


def _counted(iterations: Int, options: ModelOptions) -> int:
    """For how many iterations some count: those of one interval are not independent."""
    return max(min(len(iterations), options.counted), 1)


def compare(
    now_ns: Float, normal_ns: Float, variance: Float, compared: ComparedIterations, options: ModelOptions
) -> Grown:
    """Shifts with their errors: times of those who only wait change by a share of what the latest one takes longer.

    What slow streams may have held everybody up for is nobody's own.
    """
    now_ns = now_ns - np.clip(np.nan_to_num(now_ns - normal_ns), 0.0, compared.held_up_ns)
    most = float(np.nan_to_num(now_ns - normal_ns).max(initial=0.0))
    victim = options.own_victim_share * max(compared.to_explain_ns, most)
    least = options.own_least_ratio * compared.iteration_ns
    with np.errstate(invalid="ignore"):
        now, normal = now_ns + least, normal_ns + least
        error = np.sqrt(variance + victim**2) / np.sqrt(now * normal)
    return Grown(now_ns, normal_ns, variance, np.log(now / normal), error)


def _level(own_ns: Float) -> tuple[Float, Float]:
    """(cells,) median over iterations, and the spread about it."""
    middle = typical_over(own_ns, np.arange(own_ns.shape[1]))
    return middle, MAD_TO_SIGMA * row_medians(np.abs(own_ns - middle[:, None]))


def _of_peers(now_ns: Float, place: Int, floor_ns: float, options: ModelOptions) -> tuple[Float, Float]:
    """(cells,) median of the cells of the same stage, and their variance; nan where there are too few."""
    normal, variance = np.full(len(now_ns), np.nan), np.full(len(now_ns), np.nan)
    for stage in np.unique(place):
        peers = (place == stage) & np.isfinite(now_ns)
        if peers.sum() >= options.fewest_peers:
            middle = float(np.median(now_ns[peers]))
            spread = MAD_TO_SIGMA * float(np.median(np.abs(now_ns[peers] - middle)))
            normal[peers], variance[peers] = middle, max(spread, floor_ns) ** 2
    return normal, variance


def pursue(found: Grown, cells: Cells, compared: ComparedIterations, options: ModelOptions) -> list[Explanation]:
    """Who computes longer, the most likely first; empty where nobody does beyond doubt.

    What the best explanation leaves is scored again while it leaves enough.

    Args:
        found: own time of all cells.
        cells: where they are, and who waits for whom.
        compared: which iterations were.
        options: of the model.
    """
    named: list[Explanation] = []
    while len(named) <= options.most_culprits:
        ordered = compute_hypotheses(found, cells, compared, options)
        if not ordered:
            break
        best = ordered[0]
        near = [h for h in ordered if h.score > best.score - np.log(options.rival_odds)]
        weight = np.exp([h.score - best.score for h in near])
        named.append(Explanation(best, tuple(zip(near, (weight / weight.sum()).tolist(), strict=True))))
        if compared.longer_ns > 0 and best.lost_ns >= (1 - options.least_share) * compared.longer_ns:
            break  # nothing is left to be explained
        explained = np.any([h.own | h.behind for h in near], axis=0)
        normal_ns = np.where(explained, np.nan, found.normal_ns * best.others_ratio)
        found = compare(found.now_ns, normal_ns, found.variance, compared._replace(held_up_ns=0.0), options)
    return named


def compute_hypotheses(
    found: Grown, cells: Cells, compared: ComparedIterations, options: ModelOptions
) -> list[ComputeHypothesis]:
    """All that are sure and lost enough, the most likely first; arguments as those of `pursue`."""
    told = tuple(
        gains(found.shift, found.error, missing, options.own_misfit_ratio, options)
        for missing in (options.own_missing_ratio, options.behind_missing_ratio)
    )
    count, group, place = len(found.shift), options.group_penalty, cells.stages
    number = np.unique(np.array(cells.hosts), return_inverse=True)[1].ravel()
    of_host = number == np.unique(number)[:, None]
    enough = compared.least_lost_ns
    late = np.flatnonzero((found.lost_ns >= enough) & np.isfinite(found.shift))
    sets: list[tuple[Who, Bool, float]] = [("cell", np.arange(count) == n, float(np.log(count))) for n in late]
    sets += [("host", own, np.log(count) + group) for own in of_host if 1 < own.sum() < count]
    if len(compared.baseline):
        of_stage = [own for own in place == np.unique(place)[:, None] if not own.all()]
        several = [own for own in of_stage if (of_host & own).any(axis=1).sum() > 1]
        sets += [("stage", own, np.log(place.max() + 1) + group) for own in several]
        sets.append(("everybody", np.ones(count, np.bool_), group))
    common = _Common.of(found, options)
    every = [_scored(who, own, cells, told, found, common, penalty, options) for who, own, penalty in sets]
    every = [_everybody(h, found, compared, options) if h.who == "everybody" else h for h in every]
    of_group = max(enough, options.group_least_share * compared.to_explain_ns)
    kept = [h for h in every if h.lost_ns >= (enough if h.who == "cell" else of_group) and h.likelihood > compared.sure]
    return sorted((_weighed(h, found, late, compared.to_explain_ns, options) for h in kept), key=lambda h: -h.score)


def _everybody(
    hypothesis: ComputeHypothesis, found: Grown, compared: ComparedIterations, options: ModelOptions
) -> ComputeHypothesis:
    """Where all compute longer, so does whatever an iteration consists of."""
    before_ns = compared.iteration_ns - compared.longer_ns
    known = found.shift[np.isfinite(found.shift)]
    longer_ns = float(np.expm1(np.percentile(known, options.quarter))) * before_ns if len(known) else 0.0
    return hypothesis._replace(lost_ns=max(longer_ns, hypothesis.lost_ns))


def _weighed(
    hypothesis: ComputeHypothesis, found: Grown, late: Int, longer_ns: float, options: ModelOptions
) -> ComputeHypothesis:
    """Its score, less what a second cause would cost for what it leaves: of the lost time, and of who is latest."""
    most = float(found.shift[late].max(initial=0.0))
    shown = float(np.nanpercentile(found.shift[hypothesis.own], options.quarter))
    left = max(1 - hypothesis.lost_ns / longer_ns, 1 - shown / most if most > 0 else 0.0, 0.0)
    return hypothesis._replace(score=hypothesis.score - options.second_penalty * left)


def _scored(
    who: Who,
    own: Bool,
    cells: Cells,
    told: tuple[Float, ...],
    found: Grown,
    common: _Common,
    penalty: float,
    options: ModelOptions,
) -> ComputeHypothesis:
    """How well it explains its own cells, those that wait for them, and by a second size what all have in common.

    With longer sequences all take longer, and so do many who wait: somebody is late by what exceeds that. A pause takes
    as long of all, however long they compute.
    """
    behind = np.zeros(len(own), np.bool_)
    behind[cells.waits[own[cells.waits[:, 0]], 1]] = True
    behind &= ~own
    total = told[0][own].sum(axis=0) + told[1][behind].sum(axis=0)
    best = int(total.argmax())
    likelihood, lost_ns, others_ratio = float(total[best]), found.lost_ns[own], 1.0
    shared = float(told[0][~own & ~behind, common.size].sum()) if common.size >= 0 else 0.0
    if shared > 0:
        likelihood, others_ratio = likelihood + shared, common.ratio
        beyond_ns = np.nan_to_num(found.now_ns[own] - found.normal_ns[own] * common.ratio)
        lost_ns = np.minimum(beyond_ns, lost_ns - common.longer_ns)
    lost = float(np.percentile(lost_ns, options.quarter))
    ratio = float(np.exp(sizes(options)[best]))
    return ComputeHypothesis(who, own, behind, likelihood, likelihood - penalty, lost, ratio, others_ratio)
