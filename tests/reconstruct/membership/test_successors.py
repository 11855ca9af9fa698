"""Connections that replace others: which they are, what they go on with, and the layout's view of both."""

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Streams
from datamodel.reconstructed.transfers import TRANSFERS
from reconstruct.jobs.job_recognition import JobOptions, find_jobs
from reconstruct.membership.connection_lives import watched_for_life
from reconstruct.membership.continued_transfers import continued_transfers, current_holders
from reconstruct.membership.member_changes import MemberChange
from reconstruct.membership.successors import with_successors
from reconstruct.periods.byte_period import find_periods
from reconstruct.periods.cycles import cut_cycles

MS = 10**6
Plan = tuple[int, int, int, int, int]  # sender, receiver, first iteration, iterations, bytes of a message


def ring_streams(*plans: Plan, after: int, pause: int = 60) -> Streams:
    """Streams of six messages an iteration of 100 ms each; iterations from `after` on begin so many of them later."""
    parts = []
    for _, _, first, count, volume in plans:
        iteration = np.repeat(np.arange(first, first + count), 6)
        step = np.tile(np.arange(6), count)
        start = (iteration * 100 + np.where(iteration >= after, pause * 100, 0) + 40 + step * 8) * MS
        parts.append((start, np.full(len(start), volume)))
    start, size = (np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True))
    n, zero = len(plans), np.zeros(len(start), np.int64)
    offsets = np.cumsum([0, *(len(own[0]) for own in parts)]).astype(np.int64)
    return Streams(
        src=np.array([p[0] for p in plans]), dst=np.array([p[1] for p in plans]), name=np.arange(n),
        trains=np.zeros(n, np.bool_), offsets=offsets, watch_start_ns=np.full(n, start.min()),
        watch_end_ns=np.full(n, start.max() + 5 * MS), start_ns=start, end_ns=start + 5 * MS, delivered_ns=zero,
        bytes=size, packets=zero + 1, retransmitted=zero, ecn_ce=zero, addresses=tuple(f"10.0.0.{n}" for n in range(9)),
    )  # fmt: skip


def ring(members: list[int], first: int, count: int, size: int = 9_000_000) -> list[Plan]:
    """A connection from each member to the next."""
    return [(a, b, first, count, size) for a, b in zip(members, members[1:] + members[:1], strict=True)]


@pytest.mark.parametrize(
    ("members", "size"), [([0, 1, 2, 3], 9_000_000), ([0, 1, 8, 3], 9_000_000), ([0, 1, 2, 3, 4], 9_600_000)]
)
def test_three_iterations_on_new_connections_belong_to_the_job_before(members: list[int], size: int) -> None:
    """Restarted on the same endpoints or with one replaced; of another size it is a job of its own, with their end."""
    streams = ring_streams(*ring([0, 1, 2, 3], 0, 12), *ring(members, 12, 3, size), after=12)
    jobs = find_jobs(streams, frozenset(), JobOptions()).jobs
    assert [len(job.edges_ns) for job in jobs] == ([15] if len(members) == 4 else [12, 3])
    assert jobs[-1].end_ns == int(streams.end_ns.max())


def test_three_iterations_of_other_work_do_not() -> None:
    """The bytes of each connection differ from what they were by no common factor."""
    usual = ring([0, 1, 2, 3], 0, 12)
    other = [(a, b, 12, 3, 4_000_000 + 6_000_000 * n) for n, (a, b, *_) in enumerate(usual)]
    for later, streams_known in (([(a, b, 12, 3, size) for a, b, _, _, size in usual], 8), (other, 4)):
        streams = ring_streams(*usual, *later, after=12)
        replaced = watched_for_life(streams, np.ones(8, np.bool_))
        first = np.flatnonzero(replaced.ended)
        rhythmic = cut_cycles(streams, first, find_periods(streams, first, 0.5))
        assert len(rhythmic) == 4
        assert len(with_successors(replaced, np.ones(8, np.bool_), rhythmic)) == streams_known


def test_only_what_both_ends_and_begins_is_replaced() -> None:
    """Connections that go on are none of it, and that some end alone is nothing."""
    streams = ring_streams((0, 1, 0, 20, 9_000_000), (1, 2, 0, 10, 9_000_000), (1, 8, 10, 10, 9_000_000), after=10)
    found = watched_for_life(streams, np.ones(3, np.bool_))
    assert (found.ended.tolist(), found.new.tolist()) == ([False, True, False], [False, False, True])
    assert found.streams.watch_end_ns[1] == streams.end_ns[59 + 120]
    alone = watched_for_life(streams.take(np.array([0, 1])), np.ones(2, np.bool_))
    assert not alone.ended.any()


def test_what_replaces_and_is_replaced_was_seen_for_its_life_only() -> None:
    """Between two changes at one endpoint; beside one change, what begins late and ends early was seen all the time."""
    plans = ((0, 1, 0, 30, 9_000_000), (1, 2, 0, 10, 9_000_000), (1, 3, 10, 10, 9_000_000), (1, 4, 20, 10, 9_000_000))
    streams = ring_streams(*plans, after=30)
    found = watched_for_life(streams, np.ones(4, np.bool_))
    assert (found.ended.tolist(), found.new.tolist()) == ([False, True, False, False], [False, False, False, True])
    rows = slice(streams.offsets[2], streams.offsets[3])
    watched = found.streams.watch_start_ns[2], found.streams.watch_end_ns[2]
    assert watched == (streams.start_ns[rows].min(), streams.end_ns[rows].max())
    alone = ring_streams(*plans[:2], (5, 6, 10, 10, 9_000_000), plans[3], after=30)
    assert watched_for_life(alone, np.ones(4, np.bool_)).streams.watch_end_ns[2] == alone.watch_end_ns[2]


def test_places_are_held_by_who_came_last() -> None:
    """Who went and came back has its place again, and each connection the number of the one that follows it."""
    changes = [
        MemberChange("live_migration", 10, 12, (2,), (8,), {8: 2}, {}),
        MemberChange("restart", 20, 22, (8,), (2,), {2: 8}, {}),
    ]
    assert current_holders(changes, 9).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 2]
    rows = {"src": [0, 0, 0], "dst": [2, 8, 2], "stream": [0, 1, 2], "start_ns": [5, 15, 25], "bytes": [7, 7, 7]}
    empty = dict.fromkeys((c.name for c in TRANSFERS.columns), np.zeros(3, np.int64))
    table = Frame(TRANSFERS, empty | {name: np.array(column) for name, column in rows.items()})
    found = continued_transfers(table, changes, 9)
    assert (found["dst"].tolist(), found["stream"].tolist()) == ([2, 2, 2], [2, 2, 2])
    elastic = MemberChange("elastic", 10, 12, (2,), (), {}, {})
    assert continued_transfers(table, [elastic], 9) is table
