"""Tensor ranks told from replicas by when they begin to send, without knowing who shares a host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.transfers import TRANSFERS
from strategy.closure import Members
from strategy.lockstep import at_once, tensor_ranks
from tests.strategy.hand_made import Edge, both_ways, table

ITERATIONS, PERIOD_NS = 12, 1_000_000_000
CHAINS: list[Members] = [(n, n + 8) for n in range(8)]
# four replicas of two chains each
REDUCING = tuple(tuple(range(first, first + 8, 2)) for first in (0, 1, 8, 9))


def seen(offset_ns: np.ndarray, lost: float = 0.0) -> tuple[tuple[int, ...], ...] | None:
    """Sets in lockstep of eight chains of two stages; `offset_ns` (chains, iterations): when each begins to send."""
    edges: list[Edge] = [edge for low, high in CHAINS for edge in both_ways(low, high, 1.0)]
    found = table(*edges)
    stream, iteration = (a.ravel() for a in np.indices((len(edges), ITERATIONS)))
    start = iteration * PERIOD_NS + stream % 2 * 100_000_000 + offset_ns[stream // 2, iteration]
    kept = np.random.default_rng(1).random(len(stream)) >= lost
    columns = {"src": found.src[stream], "dst": found.dst[stream], "stream": stream, "iteration": iteration}
    columns |= {"slot": np.zeros_like(stream), "start_ns": start, "end_ns": start + 1, "bytes": np.ones_like(stream)}
    frame = Frame(TRANSFERS, {name: values[kept] for name, values in columns.items()})
    edges_ns = np.arange(1, ITERATIONS + 1) * PERIOD_NS
    return tensor_ranks(frame, edges_ns, found, CHAINS, REDUCING)


def drift(sets: int, within_ns: int = 100_000, seed: int = 0) -> np.ndarray:
    """(chains, iterations) offsets: sets of neighbouring chains drift by milliseconds, their members by less."""
    random = np.random.default_rng(seed)
    apart = random.normal(0, 5e6, (sets, ITERATIONS)).repeat(8 // sets, axis=0)
    return np.asarray(apart + random.normal(0, within_ns, apart.shape), np.int64) + 50_000_000


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lost", [0.0, 0.2], ids=["all seen", "a fifth lost"])
def test_ranks_that_sum_up_every_layer_are_in_lockstep(seed: int, lost: float) -> None:
    """Pairs within a tenth of a millisecond, replicas milliseconds apart."""
    assert seen(drift(4, seed=seed), lost) == ((0, 1), (2, 3), (4, 5), (6, 7))


def test_a_straggler_does_not_hide_who_is_in_lockstep() -> None:
    """One pair is late by forty times what the others drift."""
    late = drift(4)
    late[:2] += 200_000_000
    assert seen(late) == ((0, 1), (2, 3), (4, 5), (6, 7))


@pytest.mark.parametrize("seed", range(8))
def test_replicas_with_rings_of_their_own_are_not_in_lockstep(seed: int) -> None:
    """Eight replicas on two rails: each drifts."""
    assert seen(drift(8, seed=seed)) is None


def test_replicas_tied_in_every_layer_come_with_their_tensor_ranks() -> None:
    """Experts of two replicas: sets of four, two of each ring."""
    assert seen(drift(2)) == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_who_never_drifts_says_nothing() -> None:
    """All in lockstep, or none seen twice: what drifting looks like is not known."""
    assert seen(drift(1)) is None
    assert seen(drift(4), lost=1.0) is None


def test_lots_of_one_pair_are_one_micro_batch() -> None:
    """Two replicas behind a NIC, each on two queue pairs, so far apart that they are edges of their own."""
    lot, embedding = both_ways(0, 1, 8.0), both_ways(0, 1, 2.0)
    for edges, told in ((lot, (2, 2)), ([*lot, *lot], (2, 4)), ([*lot, *embedding], (2, 2))):
        pairs = np.full(len(edges), 2.0)
        assert at_once(replace(table(*edges), at_once=pairs, messages=pairs)) == told
    assert at_once(table(Edge(0, 1, 8.0))) is None
