"""Roles of edge classes, on edges made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from strategy.candidates import role_table
from strategy.candidates.edge_sets import EdgeSets
from strategy.candidates.grid_fit import build_pipelines, fit_grid, score_pipelines
from strategy.candidates.labelings import Labeling, find_labelings
from strategy.candidates.role_table import ROLES, load_role_table
from strategy.options import GridPenalties, LayoutOptions
from strategy.traffic.class_features import SHAPE, TIMING, measure_shape, to_bins
from strategy.traffic.edge_classes import classify
from tests.strategy.hand_made import Edge, both_ways, mesh, ring, table


def label(*edges: Edge) -> list[Labeling]:
    """Labelings of a job of which nobody knows the hosts."""
    job = table(*edges)
    members = np.unique(np.concatenate([job.src, job.dst]))
    return find_labelings(job, members, np.arange(int(members.max()) + 1), {}, LayoutOptions())


def test_role_table_holds_log_probabilities() -> None:
    """Each feature's bins of each role sum to one, and count with the feature's weight."""
    stored = json.loads((Path(role_table.__file__).parent / "role_table.json").read_text())
    loaded = load_role_table()
    assert set(loaded) == {*ROLES, "any"}
    for role, features in loaded.items():
        assert set(features) == {*SHAPE, *TIMING}
        for name, log in features.items():
            assert sum(np.exp(stored["log_probabilities"][role][name])) == pytest.approx(1, abs=0.01)
            assert log == pytest.approx(np.array(stored["log_probabilities"][role][name]) * stored["weights"][name])


def test_what_no_role_explains_looks_like_any() -> None:
    """It costs its prior alone; one in twenty looks like nothing that was simulated, whatever its role."""
    loaded = load_role_table()
    assert loaded["other"] == loaded["any"]
    stored = json.loads((Path(role_table.__file__).parent / "role_table.json").read_text())["log_probabilities"]
    for features in stored.values():
        for log in features.values():
            assert min(np.exp(log)) >= 0.05 / len(log) - 0.001


def test_ring_at_the_end_reduces_gradients() -> None:
    """Eight endpoints, one ring in the last fifth of the iteration."""
    best = label(*ring(list(range(8)), 90.0))[0]
    assert best.fit.sizes == {"cp": 1, "ep": 1, "tp": 1, "dp": 8}
    assert best.pipelines.chains == []


def test_pipeline_with_gradients_is_two_classes() -> None:
    """Two stages of four replicas: pairs that take turns, and a ring in each stage."""
    turns = [e for n in range(4) for e in both_ways(n, n + 4, 10.0)]
    best = label(*turns, *ring([0, 1, 2, 3], 90.0), *ring([4, 5, 6, 7], 90.0))[0]
    assert best.pipelines.chains == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert best.fit.groups["dp"] == ((0, 1, 2, 3), (4, 5, 6, 7))


def test_pieces_in_turns_are_one_pipeline_beside_gradients_of_as_many_bytes() -> None:
    """Forward messages begin long before backward ones, so that they are two pieces of a class of three."""
    turns = [
        Edge(a, b, 10.0, first, first + 0.3, turns=True, transfers=8)
        for n in range(4)
        for a, b, first in ((n, n + 4, 0.0), (n + 4, n, 0.4))
    ]
    reducing = [replace(e, size=10.0) for own in ([0, 1, 2, 3], [4, 5, 6, 7]) for e in ring(own, 10.0)]
    best = label(*turns, *reducing)[0]
    assert best.pipelines.chains == [(0, 4), (1, 5), (2, 6), (3, 7)]
    assert best.roles.count("other") == 0


def test_messages_of_ranks_that_share_a_nic_are_one_pipeline() -> None:
    """Connections carry what one, two or three ranks send between stages; of one the last rank's returns elsewhere."""
    turns = [replace(e, transfers=8) for n, size in enumerate((10.0, 10.0, 20.0)) for e in both_ways(n, n + 4, size)]
    turns += [Edge(3, 7, 30.0, 0.0, 0.7, transfers=8), Edge(7, 3, 20.0, 0.1, 0.75, transfers=8)]
    best = label(*turns, *ring([0, 1, 2, 3], 90.0), *ring([4, 5, 6, 7], 90.0))[0]
    assert set(best.roles[: len(turns)]) == {"pp"}
    assert best.pipelines.chains == [(0, 4), (1, 5), (2, 6), (3, 7)]


def test_stages_get_gradients_back() -> None:
    """Pairs that only send in one direction are no pipeline; each endpoint without a return costs its share."""
    one_way = table(*(Edge(n, n + 4, 10.0, 0.0, 0.4) for n in range(4)))
    returned = table(*(e for n in range(4) for e in both_ways(n, n + 4, 10.0)))
    penalties = GridPenalties()
    scores = [
        score_pipelines(EdgeSets(job, {}, penalties), build_pipelines(job, np.arange(len(job))), np.arange(8))
        for job in (one_way, returned)
    ]
    assert scores[1] - scores[0] == pytest.approx(-penalties.one_way * penalties.most)


def test_gradients_of_unlike_stages_are_no_tensor_groups() -> None:
    """The last stages' hold an embedding as well: each class of gradients covers half of the endpoints."""
    stages = [list(range(first, first + 4)) for first in (0, 4, 8, 12)]
    turns = [e for n in range(12) for e in both_ways(n, n + 4, 10.0)]
    reducing = [ring(stage, size, 0.5, 0.9) for stage, size in zip(stages, (90.0, 90.0, 99.0, 99.0), strict=True)]
    steps = [replace(e, transfers=3) for own in reducing for e in own]
    found = label(*turns, *steps)
    tensor = max(one.log_score for one in found if one.fit.sizes["tp"] > 1)
    assert found[0].fit.sizes["dp"] == 4
    assert found[0].log_score > tensor + 6


def test_equal_bytes_in_turns_and_at_once_are_different_pieces() -> None:
    """Activations that weigh as much as gradients: the class is cut where behavior differs."""
    turns = [e for n in range(4) for e in both_ways(n, n + 4, 90.0)]
    job = table(*turns, *ring([0, 1, 2, 3], 90.0), *ring([4, 5, 6, 7], 90.0))
    (only,) = classify(job)
    assert sorted(len(piece) for piece in only.pieces) == [8, 8]
    best = label(*turns, *ring([0, 1, 2, 3], 90.0), *ring([4, 5, 6, 7], 90.0))[0]
    assert (len(best.pipelines.chains), best.fit.sizes["dp"]) == (4, 4)


def test_embedding_edges_join_no_gradient_groups() -> None:
    """First and last stage exchange embeddings: gradient groups stay apart."""
    turns = [e for n in range(4) for a, b in ((n, n + 4), (n + 4, n + 8)) for e in both_ways(a, b, 10.0, a / 100)]
    rings = [e for s in (0, 4, 8) for e in ring([s, s + 1, s + 2, s + 3], 90.0, 0.75, 0.9)]
    ends = [e for n in range(4) for e in (Edge(n, n + 8, 30.0, 0.93, 1.0), Edge(n + 8, n, 30.0, 0.93, 1.0))]
    best = label(*turns, *rings, *ends)[0]
    assert best.fit.groups["dp"] == tuple(tuple(range(s, s + 4)) for s in (0, 4, 8))
    assert len(best.pipelines.chains[0]) == 3


def test_mesh_in_the_passes_crossed_by_rings_is_expert_traffic() -> None:
    """Two meshes of four, rings of equal experts across them, and a dense ring over all."""
    tokens = [e for s in (0, 4) for e in mesh([s, s + 1, s + 2, s + 3], 30.0, 0.02, 0.75)]
    tokens = [Edge(e.src, e.dst, e.size, e.first, e.last, transfers=16) for e in tokens]
    across = [e for n in range(4) for e in ring([n, n + 4], 10.0, 0.9, 0.95)]
    best = label(*tokens, *across, *ring(list(range(8)), 90.0, 0.8, 0.9))[0]
    assert (best.fit.sizes["ep"], best.fit.sizes["dp"]) == (4, 8)


def uneven(exchanged: list[Edge], *, alike: bool) -> tuple[Edge, ...]:
    """What is exchanged, of another size each iteration and from edge to edge, and gradients after it."""
    random = np.random.default_rng(1)
    tokens, common = random.uniform(0.7, 1.3, (8, 8)), random.uniform(0.7, 1.3, 8)
    sizes = [common if alike else (tokens[e.src] + tokens[e.dst]) / 2 for e in exchanged]
    changing = [
        replace(
            e,
            transfers=16,
            size=e.size * (1 if alike else 0.6 + 0.3 * (e.src % 4 + e.dst % 4)),
            sizes=tuple(drawn.tolist()),
        )
        for e, drawn in zip(exchanged, sizes, strict=True)
    ]
    return (*changing, *(replace(e, size=10.0) for n in range(4) for e in ring([n, n + 4], 10.0, 0.9, 0.95)), *WHOLE)


WHOLE = ring(list(range(8)), 90.0, 0.8, 0.9)


def test_unequal_experts_are_one_class() -> None:
    """Pairs send up to three times as much as others, and another amount each iteration: one exchange of experts."""
    meshes = [e for s in (0, 4) for e in mesh([s, s + 1, s + 2, s + 3], 30.0, 0.02, 0.75)]
    job = uneven(meshes, alike=False)
    assert sorted(len(one.edges) for one in classify(table(*job))) == [8, 8, 24]
    assert label(*job)[0].fit.sizes == {"cp": 1, "ep": 4, "tp": 1, "dp": 8}


@pytest.mark.parametrize(("alike", "found"), [(True, 1.0), (False, 2.0)])
def test_how_bytes_change_is_part_of_a_shape(alike: bool, found: float) -> None:
    """Sequences of other lengths change what an endpoint sends to all alike, experts what goes to each by itself."""
    job = table(*uneven(mesh([0, 1, 2, 3], 30.0), alike=alike))
    host, changing = np.arange(8), np.arange(12)
    assert measure_shape(job, changing, host)["variation"] == found
    assert measure_shape(job, np.arange(12, len(job)), host)["variation"] == 0
    unknown = replace(job, variation=np.full(len(job), np.nan))
    assert "variation" not in to_bins(measure_shape(unknown, changing, host), SHAPE)


def test_grid_counts_each_deviation() -> None:
    """Gradient groups of unequal size cost what the options say, and no more than the most that count."""
    job = table(*ring([0, 1, 2, 3], 90.0), *ring([4, 5], 90.0))
    pipelines = build_pipelines(job, np.zeros(0, np.int64))
    penalties = GridPenalties()
    chosen = np.arange(len(job))

    fit = fit_grid(EdgeSets(job, {}, penalties), pipelines, {"dp": chosen}, [chosen], np.arange(6))
    assert fit.sizes["dp"] == 4
    assert fit.log_score == pytest.approx(2 * penalties.odd_group)


def test_labelings_share_what_a_set_of_edges_ties_together() -> None:
    """Sixty-four labelings ask for the same few sets: each is worked out once, for all that ask of it."""
    job = table(*ring([0, 1, 2, 3], 90.0), *ring([4, 5], 90.0))
    sets, chosen = EdgeSets(job, {}, GridPenalties()), np.arange(len(job))
    found = sets.tie(chosen)
    assert found.groups == ((0, 1, 2, 3), (4, 5))
    assert (found.usual, found.usually, found.even) == (4, 4, False)
    assert sets.tie(chosen.copy()) is found


@pytest.mark.parametrize(("part", "deviates"), [([0, 1, 2], False), ([0, 1, 2, 3], True)])
def test_a_class_of_gradients_spans_a_divisor_of_the_ranks_that_share_them(part: list[int], deviates: bool) -> None:
    """Experts of two groups of three, beside dense gradients of six; four of six make no grid."""
    job, penalties = table(*ring([0, 1, 2, 3, 4, 5], 90.0), *ring(part, 45.0)), GridPenalties()
    dense, own = np.arange(6), np.arange(6, len(job))

    pipelines = build_pipelines(job, np.zeros(0, np.int64))
    fit = fit_grid(EdgeSets(job, {}, penalties), pipelines, {"dp": np.arange(len(job))}, [dense, own], np.arange(6))
    assert fit.log_score == pytest.approx(penalties.uneven_span * deviates)


@pytest.mark.parametrize(
    ("edges", "share"),
    [
        pytest.param(ring([0, 1, 2, 3], 90.0), 1.0, id="ring"),
        pytest.param([Edge(0, 2, 90.0), Edge(1, 3, 90.0)], 0.0, id="ring that goes on inside hosts"),
        pytest.param([Edge(0, 1, 90.0), Edge(1, 2, 90.0)], 1 / 3, id="one way through three stages"),
    ],
)
def test_endpoints_of_a_class_that_both_send_and_receive(edges: list[Edge], share: float) -> None:
    """All stages of a pipeline do, and all members of a ring, but for what passes inside hosts."""
    job = table(*edges)
    assert measure_shape(job, np.arange(len(job)), np.arange(4))["both_ways"] == pytest.approx(share)


def pairs_and_gradients(gradients: list[Edge], kind: str) -> tuple[float, GridPenalties]:
    """Score of four endpoints of which two pairs exchange traffic of some kind, beside gradients."""
    pairs = [e for a, b in ((0, 2), (1, 3)) for e in ring([a, b], 30.0, 0.0, 0.5)]
    job, penalties = table(*pairs, *gradients), GridPenalties()
    own, summed = np.arange(4), np.arange(4, len(job))
    labels = {kind: own, "dp": summed} if kind != "dp" else {"dp": np.arange(len(job))}

    pipelines = build_pipelines(job, np.zeros(0, np.int64))
    return fit_grid(EdgeSets(job, {}, penalties), pipelines, labels, [summed], np.arange(4)).log_score, penalties


def test_ranks_of_a_context_group_sum_their_gradients() -> None:
    """They hold the same parameters: where no gradients link them they are rather a tensor group."""
    across = [e for a, b in ((0, 1), (2, 3)) for e in ring([a, b], 90.0)]
    score, penalties = pairs_and_gradients(across, "cp")
    assert score == pytest.approx(penalties.never_reduced + penalties.reduced_in_steps)
    assert pairs_and_gradients(across, "tp")[0] == 0
    assert pairs_and_gradients(ring([0, 1, 2, 3], 90.0), "cp")[0] == 0


def test_parameters_are_gathered_by_all_that_sum_their_gradients() -> None:
    """Pairs that gather beside a ring of four that reduces are few programs'."""
    score, penalties = pairs_and_gradients(ring([0, 1, 2, 3], 90.0), "dp")
    assert score == pytest.approx(penalties.gathered_in_part)


@pytest.mark.parametrize(("forth", "back", "later"), [(0.4, 0.9, 2), (0.8, 0.83, 0), (0.8, 0.8, 0)])
def test_a_collective_is_over_before_its_members_compute_again(forth: float, back: float, later: int) -> None:
    """A tree sums up and sends down at once; what comes back half an iteration later are another stage's gradients."""
    job, penalties = table(Edge(0, 1, 90.0, forth, forth + 0.02), Edge(1, 0, 90.0, back, back + 0.02)), GridPenalties()

    pipelines, chosen = build_pipelines(job, np.zeros(0, np.int64)), np.arange(2)
    fit = fit_grid(EdgeSets(job, {}, penalties), pipelines, {"dp": chosen}, [chosen], chosen)
    assert fit.log_score == pytest.approx(later * penalties.answered_later)


@pytest.mark.parametrize(
    ("edges", "unbalanced"),
    [
        pytest.param([Edge(0, 1, 90.0), Edge(1, 2, 90.0)], 2, id="open chain"),
        pytest.param([Edge(0, 1, 90.0), Edge(1, 0, 80.0)], 2, id="one direction counted otherwise"),
        pytest.param([Edge(0, 1, 90.0), Edge(1, 0, 45.0), Edge(1, 0, 45.0)], 0, id="one direction in two streams"),
    ],
)
def test_members_of_a_reduction_send_as_much_as_they_receive(edges: list[Edge], unbalanced: int) -> None:
    """What is sent one after the other, or in unlike amounts to and fro, reduces no gradients."""
    job, penalties = table(*edges), GridPenalties()
    chosen, members = np.arange(len(job)), np.union1d(job.src, job.dst)

    pipelines = build_pipelines(job, np.zeros(0, np.int64))
    fit = fit_grid(EdgeSets(job, {}, penalties), pipelines, {"dp": chosen}, [chosen], members)
    assert fit.log_score == pytest.approx(unbalanced * penalties.unbalanced)


LENGTHS = (0.8, 1.2, 0.9, 1.1, 0.7, 1.3, 0.8, 1.2)


@pytest.mark.parametrize(("passing", "summed", "mixed", "vary"), [(0, 0, 0, 0), (1, 0, 1, 0), (0, 1, 0, 1)])
def test_lengths_change_what_passes_between_ranks_alike_and_no_gradients(
    passing: int, summed: int, mixed: int, vary: int
) -> None:
    """Activations and keys are those of the same sequences; gradients are as many as parameters."""
    sizes = ((1.0,) * 8, LENGTHS)
    chains = [replace(e, sizes=sizes[passing]) for a in (0, 1) for e in both_ways(a, a + 2, 30.0)]
    keys = [e for a in (0, 2) for e in ring([a, a + 1], 60.0, 0.0, 0.5)]
    sums = [replace(e, sizes=sizes[summed]) for a in (0, 2) for e in ring([a, a + 1], 90.0)]
    job, penalties = table(*chains, *keys, *sums), GridPenalties()

    pp, cp, dp = np.split(np.arange(len(job)), [4, 8])
    fit = fit_grid(EdgeSets(job, {}, penalties), build_pipelines(job, pp), {"cp": cp, "dp": dp}, [dp], np.arange(4))
    assert fit.log_score == pytest.approx(mixed * penalties.mixed_lengths + vary * penalties.gradients_vary)


def test_parts_of_a_ring_are_one_piece_whoever_sent_as_much_before() -> None:
    """Two of four pairs exchange as many bytes in the passes: their share of the ring is no piece of its own."""
    before = [Edge(a, b, 90.0, 0.0, 0.3, transfers=8) for a, b in ((0, 1), (2, 3))]
    (only,) = classify(table(*before, *ring([0, 1, 2, 3], 90.0)))
    assert sorted(len(piece) for piece in only.pieces) == [2, 4]


def test_gradients_may_be_summed_by_direct_exchange() -> None:
    """Every rank sends to all others at once behind its passes, which no ring and no tree does."""
    job = table(*mesh(list(range(8)), 10.0, 0.4, 1.0))
    best = find_labelings(job, np.arange(8), np.arange(8), {}, LayoutOptions())[0]
    assert set(best.roles) == {"direct"}
    assert best.fit.sizes == {"cp": 1, "ep": 1, "tp": 1, "dp": 8}
