"""Operations -> how long gradient groups wait for their last member, as far as that changes between iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.operations import FAMILY_SLOTS
from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.compute.send_delays import DP, PP
from diagnose.endpoint_index import Numbering, group_numbers
from diagnose.model.uneven_work import EVEN, UnevenWork
from reconstruct.numeric.medians import row_medians
from reconstruct.numeric.row_runs import run_starts

# Groups of fewer cannot tell an uneven load from one late member.
FEWEST = 3
# A member that begins within this share of an iteration of the last, its successor, began when that one was ready.
TOGETHER = 0.0005


def waiting_ratio(
    operations: Frame,
    endpoints: Int,
    groups: Sequence[tuple[int, ...]],
    stages: Int,
    iterations: Int,
    iteration_ns: float,
) -> UnevenWork:
    """Share of the iteration that gradient groups lose to work that is uneven now here and now there.

    With even work everybody would arrive at the mean, and nobody would wait for the last: the loss is the time between.
    By what a member usually is before or after the others it is so in every iteration, whatever the lengths of the
    sequences (its place in the pipeline, its rail, a rank that computes longer): that is taken off.
    A member has arrived when it begins to send. In a rendezvous ring it begins when its successor has arrived too: of
    one that begins with the last, its successor, it is not known when it arrived itself. A later stage of a pipeline
    has arrived when it hands on its last gradient to the stage before.

    Args:
        operations: of one job.
        endpoints: (e,) address codes, ascending.
        groups: gradient groups of address codes.
        stages: (e,) stage of each endpoint.
        iterations: numbers of those to judge.
        iteration_ns: how long they take.
    """
    group = group_numbers(endpoints, groups)
    order = np.argsort(group, kind="stable")
    order = order[group[order] >= 0]
    first = np.flatnonzero(run_starts(group[order]))
    large = np.diff(np.append(first, len(order))) >= FEWEST
    if not large.any():
        return EVEN
    together_ns = TOGETHER * iteration_ns
    lost = [
        _costliest(start[order], waits[order], first, large, iteration_ns)
        for start, waits in _arrivals(operations, endpoints, stages, iterations, together_ns)
    ]
    return max(lost, default=EVEN)


def _arrivals(
    operations: Frame, endpoints: Int, stages: Int, iterations: Int, together_ns: float
) -> list[tuple[Float, Bool]]:
    """For each gradient collective of an iteration, (e, iterations) when each endpoint arrived, and with its successor.

    Arrival is nan where it was not seen.
    """
    passed = _handed_on(operations, endpoints, stages, iterations)
    begins = (operations["role"] == DP) & (operations["slot"] % FAMILY_SLOTS == 0)
    rows = operations.take(begins & np.isin(operations["iteration"], iterations))
    place = Numbering(endpoints)
    own, peer, column = place.of(rows["endpoint"]), place.of(rows["peer"]), Numbering(iterations).of(rows["iteration"])
    found = []
    for slot in np.unique(rows["slot"]):
        chosen = (rows["slot"] == slot) & (own >= 0) & (peer >= 0)
        who, whom, when = own[chosen], peer[chosen], column[chosen]
        first = np.full((len(endpoints), len(iterations)), np.iinfo(np.int64).max)
        np.minimum.at(first, (who, when), rows["start_ns"][chosen])
        start = np.where(first < np.iinfo(np.int64).max, first, np.nan)
        waits = np.zeros(start.shape, np.bool_)
        waits[who, when] = np.abs(start[who, when] - start[whom, when]) <= together_ns
        known = passed <= start
        found.append((np.where(known, passed, start), waits & ~known))
    return found


def _handed_on(operations: Frame, endpoints: Int, stages: Int, iterations: Int) -> Float:
    """(e, iterations) when each endpoint began to send its last message to the stage before; nan where it sent none."""
    rows = operations.take((operations["role"] == PP) & np.isin(operations["iteration"], iterations))
    place = Numbering(endpoints)
    own, peer, column = place.of(rows["endpoint"]), place.of(rows["peer"]), Numbering(iterations).of(rows["iteration"])
    back = (own >= 0) & (peer >= 0)
    back[back] = stages[peer[back]] == stages[own[back]] - 1
    last = np.zeros((len(endpoints), len(iterations)), np.int64)
    np.maximum.at(last, (own[back], column[back]), rows["start_ns"][back])
    return np.where(last > 0, last, np.nan)


def _costliest(start_ns: Float, waits: Bool, first: Int, large: Bool, iteration_ns: float) -> UnevenWork:
    """The usual loss of the group that loses most: in half of the iterations it is more.

    Args:
        start_ns: (members of all groups, iterations) when each began, group after group.
        waits: likewise, whether it began with its successor.
        first: (groups,) the first member of each.
        large: (groups,) which have enough members.
        iteration_ns: how long an iteration takes.
    """
    size = np.diff(np.append(first, len(start_ns)))
    last, origin = (f.reduceat(start_ns, first, axis=0) for f in (np.fmax, np.fmin))
    at_last = np.repeat(last, size, axis=0) - start_ns <= TOGETHER * iteration_ns
    ready = np.where(waits & at_last, np.nan, start_ns)
    usual = row_medians(ready - _means(ready, origin, first))
    ready -= np.nan_to_num(usual)[:, None]
    last, origin = (f.reduceat(ready, first, axis=0) for f in (np.fmax, np.fmin))
    known = np.add.reduceat(np.isfinite(ready), first, axis=0, dtype=np.int64)
    cost = np.where(known >= FEWEST, last - _means(ready, origin, first)[first], 0.0)[large] / iteration_ns
    return UnevenWork.usual(cost[int(row_medians(cost).argmax())])


def _means(values: Float, origin: Float, first: Int) -> Float:
    """(members of all groups, iterations) mean of those of each one's group that are known.

    Args:
        values: (members of all groups, iterations) group after group; nan where not known.
        origin: (groups, iterations) what they are counted from, for precision.
        first: (groups,) the first member of each.
    """
    size = np.diff(np.append(first, len(values)))
    known = np.add.reduceat(np.isfinite(values), first, axis=0, dtype=np.int64)
    beyond = np.nan_to_num(values - np.repeat(origin, size, axis=0))
    return np.repeat(origin + np.add.reduceat(beyond, first, axis=0) / np.maximum(known, 1), size, axis=0)
