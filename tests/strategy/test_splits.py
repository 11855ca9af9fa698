"""What stays inside hosts, split between tensor and data parallelism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from strategy.candidates.labelings import Labeling, find_labelings
from strategy.candidates.splits import Inside, count_messages, split_ranks
from strategy.candidates.tensor_groups import StepEvidence
from strategy.options import LayoutOptions
from tests.strategy.hand_made import Edge, both_ways, ring, table

OPTIONS = LayoutOptions()


def pipeline() -> Labeling:
    """Two stages of four endpoints."""
    job = table(
        *(e for n in range(4) for e in both_ways(n, n + 4, 10.0)), *ring([0, 1, 2, 3], 90.0), *ring([4, 5, 6, 7], 90.0)
    )
    return find_labelings(job, np.arange(8), np.arange(8), {}, OPTIONS)[0]


@pytest.mark.parametrize("rest", [1, 2, 4, 6, 8])
def test_probabilities_sum_to_one(rest: int) -> None:
    """Every split is listed, and tensor x replicas is always the same."""
    found = split_ranks(Inside(rest, 1, None, False, False, None, None), pipeline(), True, OPTIONS)
    assert sum(s.probability for s in found) == pytest.approx(1)
    assert {s.tensor * s.replicas for s in found} == {rest}


def test_convention_decides_where_nothing_moves() -> None:
    """What never leaves a host is tensor parallelism, and said to rest on the convention."""
    best = max(
        split_ranks(Inside(8, 1, None, False, False, None, None), pipeline(), True, OPTIONS),
        key=lambda s: s.probability,
    )
    assert (best.tensor, best.replicas, best.by_movement) == (8, 1, False)


def test_convention_is_no_evidence_where_the_feed_hides_what_moves() -> None:
    """It still says what is answered, but not how sure that is: half of the programs with stages fill hosts so."""
    found = split_ranks(Inside(8, 1, None, True, False, None, None), pipeline(), True, OPTIONS)
    best = max(found, key=lambda s: s.probability)
    assert (best.tensor, best.probability, best.by_movement) == (8, OPTIONS.whole_host, False)
    answered = {s.tensor: s.probability * s.convention for s in found}
    assert answered == pytest.approx({8: OPTIONS.convention} | dict.fromkeys((1, 2, 4), (1 - OPTIONS.convention) / 3))
    assert sum(s.probability for s in found) == pytest.approx(1)


def test_movement_overrules_the_convention() -> None:
    """Two groups of four in step on each host are two replicas."""
    steps = StepEvidence({1: -9.0, 2: -4.0, 4: 6.0, 8: -40.0}, {}, (), 200.0)
    best = max(
        split_ranks(Inside(8, 1, steps, False, False, 1, 1), pipeline(), True, OPTIONS), key=lambda s: s.probability
    )
    assert (best.tensor, best.replicas, best.by_movement) == (4, 2, True)
    assert best.probability > 0.99


@pytest.mark.parametrize(
    ("at_once", "messages", "expected"), [(8, 8, (8, 1)), (4, 8, (4, 2)), (8, 16, (4, 2)), (16, 16, (8, 1))]
)
def test_messages_that_leave_a_shared_nic_show_its_ranks(
    at_once: int, messages: int, expected: tuple[int, int]
) -> None:
    """Eight GPUs behind a NIC: as many messages at once as there are ranks in step, by queue pair."""
    found = split_ranks(Inside(1, 8, None, False, False, at_once, messages), pipeline(), True, OPTIONS)
    best = max(found, key=lambda s: s.probability)
    assert (best.tensor, best.replicas) == expected


@pytest.mark.parametrize(("at_once", "expected"), [([2.0] * 5, (2, 8)), ([2.0, 2.0, 4.0, 4.0, 2.0], (None, None))])
def test_ranks_behind_a_nic_share_connections_or_not(
    at_once: list[float], expected: tuple[int | None, int | None]
) -> None:
    """Of two pairs, one has a connection for each two messages, one has them in unlike numbers: eight in all."""
    even = [Edge(0, 1, 20.0, transfers=4), Edge(0, 1, 60.0, transfers=4)]
    uneven = [Edge(2, 3, size, transfers=4) for size in (20.0, 20.0, 40.0)]
    job = table(*even, *uneven)
    edges = replace(job, messages=np.array([2.0, 6.0, 2.0, 2.0, 4.0]), at_once=np.array(at_once))
    assert count_messages(edges, np.arange(5)) == expected


def test_unknown_hosts_leave_tensor_open_up_to_queue_pairs() -> None:
    """Four messages at once are four ranks, or one rank's four queue pairs: all divisors, equally likely."""
    found = split_ranks(Inside(1, None, None, False, False, 4, 4), pipeline(), False, OPTIONS)
    assert {(s.tensor, s.replicas) for s in found} == {(1, 1), (2, 1), (4, 1)}
    assert len({round(s.probability, 6) for s in found}) == 1
