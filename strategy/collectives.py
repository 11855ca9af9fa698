"""Parts -> process groups: gradient groups, expert groups, context groups, tensor groups that leave their hosts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from datamodel.streams import Int
from strategy.closure import Members, tied
from strategy.edges import Edges
from strategy.parts import Part, parts, working

# What begins this share of the iteration before another thing does not wait for it.
BEFORE = 0.02
KINDS = ("dp", "ep", "cp", "tp", "unclear")


@dataclass(frozen=True, slots=True)
class Collectives:
    """Process groups seen on the wire, members ascending.

    Attributes:
        groups: of each of `KINDS`; dp closed over all edges that reduce gradients, `unclear` those that work in the
            passes and may be of one kind or another.
        edges: numbers of the edges of each kind.
        split: whether gradients seem to be reduced in two steps, in groups of which none spans the others: sharded
            data parallelism with replicas, or tensor parallelism across hosts.
        sharded_passes: whether the gradient groups gather and scatter all through the iteration.
        reduce_and_gather: whether they send in two streams of different size, or one stream halved by a pause.
    """

    groups: dict[str, tuple[Members, ...]]
    edges: dict[str, Int]
    split: bool
    sharded_passes: bool
    reduce_and_gather: bool


def collectives(edges: Edges, stage: dict[int, int]) -> Collectives:
    """Sort collective edges into kinds of process group.

    Every training reduces gradients, after the work that made them; what works earlier serves the passes.

    1. Edges that link two stages of one pipeline (shared embeddings) reduce no data-parallel gradient.
    2. Edges of like bytes at like times fall into parts. Inside a wider part, one that works during the passes
       exchanges tokens (ep) when other parts that begin later cross it, one member each: the ranks that hold the same
       experts. Else it is a ring of keys and values (cp); a mesh of three or more, which may be either, is unclear.
       A mesh as wide as a part that begins later is an expert group, a ring that is done before that one begins a
       context group.
    3. Everything else reduces gradients. Data parallelism is an equivalence relation: it is closed over its edges.
    4. Unless a pipeline's parts all work through its passes and none reduces at the end: they are tensor groups. Fully
       sharded parameters would look alike, but are not gathered again for every micro-batch of a pipeline.

    Args:
        edges: the job's.
        stage: endpoint -> pipeline stage, those of chains alone.
    """
    stages = np.full(int(max(edges.src.max(initial=0), edges.dst.max(initial=0))) + 1, -1, np.int64)
    for endpoint, number in stage.items():
        stages[endpoint] = number
    within = stages[edges.src] == stages[edges.dst]
    found = parts(edges, np.flatnonzero(edges.collective & within))
    kinds: dict[str, list[Part]] = {kind: [] for kind in KINDS}
    at = _by_endpoint(found)
    for part in found:
        kinds[_kind(part, at)].append(part)
    if stage and 2 * sum(p.throughout for p in kinds["dp"]) > len(kinds["dp"]) and not kinds["cp"]:
        kinds["tp"], kinds["dp"] = kinds["dp"], []
    numbers = {kind: np.concatenate([np.zeros(0, np.int64), *(p.edges for p in kinds[kind])]) for kind in KINDS}
    groups = {kind: _sorted(p.members for p in kinds[kind]) for kind in KINDS}
    for kind in ("dp", "tp"):
        groups[kind] = tied(edges.src[numbers[kind]], edges.dst[numbers[kind]])
    return Collectives(
        groups=groups,
        edges=numbers,
        split=_split(kinds["dp"]),
        sharded_passes=_outweighs(edges, numbers["dp"]),
        reduce_and_gather=_two_sizes(edges, numbers["dp"]),
    )


def _by_endpoint(found: list[Part]) -> dict[int, list[Part]]:
    at: dict[int, list[Part]] = {}
    for part in found:
        for endpoint in part.members:
            at.setdefault(endpoint, []).append(part)
    return at


def _kind(part: Part, at: dict[int, list[Part]]) -> str:
    here = at[min(part.members)]
    wider = [q for q in here if part.members < q.members]
    if not wider:
        return _alone(part, [q for q in here if q.members == part.members and q.first > part.first + BEFORE])
    crossing = _crossing(part, min(wider, key=lambda q: (len(q.members), q.order)), at)
    if crossing:
        return "ep" if all(part.first + BEFORE < q.first for q in crossing) else "dp"
    later = max(q.first for q in wider)
    if not part.throughout and part.first + BEFORE > later:
        return "dp"
    return "unclear" if part.mesh and len(part.members) > 2 else "cp"


def _alone(part: Part, later: list[Part]) -> str:
    """Kind of a part that no other one spans, beside those of the same members that begin after it."""
    if not part.throughout or not later:
        return "dp"
    if part.mesh and len(part.members) > 2:
        return "ep"
    if part.last < min(q.first for q in later) + BEFORE:
        return "cp" if len(part.members) > 2 else "unclear"
    return "dp"


def _crossing(part: Part, whole: Part, at: dict[int, list[Part]]) -> list[Part]:
    """Parts that meet `part` in one member each and would span `whole` with it; empty unless each member has one."""
    size = len(whole.members) // len(part.members)
    found = []
    for endpoint in sorted(part.members):
        mates = [q for q in at[endpoint] if len(q.members) == size and q.members < whole.members]
        mates = [q for q in mates if q is not part and q.members & part.members == {endpoint}]
        if not mates:
            return []
        found += mates
    return found


def _split(found: list[Part]) -> bool:
    """Whether some gradient parts work in the passes, others at the end, and they span different sets."""
    passes = {p.members for p in found if p.throughout}
    end = {p.members for p in found if not p.throughout}
    return any(a & b and not (a <= b or b <= a) for a in passes for b in end) if passes and end else False


def _sorted(groups: Iterable[Iterable[int]]) -> tuple[Members, ...]:
    return tuple(sorted({tuple(sorted(g)) for g in groups}))


def _outweighs(edges: Edges, chosen: Int) -> bool:
    """Whether edges that are busy throughout carry most of the gradient groups' bytes."""
    size = edges.iteration_bytes[chosen]
    return bool(len(chosen)) and bool(2 * size[working(edges)[chosen]].sum() > size.sum())


def _two_sizes(edges: Edges, chosen: Int) -> bool:
    """Whether most directed pairs reduce and gather in separate streams of different size."""
    if not len(chosen):
        return False
    codes = int(max(edges.src.max(), edges.dst.max())) + 1
    pair, index, count = np.unique(
        edges.src[chosen] * codes + edges.dst[chosen], return_inverse=True, return_counts=True
    )
    size = edges.iteration_bytes[chosen]
    least, most = np.full(len(pair), np.inf), np.zeros(len(pair))
    np.minimum.at(least, index, size)
    np.maximum.at(most, index, size)
    return bool(((count == 2) & (most > 1.5 * least)).mean() > 0.5)
