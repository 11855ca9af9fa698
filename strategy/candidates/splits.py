"""What stays inside hosts -> how likely each split between tensor and data parallelism is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int
from strategy.candidates.labelings import Labeling
from strategy.candidates.tensor_groups import StepEvidence, last_starts, measure_steps
from strategy.closure import Members
from strategy.options import LayoutOptions
from strategy.placement import Seat
from strategy.traffic.stream_profiles import StreamProfiles
from strategy.traffic.traffic_edges import TrafficEdges


@dataclass(frozen=True, slots=True)
class Split:
    """One way to divide the ranks that no traffic between hosts distinguishes.

    Attributes:
        tensor: ranks of a tensor group.
        replicas: data-parallel replicas among ranks of one gradient ring position.
        local_size: endpoints of a tensor group on one host.
        probability: of this split.
        convention: factor to the probability that the contract for layouts gives it where the feed hides what decides;
            1 elsewhere.
        by_movement: whether it follows from when endpoints send, not from the convention.
    """

    tensor: int
    replicas: int
    local_size: int
    probability: float
    convention: float
    by_movement: bool


@dataclass(frozen=True, slots=True)
class Inside:
    """What a labeling leaves inside hosts.

    Attributes:
        rest: endpoints of one host and stage that share no group between hosts.
        gpus: GPUs behind each NIC; None where NICs differ or the inventory does not say.
        steps: evidence on which endpoints compute in step; None where there is none.
        unseen: whether the feed hides who computes in step.
        in_part: whether it would take endpoints that were not seen to show who computes in step.
        at_once, messages: messages of a micro-batch that leave an endpoint at once, and all; None where they differ.
    """

    rest: int
    gpus: int | None
    steps: StepEvidence | None
    unseen: bool
    in_part: bool
    at_once: int | None
    messages: int | None


def look_inside(
    labeling: Labeling,
    edges: TrafficEdges,
    profiles: StreamProfiles | None,
    members: Int,
    seats: Mapping[int, Seat],
    options: LayoutOptions,
    hidden_stages: int = 1,
) -> Inside | None:
    """What a labeling leaves inside hosts; None where its groups do not divide the endpoints.

    Without `profiles` no start is known well enough to show who sends in step, or at once. `hidden_stages` are those of
    a pipeline that was not seen; with 0 there is no grid.
    """
    fit, chains = labeling.fit, labeling.pipelines.chains
    stages = len(chains[0]) if chains else hidden_stages
    seen = stages * fit.sizes["dp"] * fit.sizes["tp"]
    if not seen or len(members) % seen or (chains and hidden_stages > 1):
        return None
    rest = len(members) // seen
    gpus = {seats[e].gpus if e in seats else None for e in members.tolist()}
    at_once, messages = count_messages(edges, labeling.pipelines.edges) if profiles is not None else (None, None)
    known = gpus.pop() if len(gpus) == 1 else None
    in_part = bool(chains) and not np.isin(members, edges.src[edges.edge]).all()
    divided, steps = bool(chains) and rest > 1, None
    if divided and profiles is not None:
        steps = _steps(labeling, profiles, edges, members, seats, options, in_part)
    return Inside(rest, known, steps, divided and profiles is None, in_part, at_once, messages)


def count_messages(edges: TrafficEdges, chosen: Int) -> tuple[int, int] | tuple[None, None]:
    """Messages that leave an endpoint at once between stages, and all of one micro-batch; None where they differ.

    Ranks that share a NIC share connections or not: those of a pair of endpoints that carry as many transfers add up.
    """
    if not len(chosen):
        return None, None
    of = np.stack([edges.src, edges.dst, edges.transfers])[:, chosen]
    pair = np.unique(of, axis=1, return_inverse=True)[1].ravel()
    every, together = np.bincount(pair, edges.messages[chosen]), np.zeros(int(pair.max()) + 1)
    np.maximum.at(together, pair, edges.at_once[chosen])
    at_once, agree = Counter(together.tolist()).most_common(1)[0]
    messages, most = Counter(every[together == at_once].tolist()).most_common(1)[0]
    return (int(at_once), int(messages)) if agree * 5 >= 4 * len(every) and 2 * most > agree else (None, None)


def _steps(
    labeling: Labeling,
    profiles: StreamProfiles,
    edges: TrafficEdges,
    members: Int,
    seats: Mapping[int, Seat],
    options: LayoutOptions,
    in_part: bool,
) -> StepEvidence | None:
    """Evidence of who computes in step, from last messages to the neighboring stages.

    Where endpoints are seen `in_part`, cells are as large as hosts have endpoints for each of their stages.
    """
    chosen = np.zeros(len(edges), np.bool_)
    chosen[labeling.pipelines.edges] = True
    stage = labeling.pipelines.stage
    chosen &= np.abs(stage[edges.src] - stage[edges.dst]) == 1
    src = edges.src[edges.edge]
    ahead = stage[edges.dst[edges.edge]] > stage[src]
    both = last_starts(profiles, chosen[edges.edge], 2 * src + ahead, 2 * len(stage)).reshape(len(stage), -1)
    known = [e for e in members.tolist() if e < len(stage)]
    seen = {e: both[e] for e in known if not np.isnan(both[e]).all()}
    cells: dict[tuple[str | None, int], list[int]] = {}
    for e in known:
        cells.setdefault((seats[e].host if e in seats else None, int(stage[e])), []).append(e)
    on_host = Counter(seats[e].host if e in seats else None for e in members.tolist())
    stages = Counter(where for where, own in cells if own >= 0)
    size = max(on_host[where] // stages[where] for where in stages) if in_part else 0
    limited = [tuple(own[: options.most_compared]) for own in cells.values()]
    host = {e: seats[e].host if e in seats else e for e in known}
    tied = {e: (kind, n) for kind in ("cp", "ep") for n, g in enumerate(labeling.fit.groups[kind]) for e in g}
    groups = [_apart(g, host, tied) for g in labeling.fit.groups["dp"]]
    return measure_steps(seen, limited, groups, options.clock_floor_ns, options.step, size)


def _apart(group: Members, host: Mapping[int, object], tied: Mapping[int, object]) -> Members:
    """Members of a gradient group that meet nowhere else: one of each host, and of each context or expert group."""
    found: list[int] = []
    seen: set[object] = set()
    for e in group:
        own = {host[e], tied.get(e, ("alone", e))}
        if not own & seen:
            found.append(e)
            seen |= own
    return tuple(found)


def in_phase(labeling: Labeling, edges: TrafficEdges, options: LayoutOptions) -> bool:
    """Whether most gradient groups begin to send together, as all do where there are no stages."""
    begin: dict[int, float] = {}
    for endpoint, first_ns in zip(edges.src.tolist(), edges.first_ns.tolist(), strict=True):
        begin[endpoint] = min(first_ns, begin.get(endpoint, np.inf))
    usual = np.array(
        [
            np.median([begin[e] for e in g if e in begin] or [np.inf])
            for g in labeling.fit.groups["dp"] or labeling.fit.groups["tp"]
        ]
    )
    if len(usual) < 2:
        return True
    near = np.abs(usual - np.quantile(usual, 0.5, method="lower")) <= options.in_phase_share * edges.period_ns
    return 2 * int(near.sum()) > len(usual)


def split_ranks(inside: Inside, labeling: Labeling, hosts_known: bool, options: LayoutOptions) -> list[Split]:
    """All splits of what stays inside hosts, with probabilities that sum to one."""
    local_sizes = _local_sizes(inside, hosts_known, options)
    behind = _behind(inside, labeling, hosts_known, options)
    found = []
    unseen = inside.unseen and hosts_known and not inside.in_part
    for local_size, (p_contract, moved) in local_sizes.items():
        p_local = _share(local_size == inside.rest, options.whole_host, len(local_sizes)) if unseen else p_contract
        for (tensor, replicas), (p_nic, seen) in behind.items():
            found.append(
                Split(
                    local_size * tensor,
                    inside.rest // local_size * replicas,
                    local_size,
                    p_local * p_nic,
                    p_contract / p_local if unseen else 1.0,
                    moved and seen,
                )
            )
    return found


def _local_sizes(inside: Inside, hosts_known: bool, options: LayoutOptions) -> dict[int, tuple[float, bool]]:
    """Endpoints of a tensor group on one host -> probability, and whether movement shows it."""
    sizes = [t for t in range(1, inside.rest + 1) if inside.rest % t == 0]
    if len(sizes) == 1:
        return {1: (1.0, True)}
    if inside.steps is None:
        # where hosts are unknown, nothing shows that the remaining ranks share one
        whole = options.convention if hosts_known and not inside.in_part else 1 / len(sizes)
        return {t: (_share(t == inside.rest, whole, len(sizes)), False) for t in sizes}
    log = {t: inside.steps.log_likelihood.get(t, -30.0) for t in sizes}
    top = max(log.values())
    weight = {t: float(np.exp(v - top)) * (1.0 if t == inside.rest else 1 / (len(sizes) - 1)) for t, v in log.items()}
    total = sum(weight.values())
    return {t: (w / total, True) for t, w in weight.items()}


def _share(is_whole: bool, whole: float, sizes: int) -> float:
    """Probability of one of some sizes, where one has `whole` and the others share the rest."""
    return whole if is_whole else (1 - whole) / (sizes - 1)


def _behind(
    inside: Inside, labeling: Labeling, hosts_known: bool, options: LayoutOptions
) -> dict[tuple[int, int], tuple[float, bool]]:
    """(tensor ranks, replicas) behind each NIC -> probability, and whether movement shows it."""
    gpus = inside.gpus
    if hosts_known and gpus == 1:
        return {(1, 1): (1.0, True)}
    shown = _shown_behind(inside, gpus)
    if gpus is None and shown is not None and inside.at_once == inside.messages == 1:
        return {(1, 1): (1.0, True)}
    count = gpus or inside.messages or 1
    ways = [(t, count // t) for t in range(1, count + 1) if count % t == 0]
    if gpus is None:  # messages at once may be queue pairs or channels of one GPU
        at_once, local_sizes = shown or (1, 1)
        ways = [(t, local_sizes) for t in range(1, at_once + 1) if at_once % t == 0]
        return {way: (1 / len(ways), len(ways) == 1) for way in ways}
    hidden = labeling.fit.sizes["cp"] > 1 or labeling.fit.sizes["ep"] > 1
    sure = options.shown_behind_nic if shown is not None and not hidden else 0.5
    best = shown if shown is not None else (count, 1)
    if len(ways) == 1:
        return {ways[0]: (1.0, True)}
    return {way: (sure if way == best else (1 - sure) / (len(ways) - 1), shown is not None) for way in ways}


def _shown_behind(inside: Inside, gpus: int | None) -> tuple[int, int] | None:
    """Tensor ranks and replicas behind a NIC by the messages that leave it at once; None where they do not show it."""
    at_once, messages = inside.at_once, inside.messages
    if at_once is None or messages is None or messages % max(at_once, 1):
        return None
    if gpus is None:
        return at_once, messages // at_once
    pairs = messages // gpus if messages % gpus == 0 else 0  # queue pairs of each GPU
    if not pairs or at_once % pairs:
        return None
    return at_once // pairs, messages // at_once
