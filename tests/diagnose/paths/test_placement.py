from dataclasses import replace

import numpy as np
import pytest

from datamodel.cluster.inventory import Link
from datamodel.reconstructed.streams import Float
from diagnose.paths.placing.edge_coloring import color_edges
from diagnose.paths.placing.placement import Demand, bound_s, place, placed
from diagnose.paths.placing.queue_pairs import queue_pairs_needed
from diagnose.paths.shortest_routes import NONE, DirectedCables, ShortestRoutes, shortest_routes
from flowprism.evaluation.paths.best_placement import best_placement
from tests.diagnose.paths.fabrics import BYTES_PER_S, cables, demand, ends


@pytest.mark.parametrize(("leaves", "spines", "count"), [(2, 2, 7), (4, 3, 50), (16, 16, 900), (9, 5, 333), (3, 8, 20)])
def test_no_color_has_more_connections_of_a_leaf_than_the_bound(leaves: int, spines: int, count: int) -> None:
    """ceil(degree / colors) at every leaf, sending and receiving, for degrees that no number of spines divides."""
    src, dst = ends(count, leaves, count)
    color = color_edges(src, dst, spines)
    for end in (src, dst):
        most = np.bincount(end * spines + color, minlength=leaves * spines).reshape(leaves, spines).max(axis=1)
        assert (most <= -(-np.bincount(end, minlength=leaves) // spines)).all()


@pytest.mark.parametrize("draw", range(6))
def test_equal_connections_meet_the_bound_exactly(draw: int) -> None:
    """The slowest cable carries ceil(degree / spines) connections of the busiest leaf end."""
    random = np.random.default_rng(draw)
    leaves, spines = (int(n) for n in random.integers(2, 17, 2))
    src, dst = ends(int(random.integers(leaves, 60 * leaves)), leaves, draw)
    fabric = cables(leaves, spines)
    work, routes = demand(fabric, src, dst, np.full((len(src), 1), 1e9))
    degree = max(np.bincount(src).max(), np.bincount(dst).max())
    assert place(work, routes, fabric).slowest_s[0] == pytest.approx(-(-degree // spines) * 1e9 / BYTES_PER_S, rel=1e-9)


def test_equal_connections_meet_the_bound_in_each_plane() -> None:
    """Two planes of twelve spines, each with twelve connections out of and into every leaf: one on a cable."""
    leaves, spines = 15, 12
    one = cables(leaves, spines)
    other = [n.model_copy(update={"a": f"{n.a}-b", "b": f"{n.b}-b"}) for n in one.links]
    fabric = DirectedCables.of([*one.links, *other])
    number = {name: n for n, name in enumerate(fabric.switches)}
    src = np.repeat(np.arange(leaves), spines)
    hop = np.tile(np.arange(spines) % (leaves - 1) + 1, leaves)
    code = np.array([[number[f"leaf{n}{plane}"] for n in range(leaves)] for plane in ("", "-b")])
    both = [np.stack([row[src], row[(src + hop) % leaves]], axis=1) for row in code]
    pairs, pair = np.unique(np.concatenate(both), axis=0, return_inverse=True)
    sent = np.full((len(pair), 1), 1e9)
    work = Demand(pair.ravel(), sent, sent > 0, np.zeros((len(fabric.tail), 1)))
    found = place(work, shortest_routes(fabric, pairs), fabric)
    assert found.slowest_s[0] == pytest.approx(1e9 / BYTES_PER_S, rel=1e-9)


def test_unequal_connections_come_close_to_the_optimum() -> None:
    """Mean <= 1 %, worst <= 3 % above the best of a mixed-integer program, over phases that share connections."""
    excess = []
    for draw in range(12):
        random = np.random.default_rng(draw)
        leaves, spines = (int(n) for n in random.integers(2, 7, 2))
        src, dst = ends(int(random.integers(6, 40)), leaves, draw)
        sent = np.exp(random.normal(0, 1, (len(src), 1))) * random.choice([0.25, 0.5, 1.0], (len(src), 2)) * 1e9
        fabric = cables(leaves, spines)
        work, routes = demand(fabric, src, dst, sent)
        found = place(work, routes, fabric).slowest_s.sum()
        excess.append(found / best_placement(work, routes, fabric).bound_s - 1)
        assert bound_s(work, routes, fabric).sum() <= found * (1 + 1e-9)
    assert np.mean(excess) <= 0.01
    assert max(excess) <= 0.03


def two_jobs(shared: Float) -> tuple[DirectedCables, Demand, ShortestRoutes]:
    """Two connections of each of two jobs over one pair of leaves; bytes of the second job in the first one's phase."""
    fabric = cables(2, 2)
    zeros, ones = np.zeros(4, np.int64), np.ones(4, np.int64)
    sent = np.array([[1e9, 0.0], [1e9, 0.0], [0.0, 1e9], [0.0, 1e9]])
    sent[2:, 0] = shared
    work, routes = demand(fabric, zeros, ones, sent)
    own = np.array([[True, False], [True, False], [False, True], [False, True]])
    return fabric, replace(work, own=own), routes


def test_jobs_that_are_never_busy_together_do_not_slow_each_other() -> None:
    """Each cable carries one connection of either job, and each job's phase lasts as long as one connection."""
    fabric, work, routes = two_jobs(np.zeros(2))
    assert place(work, routes, fabric).slowest_s == pytest.approx([1e9 / BYTES_PER_S] * 2)


def test_jobs_keep_apart_while_there_are_cables() -> None:
    """Four connections of two jobs that are not seen busy together take four cables, not the same two."""
    fabric = cables(2, 4)
    zeros, ones = np.zeros(4, np.int64), np.ones(4, np.int64)
    sent = np.array([[1e9, 0.0], [1e9, 0.0], [0.0, 1.3e9], [0.0, 1.3e9]])
    work, routes = demand(fabric, zeros, ones, sent)
    found = place(replace(work, own=sent > 0), routes, fabric)
    assert len(np.unique(found.route)) == 4


def test_jobs_that_are_busy_together_share_what_there_is() -> None:
    """Half as much of the other job's on each cable adds half of the time."""
    fabric, work, routes = two_jobs(np.full(2, 0.5e9))
    assert place(work, routes, fabric).slowest_s[0] == pytest.approx(1.5e9 / BYTES_PER_S)


def test_cables_that_are_left_out_carry_nothing() -> None:
    """With both directions of a cable left out, connections of its leaf take the other spines."""
    fabric = cables(3, 4)
    src, dst = ends(60, 3, 1)
    work, every = demand(fabric, src, dst, np.full((60, 1), 1e9))
    first = every.cables[every.offsets[:-1]]
    pairs = np.stack([fabric.tail[first[:, 0]], fabric.head[first[:, 1]]], axis=1)
    routes = shortest_routes(fabric, pairs, (0, 1))
    found = place(work, routes, fabric)
    assert found.load_s[:2].sum() == 0
    assert (found.route != NONE).all()
    assert found.slowest_s[0] < 1.4 * place(work, every, fabric).slowest_s[0]


def test_a_pair_without_a_way_has_no_route() -> None:
    """Leaves of separate planes are not connected; nothing is placed."""
    fabric = cables(2, 1)
    routes = shortest_routes(fabric, np.array([[0, 1]]), range(len(fabric.tail)))
    work = Demand(np.zeros(1, np.int64), np.ones((1, 1)), np.ones((1, 1), np.bool_), np.zeros((len(fabric.tail), 1)))
    found = place(work, routes, fabric)
    assert (found.route.tolist(), found.slowest_s.tolist()) == ([NONE], [0.0])


def test_routes_of_three_tiers_are_all_the_shortest() -> None:
    """Two pods of two leaves and two spines, two cores above each spine: 2 ways inside a pod, 4 across."""
    up = [Link(a=f"p{p}l{n}", b=f"p{p}s{s}", speed_gbps=400) for p in (0, 1) for n in (0, 1) for s in (0, 1)]
    core = [Link(a=f"p{p}s{s}", b=f"x{s}{c}", speed_gbps=400) for p in (0, 1) for s in (0, 1) for c in (0, 1)]
    fabric = DirectedCables.of([*up, *core])
    number = {name: n for n, name in enumerate(fabric.switches)}
    routes = shortest_routes(fabric, np.array([[number["p0l0"], number[to]] for to in ("p0l1", "p1l0")]))
    assert np.diff(routes.offsets).tolist() == [2, 4]
    assert (routes.cables[2:] != NONE).all()
    assert (fabric.head[routes.cables[2:, -1]] == number["p1l0"]).all()


def test_more_queue_pairs_come_closer_to_the_plan() -> None:
    """Chance needs several queue pairs where the plan needs none, and one where there is one way only."""
    fabric = cables(4, 4)
    src, dst = ends(64, 4, 2)
    work, routes = demand(fabric, src, dst, np.full((64, 1), 1e9))
    best = float(place(work, routes, fabric).slowest_s.sum())
    number = queue_pairs_needed(work, routes, fabric, best)
    assert number is None or number >= 8
    single = cables(4, 1)
    work, routes = demand(single, src, dst, np.full((64, 1), 1e9))
    assert queue_pairs_needed(work, routes, single, float(place(work, routes, single).slowest_s.sum())) == 1


def test_hashed_paths_are_slower_than_the_plan() -> None:
    """Random routes of 64 equal connections load the slowest cable at least a third more than the plan does."""
    fabric = cables(4, 4)
    src, dst = ends(64, 4, 2)
    work, routes = demand(fabric, src, dst, np.full((64, 1), 1e9))
    random = np.random.default_rng(1)
    hashed = placed(work, routes, fabric, routes.offsets[work.pair] + random.integers(0, 4, 64))
    assert hashed.slowest_s[0] > 1.33 * place(work, routes, fabric).slowest_s[0]


@pytest.mark.slow
def test_what_moves_that_slow_no_phase_cannot_reach_is_explored() -> None:
    """Three jobs over three spines: relieving one slows another less. Without exploring, 2.4 % are lost in the mean.

    The program of mixed integers finds better placements in five seconds of a quicker machine, but none by 3 %.
    """
    random = np.random.default_rng(11)
    excess = []
    for _ in range(5):
        fabric = cables(5, 3)
        src, dst = ends(72, 5, int(random.integers(1000)))
        sent = np.where(np.arange(72)[:, None] % 3 == np.arange(3), 1.0, 0.3) * random.uniform(1e9, 8e9, (72, 1))
        work, routes = demand(fabric, src, dst, sent)
        work = replace(work, own=np.arange(72)[:, None] % 3 == np.arange(3))
        best = best_placement(work, routes, fabric, 5.0)
        excess.append(place(work, routes, fabric).slowest_s.sum() / best.found_s - 1)
    assert np.mean(excess) <= 0.015
    assert max(excess) <= 0.03
