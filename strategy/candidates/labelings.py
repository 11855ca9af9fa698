"""Classes of edges -> labelings: which role each class plays, the most likely ones first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Int
from strategy.candidates.edge_sets import EdgeSets
from strategy.candidates.grid_fit import GridFit, Pipelines, build_pipelines, fit_grid, score_pipelines
from strategy.candidates.role_table import COLLECTIVE_ROLES, KIND, Table, load_role_table, log_likelihood
from strategy.options import LayoutOptions
from strategy.placement import Seat
from strategy.traffic.class_features import SHAPE, TIMING, Passes, measure_shape, measure_timing, to_bins
from strategy.traffic.edge_classes import EdgeClass, classify
from strategy.traffic.traffic_edges import AT_ONCE, SAME_BYTES, TrafficEdges


@dataclass(frozen=True, slots=True)
class Labeling:
    """A role for every edge.

    Attributes:
        roles: (edges,) role of each edge.
        pipelines: chains of its point-to-point edges.
        fit: its process groups.
        log_score: log-likelihood of features and grid, relative to classes that look like any, and log-prior.
        pipeline_score: what of it is the pipelines' own.
    """

    roles: tuple[str, ...]
    pipelines: Pipelines
    fit: GridFit
    log_score: float
    pipeline_score: float


@dataclass(frozen=True, slots=True)
class _Evidence:
    """A job as all its labelings see it."""

    edges: TrafficEdges
    members: Int
    host: Int
    sets: EdgeSets
    classes: list[EdgeClass]
    table: Table
    options: LayoutOptions
    shapes: dict[bytes, dict[str, int]] = field(default_factory=dict)

    def weight(self, chosen: Int) -> float:
        """How much a class counts: features of few edges are noisy, and classes depend on one another."""
        return self.options.feature_weight * min(
            1.0, self.options.one_edge_weight + len(chosen) / max(len(self.members), 1)
        )

    def shape(self, chosen: Int) -> dict[str, int]:
        """Binned features of some edges that depend on no others."""
        key = chosen.tobytes()
        if key not in self.shapes:
            self.shapes[key] = to_bins(measure_shape(self.edges, chosen, self.host), SHAPE)
        return self.shapes[key]


class _Scored(NamedTuple):
    """A labeling whose roles are still those of pieces; the edges of no piece are point-to-point."""

    labels: list[tuple[str, Int]]
    pipelines: Pipelines
    fit: GridFit
    log_score: float
    pipeline_score: float

    def labeling(self, edges: int) -> Labeling:
        """The labeling of so many edges."""
        named = np.full(edges, "pp", dtype=object)
        for role, own in self.labels:
            named[own] = role
        return Labeling(tuple(named.tolist()), self.pipelines, self.fit, self.log_score, self.pipeline_score)


def find_labelings(
    edges: TrafficEdges, members: Int, host: Int, seats: Mapping[int, Seat], options: LayoutOptions
) -> list[Labeling]:
    """The most likely labelings of a job's edges, best first.

    Args:
        edges: the job's edges.
        members: (e,) address codes of its endpoints.
        host: (codes,) host of each address code; one of its own where it is unknown.
        seats: where endpoints sit; may be empty.
        options: constants.
    """
    sets = EdgeSets(edges, seats, options.penalties)
    job = _Evidence(edges, members, host, sets, classify(edges), load_role_table(), options)
    found = [one for part in _choose_pipelines(job) for one in _label_rest(job, part)]
    found.sort(key=lambda one: -one.log_score)
    return [one.labeling(len(edges)) for one in found[: options.beam]]


def _ratio(role: str, bins: Mapping[str, int], table: Table) -> float:
    """Log-likelihood of features under a role, over that of any role."""
    return log_likelihood(role, bins, table) - log_likelihood("any", bins, table)


@dataclass(frozen=True, slots=True)
class _Part:
    """Which of some classes' edges are point-to-point, and the pieces that are not.

    Attributes:
        chosen: sets of point-to-point edges, each of one class.
        rest: pieces that are something else.
        gain: log-likelihood of the former's shape.
        bound: `gain`, and what the best roles of the others would add by their shape.
    """

    chosen: tuple[Int, ...] = ()
    rest: tuple[Int, ...] = ()
    gain: float = 0.0
    bound: float = 0.0


def _choose_pipelines(job: _Evidence) -> list[_Part]:
    """Choices of the point-to-point edges, by an upper bound of what can come of them."""
    found = [_Part()]
    for family in _families(job):
        own = _family_parts(job, family)
        best = max(part.bound for part in own)
        near = [part for part in own if part.bound > best - job.options.undecided]
        grown = [
            _Part(a.chosen + b.chosen, a.rest + b.rest, a.gain + b.gain, a.bound + b.bound) for a in found for b in near
        ]
        found = sorted(grown, key=lambda part: -part.bound)[: job.options.pipelines]
    return found


def _families(job: _Evidence) -> list[list[EdgeClass]]:
    """Classes of as many transfers whose bytes are multiples of one another.

    Where several ranks of a host share a NIC, one connection carries what one or several of them send.
    """
    sizes = [float(np.median(job.edges.iteration_bytes[one.edges])) for one in job.classes]
    counts = [float(np.median(job.edges.transfers[one.edges])) for one in job.classes]
    found: dict[int, list[EdgeClass]] = {}
    for n in np.argsort(sizes, kind="stable").tolist():
        bases = (b for b in found if counts[b] == counts[n] and _is_multiple(sizes[n], sizes[b], job.options))
        found.setdefault(next(bases, n), []).append(job.classes[n])
    return list(found.values())


def _is_multiple(size: float, base: float, options: LayoutOptions) -> bool:
    times = round(size / max(base, 1.0))
    return 1 < times <= options.ranks_behind_nic and abs(size - times * base) <= SAME_BYTES * size


def _family_parts(job: _Evidence, family: Sequence[EdgeClass]) -> list[_Part]:
    """Classes as nothing, all, one of them, one piece, or all pieces that take turns point-to-point.

    The latter are several where forward and backward messages begin far apart, next to collectives of as many bytes;
    messages of stages may return by other pairs, so that pieces that go one way may belong to them.
    """
    pieces = [piece for one in family for piece in one.pieces]
    other = [max(s.values()) for s in (_shape_scores(job, piece, COLLECTIVE_ROLES) for piece in pieces)]
    every = range(len(pieces))
    owner = [n for n, one in enumerate(family) for _ in one.pieces]
    turns = np.array([_takes_turns(job.edges, piece) for piece in pieces])
    one_way = [bool(np.isnan(job.edges.concurrency[piece]).all()) for piece in pieces]
    counts = np.array([float(np.median(job.edges.transfers[piece])) for piece in pieces])
    choices = [
        (),
        tuple(every),
        *(tuple(n for n in every if owner[n] == one) for one in range(len(family))),
        *((n,) for n in every),
        tuple(n for n in every if turns[n]),
        tuple(n for n in every if turns[n] or (one_way[n] and counts[n] in counts[turns])),
    ]
    found = []
    for choice in dict.fromkeys(choices):
        rest = [n for n in every if n not in choice]
        bound = sum(other[n] for n in rest)
        left = tuple(pieces[n] for n in rest)
        if not choice:
            found.append(_Part(rest=left, bound=bound))
            continue
        chosen = np.sort(np.concatenate([pieces[n] for n in choice]))
        gain = _shape_scores(job, chosen, ("pp",))["pp"]
        found.append(_Part((chosen,), left, gain, gain + bound))
    return found


def _takes_turns(edges: TrafficEdges, piece: Int) -> bool:
    """Whether most edges whose reverse direction carries as much take turns with it."""
    known = edges.concurrency[piece][~np.isnan(edges.concurrency[piece])]
    return bool(len(known)) and float(np.median(known)) < AT_ONCE


def _shape_scores(job: _Evidence, chosen: Int, roles: Sequence[str]) -> dict[str, float]:
    """Weighted log-likelihood of the shape of some edges under each role."""
    shape = job.shape(chosen)
    return {role: job.weight(chosen) * _ratio(role, shape, job.table) for role in roles}


def find_passes(
    edges: TrafficEdges, pipelines: Pipelines, pieces: Sequence[Int], endpoints: int, options: LayoutOptions
) -> Passes:
    """When each sender's passes run.

    With a pipeline: from its first to its last point-to-point byte. Without one: until the last collective begins
    that a good part of the endpoints takes part in.
    """
    period = max(edges.period_ns, 1.0)
    starts = [float(np.median(edges.first_ns[p])) / period for p in pieces if len(p) >= options.broad_share * endpoints]
    latest = max((float(np.median(edges.last_ns[p])) / period for p in pieces), default=1.0)
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    begin, end = np.full(codes, np.inf), np.full(codes, -np.inf)
    for at in (edges.src[pipelines.edges], edges.dst[pipelines.edges]):
        np.minimum.at(begin, at, edges.first_ns[pipelines.edges])
        np.maximum.at(end, at, edges.last_ns[pipelines.edges])
    own = np.isfinite(begin[edges.src])
    last = max(starts, default=1.0)
    return Passes(
        np.where(own, np.maximum(np.where(own, begin[edges.src], 0.0) / period, 0.0), 0.0),
        np.where(own, np.minimum(np.where(own, end[edges.src], 0.0) / period, 1.0), last),
        latest - options.together_share,
        max(float(np.median(edges.transfers[pipelines.edges])), 1.0) if len(pipelines.edges) else np.nan,
    )


def _label_rest(job: _Evidence, part: _Part) -> list[_Scored]:
    """Labelings with these point-to-point edges: the best roles of all other pieces, as the grid allows them."""
    edges, options = job.edges, job.options
    pipelines = build_pipelines(edges, np.sort(np.concatenate([np.zeros(0, np.int64), *part.chosen])))
    passes = find_passes(edges, pipelines, part.rest, len(job.members), options)
    roles = (*COLLECTIVE_ROLES, "embedding") if part.chosen else COLLECTIVE_ROLES
    choices = [_piece_roles(job, piece, passes, roles) for piece in part.rest]
    pipeline_score = part.gain + score_pipelines(job.sets, pipelines, job.members)
    fits: dict[tuple[object, ...], GridFit] = {}  # roles of one kind fit alike
    found: list[_Scored] = []
    for gain, labels in _best_sums(choices, options.beam):
        bound = part.gain + gain + _log_prior(labels, options)
        if found and bound < max(one.log_score for one in found) - options.negligible:
            continue  # no grid adds to a score
        kinds = _edges_by_kind(labels)
        reducing = [own for role, own in labels if KIND.get(role) == "dp" and role not in {"param_gather", "tree"}]
        reducing += _double_trees(edges, [own for role, own in labels if role == "tree"])
        key = (*kinds, *(own.tobytes() for own in (*kinds.values(), *reducing)))
        if key not in fits:
            fits[key] = fit_grid(job.sets, pipelines, kinds, reducing, job.members)
        fit = fits[key]
        odd = sum(fit.sizes[kind] & (fit.sizes[kind] - 1) > 0 for kind in ("cp", "ep"))
        score = bound + options.odd_size_prior * odd + fit.log_score
        found.append(_Scored(labels, pipelines, fit, score, pipeline_score))
    return found


def _double_trees(edges: TrafficEdges, classes: Sequence[Int]) -> list[Int]:
    """Classes of double trees: where a pair is linked in both, it carries twice as much, so two classes may be one."""
    joint: list[list[Int]] = []
    least = np.inf
    for own in sorted(classes, key=lambda each: float(np.median(edges.iteration_bytes[each]))):
        size = float(np.median(edges.iteration_bytes[own]))
        if joint and size <= 2 * (1 + SAME_BYTES) * least:
            joint[-1].append(own)
        else:
            joint.append([own])
            least = size
    return [np.sort(np.concatenate(parts)) for parts in joint]


def _log_prior(roles: list[tuple[str, Int]], options: LayoutOptions) -> float:
    """Log-prior of the kinds of exchange that a labeling has, and of classes that no program explains."""
    names = [role for role, _ in roles]
    prior = options.kind_prior * sum(kind in names for kind in ("cp", "ep", "embedding"))
    for role, own in options.program_priors.items():
        prior += own * (role in names)
    if "fsdp" in names and not {"all_reduce", "tree", "direct", "param_gather"}.isdisjoint(names):
        prior += options.hybrid_sharding_prior
    return prior + options.repeated_kind_prior * sum(max(names.count(k) - 1, 0) for k in ("cp", "ep", "param_gather"))


def _piece_roles(
    job: _Evidence, piece: Int, passes: Passes, roles: Sequence[str]
) -> list[tuple[float, tuple[str, Int]]]:
    """The roles of some edges that are not out of the question, best first, with their log-likelihood.

    Timing is relative to passes that depend on the labeling, so it counts relative to the best role's: it can only
    speak against one.
    """
    timing = to_bins(measure_timing(job.edges, piece, passes), TIMING)
    when = {role: log_likelihood(role, timing, job.table) for role in roles}
    best = max(when.values())
    shape = _shape_scores(job, piece, roles)
    scored = {role: shape[role] + job.weight(piece) * (when[role] - best) for role in roles}
    scored["other"] += job.options.other_prior
    least = max(scored.values()) - job.options.undecided
    near = [(score, (role, piece)) for role, score in scored.items() if score > least]
    return sorted(near, key=lambda one: -one[0])


def _edges_by_kind(roles: list[tuple[str, Int]]) -> dict[str, Int]:
    found: dict[str, list[Int]] = {}
    for role, own in roles:
        found.setdefault(KIND.get(role, role), []).append(own)
    return {kind: np.sort(np.concatenate(own)) for kind, own in found.items()}


def _best_sums(
    choices: list[list[tuple[float, tuple[str, Int]]]], most: int
) -> list[tuple[float, list[tuple[str, Int]]]]:
    """The best combinations of one choice of each list, by their sum."""
    found: list[tuple[float, list[tuple[str, Int]]]] = [(0.0, [])]
    for options in choices:
        grown = [(score + more, roles, role) for score, roles in found for more, role in options]
        best = sorted(grown, key=lambda one: -one[0])[:most]
        found = [(score, [*roles, role]) for score, roles, role in best]
    return found
