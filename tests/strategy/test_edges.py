"""What streams and pairs do, read from transfers made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame, concat
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.transfers import TRANSFERS
from reconstruct.numeric.ragged_arrays import expanded
from reconstruct.numeric.row_runs import runs
from strategy.current_members import select_current
from strategy.traffic.grouped_statistics import medians
from strategy.traffic.stream_profiles import build_profiles
from strategy.traffic.traffic_edges import TrafficEdges, build_edges, without_exact_times

MS = 1_000_000
ITERATIONS, PERIOD = 8, 1000 * MS
EDGES_NS = (np.arange(ITERATIONS) + 1) * PERIOD

NAMES = ("src", "dst", "stream", "iteration", "slot", "start_ns", "end_ns", "bytes")
# who, to whom, stream, bytes, and (start, end) of its transfers in ms after the iteration's beginning
Stream = tuple[int, int, int, int, list[tuple[float, float]]]
FORWARD: Stream = (0, 1, 0, 100, [(10, 12), (110, 112), (310, 312), (510, 512)])
BACKWARD: Stream = (1, 0, 1, 100, [(210, 212), (310, 312), (510, 512), (710, 712)])


def job_edges(transfers: Frame, iteration_ends_ns: Int) -> TrafficEdges:
    """Edges of a job."""
    return build_edges(build_profiles(transfers, iteration_ends_ns))


def job(*streams: Stream) -> Frame:
    """The same transfers in every iteration."""
    rows = [
        (src, dst, n, i, k, round(i * PERIOD + a * MS), round(i * PERIOD + b * MS), size)
        for src, dst, n, size, times in streams
        for i in range(ITERATIONS)
        for k, (a, b) in enumerate(times)
    ]
    return Frame(TRANSFERS, dict(zip(NAMES, np.array(rows, np.int64).T, strict=True)))


def test_neighboring_stages_take_turns() -> None:
    """Forward and backward messages that meet in the steady state are no collective: the first one goes alone."""
    found = job_edges(job(FORWARD, BACKWARD), EDGES_NS)
    assert (found.concurrency < 0.5).all()
    assert found.iteration_bytes.tolist() == [400.0, 400.0]
    assert found.first_ns.tolist() == [10 * MS, 210 * MS]


def test_two_who_begin_together_are_a_collective() -> None:
    """One direction may take five times as long: what counts is that every message begins with its counterpart."""
    times = [(10.0, 12.0), (110.0, 112.0), (210.0, 212.0)]
    slow = [(a, a + 5 * (b - a)) for a, b in times]
    found = job_edges(job((0, 1, 0, 100, times), (1, 0, 1, 100, slow)), EDGES_NS)
    assert (found.concurrency > 0.8).all()


def test_directions_are_compared_over_all_connections_of_a_pair() -> None:
    """Ranks behind a NIC share connections, all one way, and apart the other way."""
    one, early = [(10.0, 12.0)], [(500.0, 520.0)]
    found = job_edges(job((0, 1, 0, 300, one), (1, 0, 1, 100, early), (1, 0, 2, 200, early)), EDGES_NS)
    assert (found.concurrency == 0).all()
    found = job_edges(job((0, 1, 0, 900, one), (1, 0, 1, 100, early), (1, 0, 2, 200, early)), EDGES_NS)
    assert np.isnan(found.concurrency).all()


def test_one_way_edges_have_no_concurrency() -> None:
    """Nothing comes back: a ring."""
    found = job_edges(job((0, 1, 0, 100, [(10, 20)]), (1, 2, 1, 100, [(10, 20)])), EDGES_NS)
    assert np.isnan(found.concurrency).all()


def test_queue_pairs_of_one_connection_are_one_edge() -> None:
    """Streams of one pair that move alike at the same time add up; one at another time stays apart."""
    times, later = [(10.0, 20.0)], [(500.0, 510.0)]
    found = job_edges(job((0, 1, 0, 100, times), (0, 1, 1, 100, times), (0, 1, 2, 100, later)), EDGES_NS)
    assert sorted(found.iteration_bytes.tolist()) == [100.0, 200.0]
    assert found.edge[0] == found.edge[1] != found.edge[2]


def test_messages_that_begin_at_once_are_counted() -> None:
    """Three of four parallel messages begin together in the last round; in the first all did."""
    rounds = [(10.0, 20.0), (500.0, 510.0)]
    late = [(10.0, 20.0), (501.0, 511.0)]
    found = job_edges(job(*((0, 1, n, 100, rounds) for n in range(3)), (0, 1, 3, 100, late)), EDGES_NS)
    assert len(found) == 1
    assert (found.at_once.tolist(), found.messages.tolist()) == ([3.0], [4.0])


def test_iterations_longer_than_usual_say_nothing() -> None:
    """A pause and what is sent in it leave bytes and times as they are."""
    table = job(FORWARD, BACKWARD)
    late = table["iteration"] == 5
    stretched = table.replace(bytes=np.where(late, 700, table["bytes"]))
    ends = EDGES_NS + np.where(np.arange(ITERATIONS) >= 5, 3 * PERIOD, 0)
    shift = np.where(table["iteration"] > 5, 3 * PERIOD, 0)
    stretched = stretched.replace(start_ns=table["start_ns"] + shift, end_ns=table["end_ns"] + shift)
    found = job_edges(stretched, ends)
    assert found.iteration_bytes.tolist() == [400.0, 400.0]
    assert found.first_ns.tolist() == [10 * MS, 210 * MS]


def test_the_order_of_rows_does_not_matter() -> None:
    """Shuffled transfers give the same edges."""
    table = job(FORWARD, BACKWARD, (2, 3, 5, 900, [(10, 500)]))
    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    one, other = job_edges(table, EDGES_NS), job_edges(shuffled, EDGES_NS)
    for name in ("src", "dst", "iteration_bytes", "first_ns", "last_ns", "transfers", "spread"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()


def test_nothing_gives_nothing() -> None:
    """No transfers, no edges; too few iterations, none either."""
    assert len(job_edges(job(FORWARD).take(np.zeros(0, np.int64)), EDGES_NS)) == 0
    table = job(FORWARD)
    assert len(job_edges(table.take(table["iteration"] == 0), EDGES_NS[:1])) == 0


def test_medians_by_owner() -> None:
    """The lower of two middle values; nan for who has none."""
    found = medians(np.array([5.0, 1.0, 2.0, 9.0, 4.0]), np.array([0, 0, 0, 2, 2]), 3)
    assert found[[0, 2]].tolist() == [2.0, 4.0]
    assert np.isnan(found[1])


def test_runs_chain_like_values() -> None:
    """Steps within the tolerance belong to one run, whatever their sum."""
    assert runs(np.array([104.0, 100.0, 102.0, 200.0]), 0.03).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("count", [[2, 0, 3], [0, 0], []])
def test_ranges_are_expanded(count: list[int]) -> None:
    """Rows of each range, one after the other."""
    first = np.arange(len(count)) * 10
    which, row = expanded(first, np.array(count, np.int64))
    wanted = [(n, 10 * n + k) for n, c in enumerate(count) for k in range(c)]
    assert list(zip(which.tolist(), row.tolist(), strict=True)) == wanted


def test_an_exchanged_member_leaves_the_layout() -> None:
    """Endpoint 2 trains in place of 1 from iteration 4 on: what counts is since then; who merely stops is not gone."""
    before, after = job(FORWARD, BACKWARD), job((0, 2, 2, 100, FORWARD[4]), (2, 0, 3, 100, BACKWARD[4]))
    table = concat(TRANSFERS, [before.take(before["iteration"] < 4), after.take(after["iteration"] >= 4)])
    found, members = select_current(table, np.array([0, 1, 2]), ITERATIONS)
    assert members.tolist() == [0, 2]
    assert found["iteration"].min() == 4
    only = before.take(before["iteration"] < 4)
    stopped = concat(TRANSFERS, [only, job((0, 3, 4, 100, FORWARD[4]))])
    assert select_current(stopped, np.array([0, 1, 3]), ITERATIONS)[1].tolist() == [0, 1, 3]


def test_connections_before_a_restart_do_not_count_twice() -> None:
    """From iteration 4 on the same pair sends on other connections: one edge each way, not two side by side."""
    before = job(FORWARD, BACKWARD)
    after = job((0, 1, 2, 100, FORWARD[4]), (1, 0, 3, 100, BACKWARD[4]))
    table = concat(TRANSFERS, [before.take(before["iteration"] < 4), after.take(after["iteration"] >= 4)])
    found, members = select_current(table, np.array([0, 1]), ITERATIONS)
    assert members.tolist() == [0, 1]
    assert set(found["stream"].tolist()) == {2, 3}


def varying(random: np.random.Generator, *streams: Stream) -> Frame:
    """Streams of which the bytes of an iteration are drawn anew each time."""
    table = job(*streams)
    drawn = random.uniform(0.5, 1.5, (len(streams), ITERATIONS))
    stream = np.unique(table["stream"], return_inverse=True)[1]
    return table.replace(bytes=np.round(table["bytes"] * drawn[stream, table["iteration"]]).astype(np.int64))


def test_bytes_that_change_are_told_from_fixed_ones() -> None:
    """Endpoints that send gradients of fixed size beside tokens: only the latter vary."""
    gradients = [(n, 1 - n, n, 100_000, [(800.0, 900.0)]) for n in range(2)]
    tokens = [(n, 1 - n, 2 + n, 1000, [(10.0, 20.0), (30.0, 40.0)]) for n in range(2)]
    table = concat(TRANSFERS, [job(*gradients), varying(np.random.default_rng(1), *tokens)])
    found = job_edges(table, EDGES_NS)
    fixed = found.transfers == 1
    assert (found.variation[fixed] == 0).all()
    assert (found.variation[~fixed] > 0.1).all()


def test_where_nothing_is_fixed_the_feed_shows_no_variation() -> None:
    """Every program sums gradients of fixed size: iterations or volumes are not exact. Three show nothing."""
    both = [(n, 1 - n, n, 100_000, [(800.0, 900.0)]) for n in range(2)]
    assert np.isnan(job_edges(varying(np.random.default_rng(1), *both), EDGES_NS).variation).all()
    table = job(*both)
    assert np.isnan(job_edges(table.take(table["iteration"] < 3), EDGES_NS).variation).all()


def blurred(transfers: Frame) -> TrafficEdges:
    """Edges of a job as samples show it."""
    return without_exact_times(build_edges(build_profiles(transfers, EDGES_NS), exact=False))


def test_queue_pairs_whose_times_are_not_exact_are_one_edge_by_their_bytes() -> None:
    """As many messages as samples happened to show, at other times: with exact times they would be three edges."""
    shown = job((0, 1, 0, 400, [(10, 700)]), (0, 1, 1, 200, [(10, 300), (400, 700)]), (0, 1, 2, 400, [(300, 700)]))
    assert len(job_edges(shown, EDGES_NS)) == 3
    assert blurred(shown).iteration_bytes.tolist() == [1200.0]


def test_edges_that_carry_alike_act_alike_where_times_are_not_exact() -> None:
    """Most pairs of stages are seen to take turns, one to act at once."""
    turns = [one for n in (0, 2, 4) for one in ((n, n + 1, n, 100, FORWARD[4]), (n + 1, n, n + 1, 100, BACKWARD[4]))]
    once = [(6, 7, 6, 100, FORWARD[4]), (7, 6, 7, 100, FORWARD[4])]
    acts = job_edges(job(*turns, *once), EDGES_NS).concurrency
    assert acts.max() > 0.8
    found = blurred(job(*turns, *once))
    assert (found.concurrency < 0.5).all()
    assert np.isnan(found.variation).all()


def test_messages_that_seem_one_do_not_show_that_directions_act_at_once() -> None:
    """Those of stages that follow on one another last as long in both directions; gradients are one indeed."""
    found = blurred(job((0, 1, 0, 100, [(10, 700)]), (1, 0, 1, 100, [(20, 710)])))
    assert np.isinf(found.concurrency).all()
    found = blurred(job((0, 1, 0, 100, [(700, 800)]), (1, 0, 1, 100, [(700, 800)])))
    assert (found.concurrency > 0.8).all()


def test_what_is_counted_to_the_iteration_before_begins_with_others_that_carry_alike() -> None:
    """Which iteration a connection's bytes belong to is known to a message only."""
    found = blurred(job((0, 1, 0, 100, [(800, 850)]), (2, 3, 1, 100, [(800, 850)]), (4, 5, 2, 100, [(-200, -150)])))
    assert found.first_ns.tolist() == pytest.approx([800 * MS] * 3)
    assert found.last_ns.tolist() == pytest.approx([850 * MS] * 3)
