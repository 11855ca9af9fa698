"""Labelings and splits -> candidates: full sizes with their posterior probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.streams import Int
from strategy.candidates.labelings import Labeling
from strategy.candidates.splits import Inside, Split, in_phase, look_inside, split_ranks
from strategy.closure import Members, tied
from strategy.options import LayoutOptions
from strategy.placement import Seat
from strategy.traffic.stream_profiles import StreamProfiles
from strategy.traffic.traffic_edges import TrafficEdges

SIZE_NAMES = ("tp", "cp", "ep", "dp", "pp")
FullSizes = tuple[int | None, ...]
Groups = tuple[tuple[str, tuple[Members, ...]], ...]
NO_SIZES: FullSizes = (None,) * len(SIZE_NAMES)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One training program that may explain a job's traffic.

    Attributes:
        labeling: roles of all edges.
        inside, split: what it leaves inside hosts, and how that is divided; None where its groups make no grid.
        sizes: by `SIZE_NAMES`; all None where its groups make no grid.
        probability: posterior.
    """

    labeling: Labeling
    inside: Inside | None
    split: Split | None
    sizes: FullSizes
    probability: float


@dataclass(frozen=True, slots=True)
class HiddenProgram:
    """What traffic that was not recognized may be: a pipeline of so many stages, contexts, or experts."""

    probability: float
    stages: int = 1
    contexts: int = 1
    experts: int = 1


SEEN = (HiddenProgram(1.0),)


def find_candidates(
    labelings: Sequence[Labeling],
    edges: TrafficEdges,
    profiles: StreamProfiles | None,
    endpoints: Int,
    seats: Mapping[int, Seat],
    options: LayoutOptions,
    hidden: Sequence[HiddenProgram] = SEEN,
) -> list[Candidate]:
    """All candidates of the best labelings, the likeliest first; probabilities sum to one.

    Each choice of point-to-point edges has a further hypothesis: its collectives are none of the known ones, and look
    like any class, in no grid. Scores are relative to that (`labelings`), so its own is that of the pipelines and a
    log-prior. It leaves all sizes open but the pipelines', and those too where there are none: a pipeline may have been
    taken for something else. A labeling that leaves edges unexplained may have missed a part of the program: so much of
    its probability goes to none of the sizes.
    """
    top = labelings[0].log_score
    near = [one for one in labelings if one.log_score > top - options.negligible]
    found = _none_of_these(labelings, top, options)
    looked: dict[tuple[bytes, Groups, int], Inside | None] = {}
    for labeling, program in ((one, p) for one in near for p in _programs(one, hidden, edges, endpoints, options)):
        weight = float(np.exp(labeling.log_score - top)) * program.probability
        # labelings that differ in nothing but the programs of their collectives leave the same inside hosts
        key = labeling.pipelines.edges.tobytes(), tuple(sorted(labeling.fit.groups.items())), program.stages
        if key not in looked:
            looked[key] = look_inside(labeling, edges, profiles, endpoints, seats, options, program.stages)
        inside = looked[key]
        if inside is None:
            share = weight * (options.no_grid if program.stages else 1.0)
            found.append(Candidate(labeling, None, None, NO_SIZES, share))
            continue
        explained = 1.0 - min(1.0, options.unexplained_weight * labeling.roles.count("other") / len(labeling.roles))
        if explained < 1.0:
            found.append(Candidate(labeling, None, None, NO_SIZES, weight * (1.0 - explained)))
        for split in split_ranks(inside, labeling, bool(seats), options):
            sizes = _sizes(labeling, split, program)
            share = weight * explained * split.probability * (options.no_grid if sizes == NO_SIZES else 1.0)
            found.append(Candidate(labeling, inside, split, sizes, share))
    total = sum(one.probability for one in found)
    scaled = [Candidate(c.labeling, c.inside, c.split, c.sizes, c.probability / total) for c in found]
    return sorted(scaled, key=lambda one: -one.probability)


def _programs(
    labeling: Labeling, hidden: Sequence[HiddenProgram], edges: TrafficEdges, members: Int, options: LayoutOptions
) -> Sequence[HiddenProgram]:
    """What a labeling leaves unseen.

    Gradient groups that begin apart without a pipeline make no grid, but for one whose stages share hosts.
    """
    if hidden is not SEEN or labeling.pipelines.chains or in_phase(labeling, edges, options):
        return hidden
    rest = len(members) // (labeling.fit.sizes["dp"] * labeling.fit.sizes["tp"])
    stages = [s for s in range(1, rest + 1) if rest % s == 0]
    return [
        HiddenProgram(options.no_grid, stages=0),
        *(HiddenProgram(options.no_grid / len(stages), s) for s in stages),
    ]


def _none_of_these(labelings: Sequence[Labeling], top: float, options: LayoutOptions) -> list[Candidate]:
    """Return the candidates of unknown collectives: one for each choice of pipelines, and one without pipelines."""
    likeliest = labelings[0]
    found = [Candidate(likeliest, None, None, NO_SIZES, float(np.exp(options.none_of_these - top)))]
    seen: set[bytes] = set()
    for labeling in labelings:
        chains, key = labeling.pipelines.chains, labeling.pipelines.edges.tobytes()
        if chains and key not in seen:
            weight = float(np.exp(labeling.pipeline_score + options.none_of_these - top))
            found.append(Candidate(labeling, None, None, (*NO_SIZES[:-1], len(chains[0])), weight))
        seen.add(key)
    return found


def _sizes(labeling: Labeling, split: Split, hidden: HiddenProgram) -> FullSizes:
    fit, chains = labeling.fit, labeling.pipelines.chains
    contexts, experts = fit.sizes["cp"] * hidden.contexts, fit.sizes["ep"] * hidden.experts
    replicas = fit.sizes["dp"] * split.replicas
    if replicas % contexts:
        return NO_SIZES
    stages = len(chains[0]) if chains else hidden.stages
    return split.tensor * fit.sizes["tp"], contexts, experts, replicas // contexts, stages


def list_hidden_programs(pairs: Int, options: LayoutOptions) -> list[HiddenProgram]:
    """What the traffic between some pairs may be, (pairs, 2), by the sets of endpoints that they tie together.

    The chains of a pipeline are as long as it has stages, but for contexts or experts whose traffic is hidden as well.
    """
    sets = tied(pairs[:, 0], pairs[:, 1])
    size = max((len(one) for one in sets), default=1, key=lambda s: (sum(len(one) == s for one in sets), s))
    shorter = [s for s in range(2, size) if size % s == 0]
    prior = options.hidden_programs
    return [
        HiddenProgram(prior["none"]),
        HiddenProgram(prior["pp"], stages=size),
        *(HiddenProgram(prior["shorter"] / len(shorter), stages=s) for s in shorter),
        HiddenProgram(prior["cp"], contexts=size),
        HiddenProgram(prior["ep"], experts=size),
    ]


def merge_sizes(candidates: Sequence[Candidate]) -> dict[FullSizes, float]:
    """Probability of each combination of sizes."""
    found: dict[FullSizes, float] = {}
    for one in candidates:
        found[one.sizes] = found.get(one.sizes, 0.0) + one.probability
    return found


def by_convention(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates as likely as the contract for layouts makes them where the feed hides what decides."""
    weight = [one.probability * (1.0 if one.split is None else one.split.convention) for one in candidates]
    total = sum(weight)
    return [replace(one, probability=own / total) for one, own in zip(candidates, weight, strict=True)]


def marginal(posterior: Mapping[FullSizes, float]) -> dict[str, tuple[int | None, float]]:
    """The likeliest value of each size, and its probability."""
    found: dict[str, tuple[int | None, float]] = {}
    for n, name in enumerate(SIZE_NAMES):
        own: dict[int | None, float] = {}
        for sizes, p in posterior.items():
            own[sizes[n]] = own.get(sizes[n], 0.0) + p
        found[name] = max(own.items(), key=lambda item: (item[1], -(item[0] or 0)))
    return found
