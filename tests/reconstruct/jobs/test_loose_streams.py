"""Endpoints that are in a job for a part of its life exchange data with it, as much one way as the other."""

import numpy as np

from reconstruct.jobs.loose_streams import part_time_streams
from tests.reconstruct.traffic_classes.hand_made import SECOND, streams

EDGES_S = range(1, 13)
INSIDE = np.arange(40) < 2  # endpoints 0 and 1 are the job's


def every_iteration(size: int, *further: tuple[float, float, int]) -> list[tuple[float, float, int]]:
    """A message in each iteration but the first, and others."""
    return sorted([*((edge + 0.2, edge + 0.3, size) for edge in EDGES_S[:-1]), *further])


def found(*pairs: tuple[int, int, list[tuple[float, float, int]]]) -> list[int]:
    """Endpoints that join with streams between some pairs."""
    made = streams([(src, dst, 5 + n, own) for n, (src, dst, own) in enumerate(pairs)])
    edges = np.array(EDGES_S, np.int64) * SECOND
    return list(map(int, part_time_streams(made, np.arange(len(pairs)), INSIDE, edges)[0]))


def test_who_gives_as_much_as_it_takes_joins() -> None:
    """A ring through a host that was added."""
    assert found((0, 5, every_iteration(1000)), (5, 1, every_iteration(900))) == [5]


def test_a_copy_of_state_on_the_same_connection_changes_nothing() -> None:
    """It is in one iteration, and larger than all gradients."""
    copied = every_iteration(1000, (1.05, 1.1, 10**6))
    assert found((0, 5, copied), (5, 1, every_iteration(1000))) == [5]


def test_engines_that_pass_weights_on_and_answer_with_tokens_do_not_join() -> None:
    """The last of the chain takes weights and gives next to nothing; without it the same is true of the one before."""
    chain = [(0, 5, every_iteration(10**6)), (5, 6, every_iteration(10**6))]
    answers = [(engine, 0, every_iteration(1000)) for engine in (5, 6)]
    assert found(*chain, *answers) == []


def test_who_only_receives_does_not_join() -> None:
    """A checkpoint store."""
    assert found((0, 5, every_iteration(1000)), (1, 5, every_iteration(1000))) == []
