"""Who computes longer: the hypothesis that explains best how own times grew."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from datamodel.reconstructed.streams import Int
from diagnose.compute.culprits import Culprits
from diagnose.model.compared_iterations import ComparedIterations
from diagnose.model.compute import Cells, Explanation, Grown, grown, pursue
from diagnose.model.own_time import OwnTime
from diagnose.options import MODEL

BEFORE, COUNT = 12, 24
CELLS = 8
HOSTS = ("a", "a", "b", "b", "c", "c", "d", "d")
STAGES = np.array([0, 0, 0, 0, 1, 1, 1, 1])
NOBODY_WAITS = np.zeros((0, 2), np.int64)
EVEN: Mapping[int, float] = {}
NOTHING_GROWN = Grown(*[np.zeros(CELLS)] * 5)
BASELINE, SLOW = np.arange(1, BEFORE), np.arange(BEFORE, COUNT)


def named(
    more_s: Mapping[int, float], held_up_s: float = 0.0, waits: Int = NOBODY_WAITS, less_s: Mapping[int, float] = EVEN
) -> list[Explanation]:
    """Who is named of eight cells that take 0.5 s of 1 s, and so much more in the slow half; noise of 1 ms.

    Some always take `less_s`.
    """
    own_s = 0.5 + np.random.default_rng(1).normal(0, 0.001, (CELLS, COUNT))
    for cell, less in less_s.items():
        own_s[cell] -= less
    for cell, more in more_s.items():
        own_s[cell, BEFORE:] += more
    compared = ComparedIterations(SLOW, BASELINE, 1.2e9, 0.2e9, MODEL.least_share * 0.2e9, MODEL.sure, held_up_s * 1e9)
    found = grown(OwnTime(np.arange(CELLS), own_s * 1e9), compared, STAGES, MODEL)
    return pursue(found, Cells(HOSTS, STAGES, waits), compared, MODEL)


def who(late: Explanation) -> tuple[str, list[int]]:
    """What it is, and which cells."""
    return late.best.who, np.flatnonzero(late.best.own).tolist()


def test_the_cell_that_takes_what_the_iteration_lost_is_named_alone() -> None:
    """Others whose time changes by a share of it only wait."""
    (late,) = named({2: 0.2, 3: 0.02, 5: -0.03})
    assert who(late) == ("cell", [2])
    assert late.near[0][1] > 0.95


def test_cells_of_one_host_that_grow_alike_are_the_host() -> None:
    """One cause for both is likelier than one for each."""
    (late,) = named({2: 0.2, 3: 0.2})
    assert who(late) == ("host", [2, 3])


def test_a_stage_that_grows_on_all_its_hosts_is_the_stage() -> None:
    """Its cells wait for one another."""
    (late,) = named({4: 0.2, 5: 0.21, 6: 0.2, 7: 0.19})
    assert who(late) == ("stage", [4, 5, 6, 7])


@pytest.mark.parametrize(
    ("hosts", "suspects"),
    [
        (HOSTS, [("host", [4, 5]), ("host", [6, 7])]),
        (tuple("abcdefgh"), [("cell", [4]), ("cell", [5]), ("cell", [6]), ("cell", [7])]),
    ],
    ids=["on known hosts", "where hosts are unknown"],
)
def test_any_host_of_a_slower_stage_may_hold_up_the_others(
    hosts: tuple[str, ...], suspects: list[tuple[str, list[int]]]
) -> None:
    """Layers stay on their stage, so one of its machines is slow, each as likely as the others."""
    (late,) = named({4: 0.2, 5: 0.21, 6: 0.2, 7: 0.19})
    cells = Culprits(np.arange(CELLS), NOTHING_GROWN, hosts, frozenset("abcd"), (late,))
    near = cells.parts(late).near
    assert [(h.who, np.flatnonzero(h.own).tolist()) for h, _ in near] == suspects
    assert [p for _, p in near] == pytest.approx([late.near[0][1] / len(suspects)] * len(suspects))


def test_all_that_grow_alike_are_everybody() -> None:
    """Cells that compute for half of the iteration grow by half of what it lost."""
    (late,) = named(dict.fromkeys(range(CELLS), 0.1))
    assert who(late) == ("everybody", list(range(CELLS)))
    assert abs(late.best.ratio - 1.2) < 0.05


@pytest.mark.parametrize(("more_s", "expected"), [(0.5, ("cell", [2])), (0.14, ("everybody", list(range(CELLS))))])
def test_who_grows_far_more_than_all_others_is_named(more_s: float, expected: tuple[str, list[int]]) -> None:
    """All take 0.1 s more, since sequences are longer or for waiting; a little more than that is no culprit."""
    late, *_ = named(dict.fromkeys(range(CELLS), 0.1) | {2: more_s})
    assert who(late) == expected


def test_a_pause_of_all_is_not_due_to_who_computes_least() -> None:
    """It takes 0.15 s of every cell: of one that computes for 0.1 s that is more than twice as long."""
    found = named(dict.fromkeys(range(CELLS), 0.15), less_s={2: 0.4})
    assert ("cell", [2]) not in [who(late) for late in found]


def test_a_late_cell_whose_neighbours_grow_a_little_is_no_stage() -> None:
    """The stage leaves half of the lost time unexplained, and that would need a cause of its own."""
    (late, *_) = named({4: 0.31, 5: 0.085, 6: 0.085})
    assert who(late) == ("cell", [4])


def test_where_nobody_grew_nobody_is_named() -> None:
    """The iteration lost its time elsewhere: in a link."""
    assert named({}) == []
    assert named(dict.fromkeys(range(CELLS), 0.01)) == []


def test_two_that_lose_all_of_it_are_suspects_alike() -> None:
    """Either would do; nothing says which of them matters."""
    (late,) = named({0: 0.2, 6: 0.2})
    assert sorted(np.flatnonzero(h.own).tolist() for h, _ in late.near) == [[0], [6]]


def test_half_of_all_are_not_everybody() -> None:
    """Nor is a stage at fault of which most only wait."""
    found = named({0: 0.2, 2: 0.2, 4: 0.2, 6: 0.2})
    assert all(late.best.who == "cell" for late in found)
    (late,) = named({3: 0.2} | dict.fromkeys(range(4, CELLS), 0.07))
    assert who(late) == ("cell", [3])


def test_who_only_waits_for_a_late_one_in_a_ring_is_no_suspect() -> None:
    """Each cell sends to the next, which must be ready: 1 and 2 look alike, and 2 explains them both."""
    ring = np.array([((n + 1) % CELLS, n) for n in range(CELLS)])
    (late,) = named({1: 0.2, 2: 0.2}, waits=ring)
    assert who(late) == ("cell", [2])
    assert len(late.near) == 1
    (late,) = named({2: 0.2}, waits=ring)
    assert who(late) == ("cell", [2])


def test_who_is_held_up_by_a_slow_stream_computes_no_longer() -> None:
    """All that grow by what it lost wait for it; who grows by far more has a cause of its own."""
    assert named(dict.fromkeys(range(CELLS), 0.1), held_up_s=0.1) == []
    (late,) = named({2: 0.2}, held_up_s=0.05)
    assert who(late) == ("cell", [2])


def among_peers(own_s: list[float], place: list[int]) -> list[Explanation]:
    """Who is named without a past."""
    own = np.array(own_s)[:, None] + np.random.default_rng(1).normal(0, 0.001, (len(own_s), COUNT))
    compared = ComparedIterations(np.arange(1, COUNT), np.zeros(0, np.int64), 1e9, 0.0, 0.05e9, MODEL.sure_among_peers)
    found = grown(OwnTime(np.arange(len(own_s)), own * 1e9), compared, np.array(place), MODEL)
    hosts = [str(n) for n in range(len(own_s))]
    return pursue(found, Cells(hosts, np.array(place), NOBODY_WAITS), compared, MODEL)


def test_without_a_past_peers_of_the_same_place_are_the_measure() -> None:
    """Those of another place take longer, and so they may; of fewer than four nobody is asked."""
    (late,) = among_peers([0.5, 0.5, 0.5, 0.7, 0.9, 0.9], [0, 0, 0, 0, 1, 1])
    assert who(late) == ("cell", [3])
    assert among_peers([0.5, 0.5, 0.7, 0.9, 0.9], [0, 0, 0, 1, 1]) == []


def test_two_that_take_longer_than_their_peers_are_both_named() -> None:
    """The one that takes longest first; neither explains the other."""
    found = among_peers([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.7, 0.95], [0] * 8)
    assert [who(late) for late in found] == [("cell", [7]), ("cell", [6])]


def test_those_of_one_fault_are_suspects_alike() -> None:
    """Two that are late at once: who waits for the other may look as late."""
    late = among_peers([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.7, 0.95], [0] * 8)
    (one,) = Culprits(np.arange(CELLS), NOTHING_GROWN, HOSTS, frozenset(HOSTS), tuple(late)).as_one_fault
    assert sorted(np.flatnonzero(h.own).tolist() for h, _ in one.near) == [[6], [7]]
    assert sum(share for _, share in one.near) == pytest.approx(1.0)


def test_a_stage_that_is_late_in_single_iterations_is_named_by_its_hosts() -> None:
    """A stage is no place to go to: it would leave no suspect."""
    late = named({4: 0.2, 5: 0.21, 6: 0.2, 7: 0.19})
    (one,) = Culprits(np.arange(CELLS), NOTHING_GROWN, HOSTS, frozenset(HOSTS), tuple(late)).as_one_fault
    assert [(h.who, np.flatnonzero(h.own).tolist()) for h, _ in one.near] == [("host", [4, 5]), ("host", [6, 7])]


def test_a_peer_that_was_not_there_is_none() -> None:
    """A host that joined late says nothing of the others."""
    assert among_peers([0.5, 0.5, 0.5, float("nan")], [0, 0, 0, 0]) == []
