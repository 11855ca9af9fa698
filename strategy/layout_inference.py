"""Transfers of one job -> its layout: the posterior over training programs that explain its traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.transfers import ROLES
from datamodel.reports.layout import Alternative, Layout, Sharding, Sizes
from strategy.assumptions import list_assumptions
from strategy.candidates.hidden_links import complete_edges
from strategy.candidates.labelings import Labeling, find_labelings
from strategy.candidates.role_table import KIND
from strategy.closure import Members
from strategy.current_members import select_current, select_whole
from strategy.former_layout import pool_with_former
from strategy.options import LayoutOptions
from strategy.placement import Seat
from strategy.posterior import (
    SEEN,
    SIZE_NAMES,
    Candidate,
    by_convention,
    find_candidates,
    list_hidden_programs,
    marginal,
    merge_sizes,
)
from strategy.tensor_layout import place_inside_hosts
from strategy.traffic.stream_profiles import build_profiles
from strategy.traffic.traffic_edges import TrafficEdges, build_edges, without_exact_times

OPTIONS = LayoutOptions()
NO_PAIRS = np.zeros((0, 2), np.int64)
NO_ENDPOINTS = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class InferredLayout:
    """How one job is parallelized.

    Attributes:
        layout: sizes with confidence and alternatives.
        groups: kind -> groups of address codes; pp in stage order, the others ascending.
        role: stream number -> index into ROLES.
        stage: address code -> pipeline stage; 0 for all without a pipeline.
        world_size: GPUs; None where NICs may serve several.
        log_score: log-likelihood of the program, relative to one that sends whatever any does.
    """

    layout: Layout
    groups: dict[str, tuple[Members, ...]]
    role: dict[int, int]
    stage: dict[int, int]
    world_size: int | None
    log_score: float = -np.inf


# Nothing is known of how a job is parallelized.
UNKNOWN_LAYOUT = InferredLayout(layout=Layout(), groups={}, role={}, stage={}, world_size=None)


def infer_layout(
    transfers: Frame,
    iteration_ends_ns: Int,
    endpoints: Int,
    seats: Mapping[int, Seat],
    *,
    unexplained: Int = NO_PAIRS,
    unreported: Int = NO_ENDPOINTS,
    exact_bytes: bool = True,
    exact_starts: bool = True,
    former: Layout | None = None,
    options: LayoutOptions = OPTIONS,
) -> InferredLayout:
    """Estimate the layout of one job by comparing training programs.

    1. What each directed pair carries every iteration becomes edges, and edges that carry alike become classes.
    2. A labeling gives each class a role. It is scored by how such classes look in simulated runs, and by how well its
       process groups tile one grid of ranks.
    3. What a labeling leaves inside hosts is split between tensor and data parallelism by who sends in step.
    4. Sizes whose posterior is decisive are answered; others are null, with the alternatives.

    Args:
        transfers: the job's transfers.
        iteration_ends_ns: (iterations,) end of each iteration.
        endpoints: (e,) address codes.
        seats: where endpoints sit; may be empty.
        unexplained: (pairs, 2) address codes between which more goes on than is among the transfers. A pipeline may be
            in it, so that no size is answered, not even that there is none; what may be is among the alternatives.
        unreported: endpoints of the job whose switches export nothing. They are ranks of the grid, in groups like those
            that were seen as a whole; where none was, what they must send is added (`silent_edges`).
        exact_bytes: whether bytes are known well enough to show how they change from iteration to iteration, and which
            streams of a pair carry one message; those that follow from samples are not. Edges that carry as much then
            act as most of them do (`without_exact_times`).
        exact_starts: whether starts are known well enough to show who sends in step; those drawn through samples are
            not.
        former: what the window before showed of the same job; None where there was none.
        options: constants of the model.
    """
    transfers, endpoints = select_current(transfers, endpoints, len(iteration_ends_ns))
    transfers = select_whole(transfers, unreported)
    profiles = build_profiles(transfers, iteration_ends_ns)
    edges = build_edges(profiles, exact=exact_bytes)
    if not exact_bytes:
        edges = without_exact_times(edges)
    if not len(edges):
        return UNKNOWN_LAYOUT
    host = _hosts(edges, seats)
    in_part = np.isin(edges.dst, unreported).any()
    if in_part:
        edges = complete_edges(edges, unreported, endpoints, host, seats)
        host = _hosts(edges, seats)  # of further endpoints, too
    ends = np.union1d(edges.src, edges.dst)
    seen = ends if len(unreported) else endpoints
    labelings = find_labelings(edges, seen, host, seats, options)
    timed = profiles if exact_starts else None
    hidden = list_hidden_programs(unexplained, options) if len(unexplained) else SEEN
    candidates = find_candidates(labelings, edges, timed, endpoints, seats, options, hidden)
    if former is not None:
        candidates = pool_with_former(candidates, former, options)
    likeliest = next((one for one in candidates if one.split is not None), candidates[0])
    best = likeliest.labeling
    answers = set() if len(unexplained) else set(SIZE_NAMES)
    if in_part:
        answers &= _shown_in_part(edges, best, endpoints, unreported)
    inner = place_inside_hosts(likeliest, endpoints, seats)
    stage = best.pipelines.stage_of or dict.fromkeys(endpoints.tolist(), 0)
    groups = {
        "dp": inner.gradients, "tp": inner.tensor, "pp": tuple(best.pipelines.chains),
        "ep": best.fit.groups["ep"], "cp": best.fit.groups["cp"],
    }  # fmt: skip
    return InferredLayout(
        layout=_layout(candidates, likeliest, edges, seats, options, answers=answers),
        groups=groups,
        role=_stream_roles(edges, best),
        stage=stage,
        world_size=_world_size(endpoints, seats),
        log_score=best.log_score,
    )


def _layout(
    candidates: Sequence[Candidate],
    likeliest: Candidate,
    edges: TrafficEdges,
    seats: Mapping[int, Seat],
    options: LayoutOptions,
    *,
    answers: Collection[str],
) -> Layout:
    posterior = merge_sizes(candidates)
    answered = {
        name: (int(value) if name in answers and value is not None and p >= options.decisive else None)
        for name, (value, p) in marginal(merge_sizes(by_convention(candidates))).items()
    }
    fixed = tuple(answered.values())
    agreeing = sum(
        p for sizes, p in posterior.items() if all(f in {None, s} for f, s in zip(fixed, sizes, strict=True))
    )
    known = Sizes(**answered)
    return Layout(
        **answered,
        sharding=_sharding(edges, likeliest.labeling),
        confidence=round(agreeing, 3) if any(v is not None for v in answered.values()) else 0.0,
        assumed=list_assumptions(known, likeliest, seats),
        alternatives=_alternatives(posterior, options),
    )


def _shown_in_part(edges: TrafficEdges, best: Labeling, endpoints: Int, unreported: Int) -> set[str]:
    """Sizes that are known where no group was seen as a whole.

    Where all endpoints send and receive all are, if some chain begins and ends with endpoints that were seen: others
    might go on behind their ends. Else such chains still show the number of stages, if all endpoints are in chains.
    """
    chains = best.pipelines.chains
    ended = any(not np.isin((chain[0], chain[-1]), unreported).any() for chain in chains)
    if np.isin(endpoints, edges.src).all() and np.isin(endpoints, edges.dst).all() and (ended or not chains):
        return set(SIZE_NAMES)
    return {"pp"} if ended and len(chains) * len(chains[0]) == len(endpoints) else set()


def _alternatives(posterior: Mapping[tuple[int | None, ...], float], options: LayoutOptions) -> tuple[Alternative, ...]:
    """Sizes by probability, until `options.listed` of what known programs have is covered, and what none of them has.

    None where the first of all covers so much.
    """
    known = sum(p for sizes, p in posterior.items() if None not in sizes)
    found: list[Alternative] = []
    total = 0.0
    for sizes, p in sorted(posterior.items(), key=lambda item: (-item[1], [v or 0 for v in item[0]])):
        if total >= options.listed * known if None not in sizes else p < 1 - options.listed:
            continue
        total += p if None not in sizes else 0.0
        found.append(Alternative(sizes=Sizes(**dict(zip(SIZE_NAMES, sizes, strict=True))), probability=round(p, 3)))
    return tuple(found) if len(found) > 1 else ()


def _hosts(edges: TrafficEdges, seats: Mapping[int, Seat]) -> Int:
    """(codes,) number of the host of each address code; one of its own where it is not known."""
    codes = int(max(edges.src.max(initial=0), edges.dst.max(initial=0))) + 1
    host = np.arange(codes)
    number: dict[str, int] = {}
    for code in np.unique(np.concatenate([edges.src, edges.dst])).tolist():
        if code in seats:
            host[code] = codes + number.setdefault(seats[code].host, len(number))
    return host


def _sharding(edges: TrafficEdges, best: Labeling) -> Sharding | None:
    """FSDP where most gradient bytes are exchanged all through the passes; ZeRO where pairs reduce and gather apart."""
    sent: Counter[str] = Counter()
    for role, size in zip(best.roles, edges.iteration_bytes.tolist(), strict=True):
        sent[role] += size
    total = sum(size for role, size in sent.items() if KIND.get(role) == "dp")
    if 2 * sent["fsdp"] > total:
        return "fsdp"
    chosen = np.flatnonzero([KIND.get(role) == "dp" for role in best.roles])
    return "zero" if sent["param_gather"] or _two_sizes(edges, chosen) else None


def _two_sizes(edges: TrafficEdges, chosen: Int) -> bool:
    """Whether most directed pairs reduce and gather in separate streams of different size."""
    if not len(chosen):
        return False
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    key = edges.src[chosen] * codes + edges.dst[chosen]
    pair, index, count = np.unique(key, return_inverse=True, return_counts=True)
    size = edges.iteration_bytes[chosen]
    least, most = np.full(len(pair), np.inf), np.zeros(len(pair))
    np.minimum.at(least, index, size)
    np.maximum.at(most, index, size)
    return bool(((count == 2) & (most > 1.5 * least)).mean() > 0.5)


def _stream_roles(edges: TrafficEdges, best: Labeling) -> dict[int, int]:
    kind = [KIND.get(role, role) for role in best.roles]
    number = np.array([ROLES.index(k) if k in ROLES else ROLES.index("other") for k in kind], np.int64)
    return dict(zip(edges.streams.tolist(), number[edges.edge].tolist(), strict=True))


def _world_size(endpoints: Int, seats: Mapping[int, Seat]) -> int | None:
    gpus = [seats[e].gpus if e in seats else None for e in endpoints.tolist()]
    return sum(g for g in gpus if g is not None) if None not in gpus else None
