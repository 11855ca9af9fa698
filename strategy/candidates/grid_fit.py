"""Labeled classes -> pipelines and process groups, and how well one grid of ranks holds them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int
from reconstruct.numeric.ragged_arrays import expanded
from strategy.candidates.pipelines import find_pipelines
from strategy.closure import Members, tied
from strategy.options import GridPenalties
from strategy.placement import Seat
from strategy.traffic.edge_classes import DEVIATIONS
from strategy.traffic.traffic_edges import SAME_BYTES, VARIES, TrafficEdges

Close = Callable[[Int], tuple[Members, ...]]


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Chains of stages that a choice of point-to-point edges makes.

    Attributes:
        edges: numbers of the point-to-point edges.
        chains: endpoints in stage order, all of the commonest length.
        stage: (codes,) stage of each address code; -1 outside the chains.
    """

    edges: Int
    chains: list[Members]
    stage: Int

    @property
    def stage_of(self) -> dict[int, int]:
        """Endpoint -> stage, of those in chains."""
        return {e: s for chain in self.chains for s, e in enumerate(chain)}


@dataclass(frozen=True, slots=True)
class GridFit:
    """Process groups of a labeling, and what they make of the job.

    Attributes:
        groups: dp, cp, ep and tp as seen between hosts, members ascending.
        sizes: the usual number of members of each kind; 1 where there are none.
        log_score: log-likelihood of all deviations from a grid.
    """

    groups: dict[str, tuple[Members, ...]]
    sizes: dict[str, int]
    log_score: float


def build_pipelines(edges: TrafficEdges, chosen: Int) -> Pipelines:
    """Chains of the commonest length; a chain cut short by missing traffic does not show the pipeline's."""
    chains = find_pipelines(edges, chosen) if len(chosen) else []
    if chains:
        length = Counter(len(c) for c in chains).most_common(1)[0][0]
        chains = [c for c in chains if len(c) == length]
    stage = np.full(int(max(edges.src.max(initial=0), edges.dst.max(initial=0))) + 1, -1, np.int64)
    for chain in chains:
        stage[list(chain)] = np.arange(len(chain))
    return Pipelines(chosen, chains, stage)


def fit_grid(
    edges: TrafficEdges,
    pipelines: Pipelines,
    labels: Mapping[str, Int],
    classes: Sequence[Int],
    members: Int,
    seats: Mapping[int, Seat],
    close: Close,
    penalties: GridPenalties,
) -> GridFit:
    """Close the labeled edges into groups, and count what no grid would have.

    Args:
        edges: the job's edges.
        pipelines: its chains.
        labels: kind (dp, cp, ep, tp, embedding) -> numbers of its edges.
        classes: edges of each class that reduces gradients; those of a double tree are one.
        members: (e,) the job's endpoints.
        seats: where endpoints sit; may be empty.
        close: edges -> the sets of endpoints they tie together.
        penalties: log-probability of each deviation.
    """
    stage = pipelines.stage
    none = np.zeros(0, np.int64)
    reducing = np.concatenate([labels.get(kind, none) for kind in ("dp", "cp", "ep")])
    across = stage[edges.src[reducing]] != stage[edges.dst[reducing]]
    score = penalties.across_stages * min(int(across.sum()), penalties.most)
    within = reducing[~across]
    groups = {kind: close(labels.get(kind, none)) for kind in ("cp", "ep", "tp")}
    groups["dp"] = joint = close(within)
    gradient, summed = labels.get("dp", none), np.sort(np.concatenate([none, *classes]))
    reduced = close(summed[stage[edges.src[summed]] == stage[edges.dst[summed]]])
    if not _crosses_rails(edges, pipelines.edges, seats):  # where even chains cross rails, ranks were placed so
        groups["dp"], reduced = (join_hosts(edges, gradient, own, seats) for own in (joint, reduced))
    sizes = {kind: _usual_size(own) for kind, own in groups.items()}
    score += score_pipelines(edges, pipelines, members, penalties)
    for kind, own in groups.items():
        odd = sum(len(g) for g in own if len(g) != sizes[kind])
        odd += len(members) - sum(len(g) for g in own) if own else 0
        score += penalties.odd_group * min(odd, penalties.most)
    score += penalties.embedding_inside * min(
        _inside_chains(edges, labels.get("embedding", none), pipelines), penalties.most
    )
    half_a_stage = len(members) / (2 * len(pipelines.chains[0]) if pipelines.chains else 2)
    reductions = [close(own) for own in classes if len(np.unique(edges.src[own])) >= half_a_stage]
    score += _reduction_score(reductions, _usual_size(joint), sizes, penalties)
    if _usual_size(reduced) < sizes["dp"]:
        score += penalties.never_reduced
    if (gathered := close(np.setdiff1d(gradient, summed))) and _usual_size(gathered) < _usual_size(close(summed)):
        score += penalties.gathered_in_part
    score += penalties.unbalanced * min(_unbalanced(edges, gradient, len(stage)), penalties.most)
    score += penalties.answered_later * min(_answered_later(edges, gradient, len(stage), penalties), penalties.most)
    score += penalties.mixed_lengths * _mix_lengths(edges, [pipelines.edges, labels.get("cp", none)])
    score += penalties.gradients_vary * any(_variation(edges, own) > VARIES for own in classes)
    if not len(gradient):
        score += penalties.no_gradients_in_pipeline if pipelines.chains else penalties.no_gradients
    return GridFit(groups, sizes, score)


def _variation(edges: TrafficEdges, own: Int) -> float:
    """Median variation over iterations; 0 where it is not known."""
    known = edges.variation[own][~np.isnan(edges.variation[own])]
    return float(np.median(known)) if len(known) else 0.0


def _mix_lengths(edges: TrafficEdges, kinds: Sequence[Int]) -> bool:
    """Whether one kind of what depends on the lengths of sequences varies much more than another."""
    found = [_variation(edges, own) for own in kinds if not np.isnan(edges.variation[own]).all()]
    return len(found) > 1 and max(found) > max(VARIES, DEVIATIONS * min(found))


def score_pipelines(edges: TrafficEdges, pipelines: Pipelines, members: Int, penalties: GridPenalties) -> float:
    """Log-probability of endpoints outside the chains of a pipelined job, and of those that no partner answers."""
    inside = len(pipelines.chains) * len(pipelines.chains[0]) if pipelines.chains else 0
    outside = len(members) - inside if len(pipelines.edges) else 0
    src, dst = edges.src[pipelines.edges], edges.dst[pipelines.edges]
    codes = len(pipelines.stage)
    answered = np.isin(dst * codes + src, src * codes + dst)
    one_way = len(np.setdiff1d(np.union1d(src, dst), src[answered]))
    return penalties.outside_chains * min(outside, penalties.most) + penalties.one_way * min(one_way, penalties.most)


def _unbalanced(edges: TrafficEdges, gradient: Int, codes: int) -> int:
    """Endpoints that send more or fewer bytes of gradients than they receive, which no member of a reduction does."""
    size = edges.iteration_bytes[gradient]
    sent, received = (np.bincount(ends[gradient], size, codes) for ends in (edges.src, edges.dst))
    return int((np.abs(sent - received) > SAME_BYTES * np.maximum(sent, received)).sum())


def _answered_later(edges: TrafficEdges, gradient: Int, codes: int, penalties: GridPenalties) -> int:
    """Edges of gradients whose reverse is sent in another part of the iteration: a collective is over before that.

    Only those of streams count: others stand for what silent endpoints send, at the time of another edge.
    """
    gradient = np.intersect1d(gradient, edges.edge)
    key, back = (a[gradient] * codes + b[gradient] for a, b in ((edges.src, edges.dst), (edges.dst, edges.src)))
    order = np.argsort(key, kind="stable")
    low, high = (np.searchsorted(key[order], back, side=side) for side in ("left", "right"))
    own, place = expanded(low, high - low)
    other, one = gradient[order[place]], gradient[own]
    pause_ns = np.maximum(edges.first_ns[one], edges.first_ns[other])
    pause_ns -= np.minimum(edges.last_ns[one], edges.last_ns[other])
    least_ns = np.full(len(gradient), np.inf)
    np.minimum.at(least_ns, own, pause_ns)
    return int((np.isfinite(least_ns) & (least_ns > penalties.later_share * edges.period_ns)).sum())


def _usual_size(groups: tuple[Members, ...]) -> int:
    """The size that most endpoints' group has."""
    count: Counter[int] = Counter()
    for group in groups:
        count[len(group)] += len(group)
    return max(count, key=lambda size: (count[size], size)) if count else 1


def _inside_chains(edges: TrafficEdges, chosen: Int, pipelines: Pipelines) -> int:
    """Embedding edges that do not link a chain's first and last stage."""
    if not len(chosen):
        return 0
    if not pipelines.chains:
        return len(chosen)
    last = len(pipelines.chains[0]) - 1
    ends = np.sort(np.stack([pipelines.stage[edges.src[chosen]], pipelines.stage[edges.dst[chosen]]]), axis=0)
    return int(((ends[0] != 0) | (ends[1] != last)).sum())


def _reduction_score(
    reductions: Sequence[tuple[Members, ...]], joint: int, sizes: Mapping[str, int], penalties: GridPenalties
) -> float:
    """Dense gradients are reduced over all that share them at once, those of experts over the ranks that hold the same.

    Args:
        reductions: the groups that each class of gradients ties together. Classes of fewer endpoints than half a stage
            are parts of others, which something delayed.
        joint: those that all edges tie together.
        sizes: of the labeling's groups.
        penalties: log-probability of each deviation.
    """
    if not reductions:
        return 0.0
    spans = [_usual_size(own) for own in reductions]
    score = 0.0 if joint in spans else penalties.reduced_in_steps
    alike = [len(own[0]) for own in reductions if len({len(group) for group in own}) == 1]
    score += penalties.uneven_span * any(joint % size for size in alike)
    if sizes["ep"] > 1 and sizes["dp"] > sizes["ep"] and len(spans) < 2:
        score += penalties.no_expert_gradients
    if sizes["cp"] > 1 and sizes["ep"] == 1 and min(spans) < joint in spans:
        score += penalties.reduced_in_part
    return score


def join_hosts(
    edges: TrafficEdges, chosen: Int, groups: tuple[Members, ...], seats: Mapping[int, Seat]
) -> tuple[Members, ...]:
    """Gradient groups, joined where their rings leave a host by another GPU's NIC than they came in by.

    A ring that crosses rails continues inside the host (NCCL's NCCL_CROSS_NIC, one ring a channel): its parts are one
    group. Rings that cross between other rails are another group's.
    """
    if not seats or not groups:
        return groups
    if not _crosses_rails(edges, chosen, seats):
        return groups
    leaves, enters = _rails(edges.src[chosen], seats), _rails(edges.dst[chosen], seats)
    linked = {rail: n for n, rails in enumerate(tied(leaves, enters)) for rail in rails}
    joined: dict[tuple[frozenset[str], int], list[int]] = {}
    for group in groups:
        hosts = frozenset(seats[e].host for e in group if e in seats)
        joined.setdefault((hosts, linked.get(_rail(seats, group[0]), -1)), []).extend(group)
    return tuple(sorted(tuple(sorted(g)) for g in joined.values()))


def _crosses_rails(edges: TrafficEdges, chosen: Int, seats: Mapping[int, Seat]) -> bool:
    """Whether most edges link NICs of different rails."""
    return 2 * int((_rails(edges.src[chosen], seats) != _rails(edges.dst[chosen], seats)).sum()) > len(chosen)


def _rails(endpoints: Int, seats: Mapping[int, Seat]) -> Int:
    return np.array([_rail(seats, e) for e in endpoints.tolist()], np.int64)


def _rail(seats: Mapping[int, Seat], endpoint: int) -> int:
    """The rail of an endpoint; -1 unknown."""
    rail = seats[endpoint].rail if endpoint in seats else None
    return -1 if rail is None else rail
