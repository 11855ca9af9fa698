"""Lateness among the stage: by own times, in rings, and not where the place decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from diagnose.job_view import JobView
from diagnose.model.own_time import OwnTime
from diagnose.patterns.lateness import MIN_ITERATIONS, patterns
from tests.diagnose.hand_made import SECOND, Op, edges_ns, fabric, job_view, operations

ENDPOINTS = 6
RING = [(n, (n + 1) % ENDPOINTS) for n in range(ENDPOINTS)]
STAR = [pair for n in range(1, ENDPOINTS) for pair in ((0, n), (n, 0))]


def view(pairs: Sequence[tuple[int, int]], iterations: int = 10, stage: Sequence[int] = (0,) * ENDPOINTS) -> JobView:
    """A job that sends along these pairs; endpoint 2 computes 3 % longer, and the second stage 20 %."""
    edges = edges_ns([1.0] * (iterations - 1))
    ops = [Op(a, b, int(edge) - SECOND // 2, int(edge), n) for n, edge in enumerate(edges) for a, b in pairs]
    own = np.array([[1.0 + 0.03 * (e == 2) + 0.2 * stage[e]] * iterations for e in range(ENDPOINTS)]) * 1e8
    found = job_view(operations(ops), edges, fabric(ENDPOINTS), stage=dict(enumerate(stage)))
    return replace(found, own=OwnTime(np.arange(ENDPOINTS), own))


def test_endpoint_is_late_among_its_stage() -> None:
    """3 % against the others; endpoints of a slow stage are not late."""
    found = patterns(view(RING, stage=(0, 0, 0, 1, 1, 1)))
    assert found["role"].tolist() == [0, 0, 0, 1, 1, 1]
    assert found["late_ratio"].tolist() == pytest.approx([0, 0, 0.03, 0, 0, 0], abs=1e-6)


def test_endpoints_with_different_neighbors_are_not_compared() -> None:
    """The root of a tree and its leaves take turns of their own."""
    assert len(patterns(view(STAR))) == 0


def test_nothing_is_known_without_own_times_stages_or_enough_iterations() -> None:
    """Each by itself."""
    whole = view(RING, MIN_ITERATIONS)
    assert len(patterns(whole)) == ENDPOINTS
    assert len(patterns(view(RING, MIN_ITERATIONS - 1))) == 0
    assert len(patterns(replace(whole, own=None))) == 0
    assert len(patterns(replace(whole, stages_known=False))) == 0
