"""Candidates and their posterior: what traffic that no program explains leaves open."""

from __future__ import annotations

import numpy as np
import pytest

from strategy.candidates.labelings import find_labelings
from strategy.options import LayoutOptions
from strategy.posterior import find_candidates, list_hidden_programs, marginal, merge_sizes
from tests.strategy.hand_made import Edge, both_ways, mesh, ring, table

OPTIONS = LayoutOptions()
TURNS = [e for n in range(4) for e in both_ways(n, n + 4, 10.0)]


def sizes(*edges: Edge) -> dict[str, tuple[int | None, float]]:
    """The likeliest value of each size, and its probability."""
    job = table(*edges)
    members = np.unique(np.concatenate([job.src, job.dst]))
    labelings = find_labelings(job, members, np.arange(members.max() + 1), {}, OPTIONS)
    return marginal(merge_sizes(find_candidates(labelings, job, None, members, {}, OPTIONS)))


def test_a_program_that_explains_all_is_decided() -> None:
    """Two stages of four replicas."""
    found = sizes(*TURNS, *ring([0, 1, 2, 3], 90.0), *ring([4, 5, 6, 7], 90.0))
    assert {name: value for name, (value, _) in found.items()} == {"tp": 1, "cp": 1, "ep": 1, "dp": 4, "pp": 2}
    assert min(p for _, p in found.values()) > OPTIONS.decisive


def test_collectives_that_no_program_has_leave_all_but_the_pipeline_open() -> None:
    """Beside the chains pairs of one stage and of two, at random times of the iteration, each with bytes of its own."""
    random = np.random.default_rng(7)
    strange = [
        Edge(int(a), int(b), 50.0 + 9 * n, first, first + 0.1, transfers=3)
        for n, first in enumerate(random.uniform(0, 0.8, 6))
        for a, b in [random.choice(8, 2, replace=False)]
    ]
    found = sizes(*TURNS, *strange)
    assert found["pp"][0] == 2
    assert all(found[name][0] is None or found[name][1] < OPTIONS.decisive for name in ("tp", "cp", "ep", "dp"))


def test_no_sizes_are_given_where_nothing_fits() -> None:
    """Meshes of three sizes that overlap, with three volumes, all at the iteration's beginning."""
    found = sizes(*mesh([0, 1, 2], 10.0, 0.0, 0.1), *mesh([2, 3, 4, 5], 30.0, 0.0, 0.2), *mesh([5, 6], 70.0, 0.1, 0.2))
    assert all(value is None or p < OPTIONS.decisive for value, p in found.values())


def test_pairs_that_were_not_recognized_may_be_chains_of_a_pipeline() -> None:
    """Two hidden chains of three stages, beside a ring of two in each stage."""
    job = table(*ring([0, 1], 90.0), *ring([2, 3], 90.0), *ring([4, 5], 90.0))
    pairs = np.array([(a, b) for n in (0, 1) for a, b in ((n, n + 2), (n + 2, n), (n + 2, n + 4), (n + 4, n + 2))])
    members = np.arange(6)
    labelings = find_labelings(job, members, members, {}, OPTIONS)
    hidden = list_hidden_programs(pairs, OPTIONS)
    found = merge_sizes(find_candidates(labelings, job, None, members, {}, OPTIONS, hidden))
    assert max(found, key=lambda sizes: found[sizes]) == (1, 1, 1, 2, 3)
    assert sum(found.values()) == pytest.approx(1.0)


def test_groups_that_begin_apart_without_a_pipeline_may_be_stages_inside_hosts() -> None:
    """Two rings, the second half an iteration after the first; no size is sure, and two stages are listed."""
    job = table(*ring([0, 2, 4, 6], 90.0, 0.4, 0.5), *ring([1, 3, 5, 7], 90.0, 0.9, 1.0))
    members = np.arange(8)
    found = merge_sizes(
        find_candidates(find_labelings(job, members, members, {}, OPTIONS), job, None, members, {}, OPTIONS)
    )
    assert (1, 1, 1, 4, 2) in found
    assert all(value is None or p < OPTIONS.decisive for value, p in marginal(found).values())
