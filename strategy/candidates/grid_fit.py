"""Labeled classes -> pipelines and process groups, and how well one grid of ranks holds them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Int
from strategy.candidates.edge_sets import EdgeSets, EndpointSets
from strategy.candidates.pipelines import find_pipelines
from strategy.closure import Members
from strategy.options import GridPenalties
from strategy.traffic.edge_classes import DEVIATIONS
from strategy.traffic.traffic_edges import VARIES, TrafficEdges


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Chains of stages that a choice of point-to-point edges makes.

    Attributes:
        edges: numbers of the point-to-point edges.
        chains: endpoints in stage order, all of the commonest length.
        stage: (codes,) stage of each address code; -1 outside the chains.
        within: (edges,) which of the job's edges link endpoints of one stage.
    """

    edges: Int
    chains: list[Members]
    stage: Int
    within: Bool

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
    return Pipelines(chosen, chains, stage, stage[edges.src] == stage[edges.dst])


def fit_grid(
    sets: EdgeSets, pipelines: Pipelines, labels: Mapping[str, Int], classes: Sequence[Int], members: Int
) -> GridFit:
    """Close the labeled edges into groups, and count what no grid would have.

    Args:
        sets: of the job's edges.
        pipelines: its chains.
        labels: kind (dp, cp, ep, tp, embedding) -> numbers of its edges.
        classes: edges of each class that reduces gradients; those of a double tree are one.
        members: (e,) the job's endpoints.
    """
    edges, penalties = sets.edges, sets.penalties
    none = np.zeros(0, np.int64)
    reducing = np.concatenate([labels.get(kind, none) for kind in ("dp", "cp", "ep")])
    within = reducing[pipelines.within[reducing]]
    score = penalties.across_stages * min(len(reducing) - len(within), penalties.most)
    groups = {kind: sets.tie(labels.get(kind, none)) for kind in ("cp", "ep", "tp")}
    groups["dp"] = joint = sets.tie(within)
    gradient, summed = labels.get("dp", none), np.sort(np.concatenate([none, *classes]))
    reduced = sets.tie(inside := summed[pipelines.within[summed]])
    if not sets.crosses_rails(pipelines.edges):  # where even chains cross rails, ranks were placed so
        groups["dp"], reduced = sets.join_hosts(gradient, within), sets.join_hosts(gradient, inside)
    score += score_pipelines(sets, pipelines, members)
    for own in groups.values():
        odd = len(members) - own.usually if own.groups else 0
        score += penalties.odd_group * min(odd, penalties.most)
    score += penalties.embedding_inside * min(
        _inside_chains(edges, labels.get("embedding", none), pipelines), penalties.most
    )
    half_a_stage = len(members) / (2 * len(pipelines.chains[0]) if pipelines.chains else 2)
    reductions = [sets.tie(own) for own in classes if sets.count_senders(own) >= half_a_stage]
    sizes = {kind: own.usual for kind, own in groups.items()}
    score += _reduction_score(reductions, joint.usual, sizes, penalties)
    if reduced.usual < sizes["dp"]:
        score += penalties.never_reduced
    if sets.gather_in_part(gradient, summed):
        score += penalties.gathered_in_part
    score += penalties.unbalanced * min(sets.count_unbalanced(gradient), penalties.most)
    score += penalties.answered_later * min(sets.count_answered_later(gradient), penalties.most)
    score += penalties.mixed_lengths * _mix_lengths(sets, [pipelines.edges, labels.get("cp", none)])
    score += penalties.gradients_vary * any((sets.variation(own) or 0.0) > VARIES for own in classes)
    if not len(gradient):
        score += penalties.no_gradients_in_pipeline if pipelines.chains else penalties.no_gradients
    return GridFit({kind: own.groups for kind, own in groups.items()}, sizes, score)


def _mix_lengths(sets: EdgeSets, kinds: Sequence[Int]) -> bool:
    """Whether one kind of what depends on the lengths of sequences varies much more than another."""
    found = [known for own in kinds if (known := sets.variation(own)) is not None]
    return len(found) > 1 and max(found) > max(VARIES, DEVIATIONS * min(found))


def score_pipelines(sets: EdgeSets, pipelines: Pipelines, members: Int) -> float:
    """Log-probability of endpoints outside the chains of a pipelined job, and of those that no partner answers."""
    penalties = sets.penalties
    inside = len(pipelines.chains) * len(pipelines.chains[0]) if pipelines.chains else 0
    outside = len(members) - inside if len(pipelines.edges) else 0
    one_way = sets.count_one_way(pipelines.edges)
    return penalties.outside_chains * min(outside, penalties.most) + penalties.one_way * min(one_way, penalties.most)


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
    reductions: Sequence[EndpointSets], joint: int, sizes: Mapping[str, int], penalties: GridPenalties
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
    spans = [own.usual for own in reductions]
    score = 0.0 if joint in spans else penalties.reduced_in_steps
    score += penalties.uneven_span * any(joint % own.usual for own in reductions if own.even)
    if sizes["ep"] > 1 and sizes["dp"] > sizes["ep"] and len(spans) < 2:
        score += penalties.no_expert_gradients
    if sizes["cp"] > 1 and sizes["ep"] == 1 and min(spans) < joint in spans:
        score += penalties.reduced_in_part
    return score
