"""Experts that get more tokens than others: what is sent to them, sent back, and computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from datamodel.reconstructed.streams import Float
from simulate.network.graph import TOKEN
from simulate.training.job import SimulatedJob, place_iteration, work_of
from simulate.training.plan import Plan
from simulate.training.workload import Noise
from tests.simulate.cases import FABRIC, job

PLAN = Plan(tp=1, ep=4, dp=4)


def tokens(made: SimulatedJob, number: int) -> Float:
    """(from, to) bytes of tokens in an iteration."""
    seat = place_iteration(FABRIC, made, 0, checkpoint=False, evaluation=False)
    work, graph = work_of(seat, made, 0, (1, 0, number)), seat.graph
    rows = graph.purpose == TOKEN
    moved = np.zeros((PLAN.world, PLAN.world))
    np.add.at(moved, (graph.src[rows], graph.dst[rows]), work[rows])
    return moved


def test_what_one_gets_more_of_others_get_less_of() -> None:
    """All tokens go somewhere; where two hosts of two exchange them, each pair sees its own two experts."""
    even, uneven = (tokens(job(PLAN, noise=Noise(jitter_ratio=0, expert_ratio=r)), 0) for r in (0.0, 0.6))
    assert np.ptp(even[even > 0]) < 1
    assert np.ptp(uneven[uneven > 0]) > 0.2 * even.max()
    # dispatched by the receiver's share, sent back by the sender's: what goes to and fro is the same for both ends
    np.testing.assert_allclose(uneven, uneven.T)


def test_some_experts_are_favoured_for_long() -> None:
    """Half of what differs stays from one iteration to the next."""
    made = job(PLAN, noise=Noise(jitter_ratio=0, expert_ratio=0.6))
    shares = np.array([tokens(made, number).sum(axis=0) for number in range(40)])
    mean, varied = shares.mean(axis=0), shares.std(axis=0)
    assert np.ptp(mean) > varied.mean() / 2
    assert varied.min() > 0


def test_even_experts_are_as_before() -> None:
    """Lengths of replicas still set what is sent."""
    made = job(PLAN, noise=Noise(jitter_ratio=0, sequence_ratio=0.5))
    assert not np.allclose(tokens(made, 0), tokens(made, 1))
    assert np.allclose(tokens(made, 0), tokens(replace(made), 0))
