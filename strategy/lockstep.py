"""Who computes in lockstep: ranks of tensor groups, told from replicas by when they begin to send."""

from __future__ import annotations

from collections import Counter

import numpy as np

from datamodel.frame import Frame
from datamodel.streams import Int
from reconstruct.compiled import compiled
from reconstruct.parts import settle, unite
from strategy.behaviour import undisturbed
from strategy.closure import Members
from strategy.edges import SAME_BYTES, Edges
from strategy.segments import medians, runs

# Ranks of a tensor group begin within this share of the time that replicas typically lie apart.
CLOSE = 0.25
NEVER = -1
# So many of a job's pairs of stages must send as many messages at once.
AGREED = 0.8


def tensor_ranks(
    transfers: Frame, edges_ns: Int, found: Edges, chains: list[Members], reducing: tuple[Members, ...]
) -> tuple[Members, ...] | None:
    """Sets of chains in lockstep, where each goes through all gradient groups of a stage, as tensor groups do.

    Ranks of a tensor group sum up every layer's results, and so begin to send within moments of one another; replicas
    meet at an iteration's end and drift apart until then. How far is seen on those that reduce gradients with one
    another: they are replicas for certain. Chains that keep closer than that are in lockstep, with their replicas too
    where experts or contexts tie these together in each layer. There must be several such sets, or nobody knows what
    drifting apart would look like, and each must hold as many chains of every gradient group.

    The last messages between neighbouring stages, both ways, are compared, in iterations that nothing disturbed.
    Quadratic in chains, but few pairs are looked at for longer than it takes to see them apart.

    Args:
        transfers: the job's transfers.
        edges_ns: (iterations,) end of each iteration.
        found: the job's edges.
        chains: its pipelines, endpoints in stage order, all of one length.
        reducing: its gradient groups, which tile every stage.

    Returns:
        numbers of chains, or None where no sets are that even.
    """
    begin = _last_begins(transfers, edges_ns, found, chains)
    chain_of = {chain[0]: n for n, chain in enumerate(chains)}
    groups = [np.array([chain_of[e] for e in group]) for group in reducing if group[0] in chain_of]
    apart = _apart_ns(begin, groups)
    if apart is None:
        return None
    root = np.arange(len(chains))
    _join(begin, CLOSE * apart, root)
    label = np.unique(root, return_inverse=True)[1]
    sets = int(label.max()) + 1
    each = np.stack([np.bincount(label[group], minlength=sets) for group in groups])
    if sets == 1 or (each != each[0, 0]).any():
        return None
    return tuple(tuple(np.flatnonzero(label == n).tolist()) for n in range(sets))


def _last_begins(transfers: Frame, edges_ns: Int, found: Edges, chains: list[Members]) -> Int:
    """(chains, links x iterations) when the last message between two stages began, ns; NEVER where none was seen."""
    codes = int(max(found.src.max(initial=0), found.dst.max(initial=0))) + 1
    chain, stage = np.full(codes, NEVER, np.int64), np.zeros(codes, np.int64)
    for number, members in enumerate(chains):
        chain[list(members)], stage[list(members)] = number, np.arange(len(members))
    src, dst = found.src, found.dst
    ahead = stage[dst] - stage[src]
    link = np.where(~found.collective & (chain[src] >= 0) & (chain[src] == chain[dst]) & (np.abs(ahead) == 1), src, -1)
    link = np.where(link >= 0, 2 * stage[src] + (ahead > 0), NEVER)
    usable = np.flatnonzero(undisturbed(edges_ns))
    column = np.full(len(edges_ns) + 1, NEVER, np.int64)  # the last one: of iteration -1
    column[usable] = np.arange(len(usable))
    at = np.searchsorted(found.streams, transfers["stream"])
    edge = found.edge[np.minimum(at, len(found.edge) - 1)]
    iteration = column[transfers["iteration"]]
    rows = np.flatnonzero((iteration >= 0) & (link[edge] >= 0))
    begin = np.full((len(chains), 2 * len(chains[0]), len(usable)), NEVER, np.int64)
    np.maximum.at(begin, (chain[src[edge[rows]]], link[edge[rows]], iteration[rows]), transfers["start_ns"][rows])
    return begin.reshape(len(chains), -1)


def _apart_ns(begin: Int, groups: list[Int]) -> float | None:
    """How far chains of one gradient group usually lie apart, by the closer ones; None where none were seen.

    Each is compared with the one half the group farther on, with which it shares experts or contexts last of all. Who
    is late in every iteration is far from everybody, hence the lower quartile of the pairs' medians.
    """
    one = np.concatenate([np.zeros(0, np.int64), *groups])
    other = np.concatenate([np.zeros(0, np.int64), *(np.roll(group, -(len(group) // 2)) for group in groups)])
    both = (begin[one] >= 0) & (begin[other] >= 0) & (one != other)[:, None]
    pair, sample = np.nonzero(both)
    away = np.abs(begin[one[pair], sample] - begin[other[pair], sample])
    usual = medians(away.astype(np.float64), pair, len(one))
    return float(np.nanquantile(usual, 0.25, method="lower")) if both.any() else None


@compiled
def _join(begin: Int, limit_ns: float, root: Int) -> None:
    """Write into `root` the smallest member of each chain's set: of those mostly within a limit of one another."""
    chains, samples = begin.shape
    for a in range(chains):
        for b in range(a + 1, chains):
            close, far = 0, 0
            for k in range(samples):
                if begin[a, k] >= 0 and begin[b, k] >= 0:
                    if abs(begin[a, k] - begin[b, k]) <= limit_ns:
                        close += 1
                    else:
                        far += 1
                if 2 * far > samples:
                    break
            if close > far:
                unite(root, a, b)
    settle(root)


def at_once(found: Edges) -> tuple[int, int] | None:
    """Messages that leave an endpoint at once between stages, and all of one micro-batch; None where they differ.

    Edges of one pair that carry alike in as many transfers are lots of one micro-batch's messages, too far from one
    another to be one edge.
    """
    turns = np.flatnonzero(~found.collective)
    of = np.stack([found.src, found.dst, found.transfers, runs(found.iteration_bytes, SAME_BYTES)])[:, turns]
    pair = np.unique(of, axis=1, return_inverse=True)[1].ravel()
    every, together = np.bincount(pair, found.messages[turns]), np.zeros(int(pair.max(initial=-1)) + 1)
    np.maximum.at(together, pair, found.at_once[turns])
    seen = Counter(zip(together.tolist(), every.tolist(), strict=True)).most_common(1)
    if not seen or seen[0][1] < AGREED * len(every):
        return None
    return int(seen[0][0][0]), int(seen[0][0][1])
