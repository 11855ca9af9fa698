"""Collective edges -> process groups: gradient groups, expert groups, context groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from strategy.closure import Members, tied
from strategy.edges import SAME_BYTES, Edge

# A group whose members talk in this many transfers an iteration works during the passes, not only after them.
DURING_PASSES = 3
# A group that talks, in the middle, before this share of the iteration works during the passes.
BEFORE_THE_END = 0.75


@dataclass(frozen=True, slots=True)
class Collectives:
    """Process groups seen on the wire, members ascending.

    Attributes:
        dp: gradient groups, closed over all edges that reduce gradients.
        ep: groups that exchange tokens all to all.
        cp: groups that pass keys and values round a ring.
        dp_edges, ep_edges, cp_edges: their edges.
        unclear: groups that work in the passes and may be of one kind or another.
        split: whether gradients seem to be reduced in two steps, in groups of which none spans the others: sharded
            data parallelism with replicas, or tensor parallelism across hosts.
        sharded_passes: whether the gradient groups gather and scatter all through the iteration.
        reduce_and_gather: whether they send in two streams of different size, or one stream halved by a pause.
    """

    dp: tuple[Members, ...]
    ep: tuple[Members, ...]
    cp: tuple[Members, ...]
    dp_edges: tuple[Edge, ...]
    ep_edges: tuple[Edge, ...]
    cp_edges: tuple[Edge, ...]
    unclear: tuple[Members, ...]
    split: bool
    sharded_passes: bool
    reduce_and_gather: bool


@dataclass(frozen=True, slots=True)
class _Part:
    members: frozenset[int]
    edges: tuple[Edge, ...]
    mesh: bool
    transfers: int
    phase: float

    @property
    def in_passes(self) -> bool:
        return self.transfers > DURING_PASSES or self.phase < BEFORE_THE_END


def collectives(edges: list[Edge], chains: list[Members]) -> Collectives:
    """Sort collective edges into kinds of process group.

    1. Edges that link two stages of one pipeline (shared embeddings) reduce no data-parallel gradient.
    2. Edges of like bytes fall into components. One inside a wider one that works during the passes exchanges tokens
       (ep) when another set of groups crosses it, one member each: the ranks that hold the same experts. Else it is a
       ring of keys and values (cp); a mesh of three or more, which may be either, is unclear. A mesh as wide as the
       gradient group is an expert group.
    3. Everything else reduces gradients. Data parallelism is an equivalence relation: it is closed over its edges.
    """
    stage = {endpoint: s for chain in chains for s, endpoint in enumerate(chain)}
    parts = _parts([e for e in edges if e.collective and stage.get(e.src, 0) == stage.get(e.dst, 0)])
    kinds: dict[str, list[_Part]] = {"dp": [], "ep": [], "cp": [], "unclear": []}
    at = _by_endpoint(parts)
    for part in parts:
        kinds[_kind(part, at)].append(part)
    dp = kinds["dp"]
    dp_edges = _edges(dp)
    return Collectives(
        dp=tied((e.src, e.dst) for e in dp_edges),
        ep=_sorted(p.members for p in kinds["ep"]),
        cp=_sorted(p.members for p in kinds["cp"]),
        dp_edges=dp_edges,
        ep_edges=_edges(kinds["ep"]),
        cp_edges=_edges(kinds["cp"]),
        unclear=_sorted(p.members for p in kinds["unclear"]),
        split=_split(dp),
        sharded_passes=_outweighs(dp_edges),
        reduce_and_gather=_two_sizes(dp_edges),
    )


def _edges(parts: list[_Part]) -> tuple[Edge, ...]:
    return tuple(e for p in parts for e in p.edges)


def _parts(edges: list[Edge]) -> list[_Part]:
    """Components of edges that carry alike bytes an iteration."""
    found = []
    for alike in _alike(edges):
        of: dict[int, int] = {}
        components = tied((e.src, e.dst) for e in alike)
        for n, members in enumerate(components):
            of.update(dict.fromkeys(members, n))
        inside: list[list[Edge]] = [[] for _ in components]
        for edge in alike:
            inside[of[edge.src]].append(edge)
        found += [_part(m, own) for m, own in zip(components, inside, strict=True)]
    return found


def _part(members: Members, edges: list[Edge]) -> _Part:
    complete = len({(e.src, e.dst) for e in edges}) == len(members) * (len(members) - 1)
    middle = len(edges) // 2
    transfers, phases = sorted(e.transfers for e in edges), sorted(e.phase for e in edges)
    return _Part(frozenset(members), tuple(edges), complete, transfers[middle], phases[middle])


def _alike(edges: list[Edge]) -> list[list[Edge]]:
    """Runs of edges, by bytes, in which each differs from the next by at most the tolerance."""
    runs: list[list[Edge]] = []
    for edge in sorted(edges, key=lambda e: (e.iteration_bytes, e.src, e.dst)):
        if runs and edge.iteration_bytes <= runs[-1][-1].iteration_bytes * (1 + SAME_BYTES):
            runs[-1].append(edge)
        else:
            runs.append([edge])
    return runs


def _by_endpoint(parts: list[_Part]) -> dict[int, list[_Part]]:
    at: dict[int, list[_Part]] = {}
    for part in parts:
        for endpoint in part.members:
            at.setdefault(endpoint, []).append(part)
    return at


def _kind(part: _Part, at: dict[int, list[_Part]]) -> str:
    wider = [q for q in at[min(part.members)] if part.members < q.members]
    if not wider:
        return "ep" if part.mesh and len(part.members) > 2 and part.in_passes else "dp"
    crossing = _crossing(part, min(wider, key=lambda q: len(q.members)), at)
    if crossing:
        return "ep" if all((part.transfers, -part.phase) > (q.transfers, -q.phase) for q in crossing) else "dp"
    if not part.in_passes:
        return "dp"
    return "unclear" if part.mesh and len(part.members) > 2 else "cp"


def _crossing(part: _Part, whole: _Part, at: dict[int, list[_Part]]) -> list[_Part]:
    """Parts that meet `part` in one member each and would span `whole` with it; empty unless each member has one."""
    size = len(whole.members) // len(part.members)
    found = []
    for endpoint in sorted(part.members):
        mates = [q for q in at[endpoint] if q.members < whole.members and len(q.members) == size]
        mates = [q for q in mates if q is not part and q.members & part.members == {endpoint}]
        if not mates:
            return []
        found += mates
    return found


def _split(parts: list[_Part]) -> bool:
    """Whether some gradient parts work in the passes, others at the end, and they span different sets."""
    passes = {p.members for p in parts if p.in_passes}
    end = {p.members for p in parts if not p.in_passes}
    return any(a & b and not (a <= b or b <= a) for a in passes for b in end) if passes and end else False


def _sorted(groups: Iterable[Iterable[int]]) -> tuple[Members, ...]:
    return tuple(sorted({tuple(sorted(g)) for g in groups}))


def _outweighs(edges: tuple[Edge, ...]) -> bool:
    """Whether edges that are busy throughout carry most of the gradient groups' bytes."""
    total = sum(e.iteration_bytes for e in edges)
    return bool(edges) and 2 * sum(e.iteration_bytes for e in edges if e.throughout) > total


def _two_sizes(edges: tuple[Edge, ...]) -> bool:
    """Whether one directed pair reduces and gathers in separate streams of different size."""
    sizes: dict[tuple[int, int], list[float]] = {}
    for edge in edges:
        sizes.setdefault((edge.src, edge.dst), []).append(edge.iteration_bytes)
    return bool(sizes) and all(len(s) == 2 and max(s) > 1.5 * min(s) for s in sizes.values())
