"""Own time -> uneven work: each iteration lasts as long as the cell with most of it, each time another one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.endpoint_index import Numbering
from diagnose.model.own_time import OwnTime
from diagnose.options import ModelOptions
from reconstruct.numeric.medians import MAD_TO_SIGMA, MEDIAN_ERROR, row_medians

# Roles of what experts exchange, and of what an exchange of unequal messages is mistaken for.
EXCHANGES = tuple(ROLES.index(name) for name in ("ep", "cp", "tp"))


class UnevenWork(NamedTuple):
    """What uneven work costs.

    Attributes:
        ratio: share of the iteration that is spent waiting for the last.
        error: standard error of it.
        experts: whether it goes with what experts get.
    """

    ratio: float
    error: float
    experts: bool = False

    @classmethod
    def usual(cls, cost: Float, *, experts: bool = False) -> UnevenWork:
        """What (iterations,) shares of their time cost: the median, with its standard error."""
        middle = float(np.median(cost))
        spread = MAD_TO_SIGMA * float(np.median(np.abs(cost - middle)))
        return cls(middle, MEDIAN_ERROR * spread / float(np.sqrt(len(cost))), experts)

    def exceeds(self, ratio: float) -> float:
        """How likely it costs more than so much."""
        return float(ndtr((self.ratio - ratio) / max(self.error, 1e-9)))


EVEN = UnevenWork(0.0, 0.0)


def uneven_work(
    own: OwnTime, stages: Int, received_bytes: Float, durations_ns: Float, options: ModelOptions
) -> UnevenWork:
    """What an iteration loses to work that differs from cell to cell; `EVEN` where none is shown.

    With even work all cells of a stage would take their mean: the loss is what the last one takes beyond it. By what a
    cell usually takes more or less than others it does so in every iteration; that is taken off, since it is no work
    that changes. Work that no other cell waits for changes as well, and so does own time that is cut short by what
    arrives in the middle of it, but iterations do not last longer for it: they must follow the last one. Experts are
    known by what they get: in no other exchange do bytes change.

    Args:
        own: own time of all cells in the iterations to judge.
        stages: (cells,) stage of each.
        received_bytes: (cells, iterations) what each got in exchanges inside the passes.
        durations_ns: (iterations,) how long they took.
        options: of the model.
    """
    own_ns, iteration_ns = own.own_ns, float(np.median(durations_ns))
    found = [EVEN]
    for stage in np.unique(stages):
        peers = (stages == stage) & np.isfinite(own_ns).all(axis=1)
        if peers.sum() < options.fewest_uneven:
            continue
        spent = own_ns[peers]
        varied = spent - row_medians(spent)[:, None]
        experts = _of_experts(spent, received_bytes[peers], options)
        if experts or _passes_on(varied.max(axis=0), durations_ns, options):
            late = spent if experts else varied
            cost = (late.max(axis=0) - late.mean(axis=0)) / iteration_ns
            found.append(UnevenWork.usual(cost, experts=experts))
    return max(found)


def _of_experts(spent_ns: Float, received_bytes: Float, options: ModelOptions) -> bool:
    """Whether cells get more in some iterations than in others, and compute longer the more they get."""
    usual = row_medians(received_bytes)
    if not (usual > 0).all():
        return False
    changes = np.abs(received_bytes / usual[:, None] - 1).max(axis=0)
    seen = received_bytes.any(axis=0)  # a window may end in the middle of an iteration, before its exchanges
    share = received_bytes[:, seen] / received_bytes[:, seen].mean(axis=0)
    late = spent_ns[:, seen] - spent_ns[:, seen].mean(axis=0)
    follows = _correlation(share.ravel(), late.ravel()) >= options.follows_least
    return bool(np.median(changes) >= options.uneven_tokens_least and follows)


def _passes_on(most_ns: Float, durations_ns: Float, options: ModelOptions) -> bool:
    """Whether iterations last as much longer as the last cell works, rather than being as long whatever it does.

    Between these two lies a slope of one half: from there on the durations are nearer to the first.
    """
    if _correlation(most_ns, durations_ns) < options.follows_least:
        return False
    return float(np.cov(most_ns, durations_ns)[0, 1] / np.var(most_ns, ddof=1)) > 0.5


def _correlation(one: Float, other: Float) -> float:
    """Pearson's; 0 where either never changes."""
    if min(np.ptp(one), np.ptp(other)) <= 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def exchanged_bytes(operations: Frame, endpoints: Int, cell: Int, iterations: int) -> Float:
    """(cells, iterations) what each cell got in exchanges inside the passes."""
    row = Numbering(endpoints).of(operations["peer"])
    number = operations["iteration"]
    counts = np.isin(operations["role"], EXCHANGES) & (row >= 0) & (number >= 0) & (number < iterations)
    count = int(cell.max(initial=-1)) + 1
    place = cell[row[counts]] * iterations + number[counts]
    moved: Float = np.bincount(place, operations["bytes"][counts], count * iterations).astype(np.float64)
    return moved.reshape(count, iterations)
