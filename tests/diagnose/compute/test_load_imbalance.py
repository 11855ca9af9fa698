"""What waiting for the last member of a gradient group costs, where the last one changes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from diagnose.compute.load_imbalance import waiting_ratio
from diagnose.model.uneven_work import EVEN, UnevenWork
from tests.diagnose.hand_made import MS, PP, SECOND, Op, Ring, operations

COUNT = 12
ALL = np.arange(COUNT)


def cost(compute_s: Mapping[tuple[int, int], float], members: int = 6) -> float:
    """Share of the iteration that a ring loses whose members compute 0.8 s where not said otherwise."""
    ops, _ = Ring(members=members, compute_s=compute_s).run(COUNT)
    return waiting_ratio(
        ops, np.arange(members), (tuple(range(members)),), np.zeros(members, np.int64), ALL, SECOND
    ).ratio


def test_even_work_loses_nothing() -> None:
    """All arrive together."""
    assert cost({}) == 0.0


def test_the_loss_is_the_last_ones_distance_from_the_mean() -> None:
    """One of six is 240 ms late, each time another one: 200 ms behind the mean."""
    assert cost({(i, i % 6): 1.04 for i in range(COUNT)}) == pytest.approx(0.2)


def test_the_same_one_last_is_no_uneven_load() -> None:
    """3 is late in every iteration."""
    assert cost({(i, 3): 1.04 for i in range(COUNT)}) == 0.0


def test_who_is_always_later_by_as_much_is_no_uneven_load() -> None:
    """Half of six arrive 200 ms after the others in every iteration, now this one and now that of them the last."""
    always = {(i, e): 1.0 + 0.002 * (e == 3 + i % 3) for i in range(COUNT) for e in (3, 4, 5)}
    assert cost(always) == pytest.approx(0.0, abs=0.003)


def test_two_members_are_too_few() -> None:
    """One of two is always the last."""
    assert cost({(i, i % 2): 1.04 for i in range(COUNT)}, members=2) == 0.0


def test_who_begins_with_the_last_waited_for_it() -> None:
    """In a rendezvous ring the last one's predecessor begins with it: it does not raise the mean.

    Of 0, 1, 2, 3 the last one is 200 ms late; the others, its predecessor left out, are 133 ms before its own and
    their mean.
    """
    ops = []
    for i in range(COUNT):
        late = i % 4
        for e in range(4):
            begin = i * SECOND + (200 * MS if e in (late, (late - 1) % 4) else 0) + e
            ops.append(Op(e, (e + 1) % 4, begin, begin + 10 * MS, i))
    found = waiting_ratio(operations(ops), np.arange(4), ((0, 1, 2, 3),), np.zeros(4, np.int64), ALL, SECOND).ratio
    assert found == pytest.approx(0.2 - 0.2 / 3, abs=1e-6)


def test_a_later_stage_has_arrived_when_it_hands_on_its_last_gradient() -> None:
    """All four of a second stage begin their ring with the last one, which its turn made 200 ms late.

    The other three had sent their last message back 200 ms before; the last one's, behind them, tells the same of it.
    """
    ops = []
    for i in range(COUNT):
        for e in range(4):
            done = i * SECOND + (200 * MS if e == i % 4 else 0) + e
            ops += [
                Op(e, e + 4, done - 100 * MS, done - 99 * MS, i, role=PP),
                Op(e, e + 4, done, done + MS, i, role=PP),
            ]
            ops.append(Op(e, (e + 1) % 4, i * SECOND + 201 * MS, i * SECOND + 210 * MS, i))
    stages = np.array([1] * 4 + [0] * 4)
    found = waiting_ratio(operations(ops), np.arange(8), ((0, 1, 2, 3),), stages, ALL, SECOND).ratio
    assert found == pytest.approx(0.15, abs=1e-6)


def test_the_costliest_group_counts() -> None:
    """Of two groups, one is even; an endpoint in none is left out."""
    ops, _ = Ring(members=3, compute_s={(i, i % 3): 0.95 for i in range(COUNT)}).run(COUNT)
    even, _ = Ring(members=3).run(COUNT)
    both = operations(
        Op(int(e) + shift, int(p) + shift, int(s), int(n), int(i))
        for frame, shift in ((ops, 0), (even, 3))
        for e, p, s, n, i in zip(
            *(frame[c] for c in ("endpoint", "peer", "start_ns", "end_ns", "iteration")), strict=True
        )
    )
    even_and_not = waiting_ratio(both, np.arange(7), ((0, 1, 2), (3, 4, 5)), np.zeros(7, np.int64), ALL, SECOND)
    assert even_and_not.ratio == pytest.approx(0.1)
    assert waiting_ratio(both, np.arange(7), (), np.zeros(7, np.int64), ALL, SECOND) == EVEN


def test_it_exceeds_a_share_as_surely_as_iterations_agree() -> None:
    """0.15 known to 0.025 is more than 0.1 by two standard errors, and as likely as not more than itself."""
    assert UnevenWork(0.15, 0.025).exceeds(0.10) == pytest.approx(0.977, abs=0.001)
    assert UnevenWork(0.15, 0.025).exceeds(0.15) == pytest.approx(0.5)
