"""LLMPrism's method: jobs, parallelism, steps and anomalies from network flows by distinct sizes and k-sigma.

Source: "LLMPrism: Black-box Performance Diagnosis for Production LLM Training Platforms", DSN 2025 (arXiv 2505.00342).
Its code and its constants are not public. Assumed here: clusters whose servers overlap by a Jaccard index of 0.5 are
one job; change points of a pair's logarithmic gaps, at those longer than its mean gap, show how long the gaps between
steps are, and every gap of half that length begins a step; k is 3, over median and scaled absolute deviation, and an
anomaly is at least 5 % off, or every noisy job would be full of them; anomalies of one subject in three steps or more
are one finding. Stages are ordered by their first message, which the description leaves open. What it has no word for,
cp and ep, is said to be 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mode

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from datamodel.cluster.endpoint_locations import EndpointLocations, locate_endpoints
from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.streams import Float, Int
from flowprism.evaluation.baselines.change_points import Bools, change_points
from flowprism.evaluation.baselines.messages import Messages
from flowprism.evaluation.baselines.verdict import Anomaly, JobVerdict

_SAME_SERVERS = 0.5
_SIGMAS, _LEAST_OFF, _LEAST_STEPS = 3.0, 0.05, 3


@dataclass(frozen=True, slots=True)
class _Steps:
    """Messages of one job, the step of each numbered pair by pair, and which pairs are dp's."""

    messages: Messages
    step: Int
    data: Bools

    @property
    def count(self) -> int:
        """Steps that most dp pairs have, or most pairs where none is dp's."""
        last = self.step[self.messages.first[1:] - 1] + 1
        return int(mode(last[self.counted].tolist()))

    @property
    def counted(self) -> Bools:
        """The pairs that date steps."""
        return self.data if self.data.any() else np.ones(len(self.data), bool)


def llmprism(messages: Messages, inventory: Inventory | None) -> list[JobVerdict]:
    """Jobs with sizes, groups, step ends and anomalies."""
    place = locate_endpoints(inventory, messages.addresses)
    return [_job(messages, members, place) for members in _jobs(messages, place)]


def _components(count: int, pairs: Int) -> list[Int]:
    """Members of each connected component of more than one."""
    links = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    label = connected_components(links, directed=False)[1]
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [part for part in parts if len(part) > 1]


def _jobs(messages: Messages, place: EndpointLocations) -> list[Int]:
    """Clusters of endpoints that exchange messages, those on the same servers together."""
    clusters = _components(len(messages.addresses), messages.pairs)
    servers = [{place.host.get(int(e), str(e)) for e in members} for members in clusters]
    alike = [
        (a, b)
        for a in range(len(clusters))
        for b in range(a + 1, len(clusters))
        if len(servers[a] & servers[b]) >= _SAME_SERVERS * len(servers[a] | servers[b])
    ]
    if not alike:
        return clusters
    merged = [
        np.sort(np.concatenate([clusters[n] for n in one])) for one in _components(len(clusters), np.array(alike))
    ]
    lone = set(range(len(clusters))) - {n for pair in alike for n in pair}
    return [*merged, *(clusters[n] for n in sorted(lone))]


def _job(messages: Messages, members: Int, place: EndpointLocations) -> JobVerdict:
    own = messages.take(np.flatnonzero(np.isin(messages.src, members)))
    step = _stepped(own)
    data = _data_pairs(own, step)
    cut = _Steps(own, step, data)
    pairs = own.pairs
    dp = _components(len(own.addresses), pairs[data])
    pp = _chains(own, pairs[~data])
    sizes = _sizes(members, dp, pp)
    return JobVerdict(
        members=members,
        sizes=sizes,
        groups={"dp": dp, "pp": pp},
        ends_ns=_ends(cut),
        anomalies=_anomalies(cut, dp, place) if dp else [],
    )


def _stepped(own: Messages) -> Int:
    """(n,) step of each message of its pair: change points of gaps show how long those between steps are."""
    gap = np.diff(own.start_ns, prepend=own.start_ns[:1])
    gap[own.first[:-1]] = 0
    value = np.log(np.maximum(gap, 1_000) / 1e3)
    inside = np.ones(len(gap), bool)
    inside[own.first[:-1]] = False
    offsets = own.first - np.arange(len(own.first))
    changed = np.zeros(len(gap), bool)
    changed[inside] = change_points(value[inside], offsets)
    step = np.zeros(len(gap), np.int64)
    for a, b in pairwise(own.first):
        long = gap[a:b][changed[a:b] & (gap[a:b] > gap[a:b].mean())]
        step[a:b] = np.cumsum(gap[a:b] > np.median(long) / 2) if len(long) else 0
    return step


def _data_pairs(own: Messages, steps: Int) -> Bools:
    """Which pairs move several sizes in a step (dp), by a vote of the steps; a pp pair inside a dp group is dp too."""
    data = []
    for a, b in pairwise(own.first):
        distinct = Counter(step for step, _ in set(zip(steps[a:b].tolist(), own.bytes[a:b].tolist(), strict=True)))
        data.append(mode(distinct.values()) > 1)
    found = np.array(data, bool)
    label = np.full(len(own.addresses), -1)
    for number, group in enumerate(_components(len(own.addresses), own.pairs[found])):
        label[group] = number
    ends = label[own.pairs]
    inside: Bools = found | ((ends[:, 0] >= 0) & (ends[:, 0] == ends[:, 1]))
    return inside


def _chains(own: Messages, pairs: Int) -> list[Int]:
    """Components of pp pairs, each in the order in which its members first send."""
    first = np.full(len(own.addresses), np.iinfo(np.int64).max)
    np.minimum.at(first, own.src, own.start_ns)
    return [chain[np.argsort(first[chain], kind="stable")] for chain in _components(len(own.addresses), pairs)]


def _sizes(members: Int, dp: Sequence[Int], pp: Sequence[Int]) -> dict[str, int | None]:
    """Sizes of most groups; what is left of the job's endpoints is tp."""
    ways = mode(map(len, dp)) if dp else 1
    stages = mode(map(len, pp)) if pp else 1
    tp = len(members) // (ways * stages) if len(members) % (ways * stages) == 0 else None
    return {"tp": tp, "cp": 1, "ep": 1, "dp": ways, "pp": stages}


def _ends(cut: _Steps) -> Int:
    """When the last dp message of each step ends, over pairs that agree on how many steps there are."""
    own = cut.messages
    pair = own.pair_of()
    last = cut.step[own.first[1:] - 1] + 1
    count = cut.count
    agreed = (last == count) & cut.counted
    ends = np.zeros(count, np.int64)
    rows = agreed[pair]
    np.maximum.at(ends, cut.step[rows], own.end_ns[rows])
    return ends[ends > 0]


def _anomalies(cut: _Steps, dp: Sequence[Int], place: EndpointLocations) -> list[Anomaly]:
    """Across steps (their durations), across groups (how long each takes) and across switches (how fast flows are)."""
    ends = _ends(cut)
    found = []
    slow = np.flatnonzero(_above(np.diff(ends)))
    if len(slow) >= _LEAST_STEPS:
        found.append(Anomaly("job", None, int(ends[slow[0]]), int(ends[slow[-1] + 1])))
    own, pair = cut.messages, cut.messages.pair_of()
    rows = cut.data[pair] & (cut.step < len(ends))
    step, src = cut.step[rows], own.src[rows]
    group = np.full(len(own.addresses), -1)
    for number, members in enumerate(dp):
        group[members] = number
    took = _durations(step, group[src], own.start_ns[rows], own.end_ns[rows], len(ends), len(dp))
    found += _persistent(took, ends, lambda n: ("group", tuple(dp[n].tolist())))
    switches = sorted({place.switch[int(e)] for e in np.unique(src) if int(e) in place.switch})
    at = {name: n for n, name in enumerate(switches)}
    switch = np.array([at.get(place.switch.get(e, ""), -1) for e in range(len(own.addresses))])
    pace = (own.end_ns[rows] - own.start_ns[rows] + 1) / own.bytes[rows]
    slowness = _means(step, switch[src], pace, len(ends), len(switches))
    return found + _persistent(slowness, ends, lambda n: ("switch", switches[n]))


def _durations(step: Int, group: Int, start: Int, end: Int, steps: int, groups: int) -> Float:
    """(steps, groups) from a group's first to its last dp byte in a step, ns; nan where it sent nothing."""
    first = np.full((steps, groups), np.inf)
    last = np.full((steps, groups), -np.inf)
    known = group >= 0
    np.minimum.at(first, (step[known], group[known]), start[known])
    np.maximum.at(last, (step[known], group[known]), end[known])
    return np.where(np.isfinite(first), last - first, np.nan)


def _means(step: Int, of: Int, value: Float, steps: int, count: int) -> Float:
    """(steps, count) mean value; nan where there is none."""
    known = of >= 0
    key = step[known] * max(count, 1) + of[known]
    size = steps * count
    total, number = np.bincount(key, value[known], minlength=size)[:size], np.bincount(key, minlength=size)[:size]
    return np.where(number > 0, total / np.maximum(number, 1), np.nan).reshape(steps, count)


def _above(values: Float) -> Bools:
    """Values more than k deviations, and 5 %, above the median."""
    if not len(values):
        return np.zeros(0, bool)
    middle = np.nanmedian(values)
    spread = 1.4826 * np.nanmedian(np.abs(values - middle))
    high: Bools = values > middle + np.maximum(_SIGMAS * spread, _LEAST_OFF * middle)
    return high


def _persistent(values: Float, ends: Int, subject: Callable[[int], tuple[str, tuple[int, ...] | str]]) -> list[Anomaly]:
    """Subjects (columns) that stick out among their peers in several steps."""
    if values.shape[1] < 3:
        return []  # nothing to stick out from
    whole = ~np.isnan(values).all(axis=1)
    high = np.zeros(values.shape, bool)
    high[whole] = np.array([_above(row) for row in values[whole]]).reshape(-1, values.shape[1])
    found = []
    for n in np.flatnonzero(high.sum(axis=0) >= _LEAST_STEPS).tolist():
        steps = np.flatnonzero(high[:, n])
        kind, ids = subject(n)
        found.append(Anomaly(kind, ids, int(ends[max(steps[0] - 1, 0)]), int(ends[steps[-1]])))
    return found
