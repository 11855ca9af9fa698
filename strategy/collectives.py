"""Parts -> process groups: gradient groups, expert groups, context groups, tensor groups that leave their hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from datamodel.streams import Int
from strategy.closure import Members, tied
from strategy.edges import Edges
from strategy.parts import Part, parts

# What begins this share of the iteration before another thing does not wait for it.
BEFORE = 0.02
# Layers before the first experts take at most this share of the passes. Gradients come no earlier than after a whole
# forward pass: a third of a forward and a backward, a quarter if recomputed.
BEFORE_EXPERTS = 0.2
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


def collectives(edges: Edges, stage: dict[int, int], host: Int) -> Collectives:
    """Sort collective edges into kinds of process group.

    Every training reduces gradients, after the work that made them; what works earlier serves the passes.

    1. Edges that link two stages of one pipeline (shared embeddings) reduce no data-parallel gradient.
    2. Edges of like bytes at like times fall into parts. One that works during the passes, and members of which reduce
       gradients with one another later, exchanges tokens (ep) when other later parts cross it, one member each: the
       ranks that hold the same experts; or when it is a mesh over all who are tied to it. Else a ring or a pair passes
       keys and values (cp). What may be either is unclear: a mesh of three or more, a pair that nothing lies beyond,
       two parts of the same members, and what works in the passes but not all through them. A ring of all who reduce
       together is cp when it is done before they do, or in a pipeline, else it gathers parameters. Where some only
       send and others only receive, the ring closes inside hosts: unclear as well.
    3. Everything else reduces gradients. Data parallelism is an equivalence relation that holds cp and ep: it is
       closed over all their edges.
    4. Unless a pipeline's parts all work through its passes and none reduces at the end: they are tensor groups. Fully
       sharded parameters would look alike, but are not gathered again for every micro-batch of a pipeline.

    Args:
        edges: the job's.
        stage: endpoint -> pipeline stage, those of chains alone.
        host: (codes,) host of each address code; of one's own where it is not known.
    """
    stages = np.full(int(max(edges.src.max(initial=0), edges.dst.max(initial=0))) + 1, -1, np.int64)
    for endpoint, number in stage.items():
        stages[endpoint] = number
    within = np.flatnonzero(edges.collective & (stages[edges.src] == stages[edges.dst]))
    found = parts(edges, within, host)
    kinds = _sorted_out(edges, found, tied(edges.src[within], edges.dst[within]), piped=bool(stage))
    if stage and 2 * sum(_serves_passes(p) for p in kinds["dp"]) > len(kinds["dp"]) and not kinds["cp"]:
        kinds["tp"], kinds["dp"] = kinds["dp"], []
    numbers = {kind: np.concatenate([np.zeros(0, np.int64), *(p.edges for p in kinds[kind])]) for kind in KINDS}
    groups = {kind: _sorted(p.members for p in kinds[kind]) for kind in KINDS}
    groups["tp"] = tied(edges.src[numbers["tp"]], edges.dst[numbers["tp"]])
    reducing = np.concatenate([numbers[kind] for kind in ("dp", "ep", "cp", "unclear")])
    groups["dp"] = tied(edges.src[reducing], edges.dst[reducing])
    return Collectives(
        groups=groups,
        edges=numbers,
        split=_split(kinds["dp"]),
        sharded_passes=_outweighs(edges, kinds["dp"]),
        reduce_and_gather=_two_sizes(edges, numbers["dp"]),
    )


def _sorted_out(edges: Edges, found: list[Part], whole: tuple[Members, ...], *, piped: bool) -> dict[str, list[Part]]:
    """Parts by kind; `whole` are all endpoints tied to one another within a stage, `piped`: there are stages."""
    kinds: dict[str, list[Part]] = {kind: [] for kind in KINDS}
    at = _by_endpoint(found)
    size = {endpoint: len(members) for members in whole for endpoint in members}
    for part in found:
        kinds[_kind(part, at, size[min(part.members)], piped=piped, closed=_closed(edges, part))].append(part)
    twice = {members for members, n in Counter(p.members for p in kinds["ep"]).items() if n > 1}
    kinds["unclear"] += [p for p in kinds["ep"] if p.members in twice]  # keys as well as tokens
    kinds["ep"] = [p for p in kinds["ep"] if p.members not in twice]
    return kinds


def _closed(edges: Edges, part: Part) -> bool:
    """Whether all members both send and receive."""
    return not np.setxor1d(edges.src[part.edges], edges.dst[part.edges]).size


def _by_endpoint(found: list[Part]) -> dict[int, list[Part]]:
    at: dict[int, list[Part]] = {}
    for part in found:
        for endpoint in part.members:
            at.setdefault(endpoint, []).append(part)
    return at


def _kind(part: Part, at: dict[int, list[Part]], whole: int, *, piped: bool, closed: bool) -> str:
    """What a part serves; `whole` is the number of endpoints tied to it, `closed`: all of its own send and receive."""
    meeting = list({id(q): q for e in part.members for q in at[e] if q is not part}.values())
    near = [q for q in meeting if q.first > part.first + BEFORE]
    throughout = part.works_until(min([part.end, *(q.first for q in near)]))
    if near and not closed and throughout:
        return "unclear"
    if throughout and _crossed(part, near, whole) and any(_reduces_after(q, part) for q in meeting):
        return "ep"
    later = [q for q in near if len(q.members & part.members) > 1]
    if not later:
        return "dp"
    until = min(part.end, *(q.first for q in later))
    if _crossed(part, near, whole) and part.works_until(until, BEFORE_EXPERTS):
        return "ep"
    if not part.works_until(until):
        return "unclear" if closed and any(q.members > part.members for q in later) else "dp"
    several, spans = len(part.members) > 2, len(part.members) == whole
    if part.mesh is not False and several:
        return "ep" if spans and part.mesh else "unclear"
    if not spans:
        return "cp"
    if part.last >= min(q.first for q in later) + BEFORE and not piped:
        return "dp"
    return "cp" if several else "unclear"


def _serves_passes(part: Part) -> bool:
    """Whether it works during the passes of a pipeline, or begins before a forward pass is over and is done with them.

    Between its first pass and its last a stage may have nothing to do for long. The gradients of its first layers are
    there when its last pass is over.
    """
    return part.throughout or (part.begins_within(BEFORE_EXPERTS) and part.last <= part.end)


def _reduces_after(other: Part, part: Part) -> bool:
    """Whether two members of a part send something else with one another when it is done; before it as well, maybe.

    Parameters that are gathered at the end of an iteration, or the beginning of the next, carry as much as gradients.
    """
    return len(other.members & part.members) > 1 and other.last > part.last + BEFORE


def _crossed(part: Part, later: list[Part], whole: int) -> bool:
    """Whether later parts meet `part` in one member each, one at every member, and would span the whole with it."""
    meets = [q.members & part.members for q in later if len(q.members) * len(part.members) == whole]
    return {e for one in meets if len(one) == 1 for e in one} == part.members


def _split(found: list[Part]) -> bool:
    """Whether some gradient parts work in the passes, others at the end, and they span different sets."""
    passes = {p.members for p in found if p.throughout}
    end = {p.members for p in found if not p.throughout}
    return any(a & b and not (a <= b or b <= a) for a in passes for b in end) if passes and end else False


def _sorted(groups: Iterable[Iterable[int]]) -> tuple[Members, ...]:
    return tuple(sorted({tuple(sorted(g)) for g in groups}))


def _outweighs(edges: Edges, found: list[Part]) -> bool:
    """Whether parts that are busy throughout carry most of the gradient groups' bytes."""
    size = [float(edges.iteration_bytes[p.edges].sum()) for p in found]
    return 2 * sum(s for s, p in zip(size, found, strict=True) if p.throughout) > sum(size)


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
