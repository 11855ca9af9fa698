"""Who left a job and who joined it, from the lives of connections alone."""

import numpy as np

from reconstruct.membership.connection_lives import ConnectionLives, ReplacementTime
from reconstruct.membership.interruption import find_interruption
from reconstruct.membership.member_changes import FOREVER, MemberChange, changes_at, find_changes, sent_once_bytes
from reconstruct.membership.resized_jobs import TrainingShape, does_same_work, is_resized, is_restarted

SECOND = 10**9
Life = tuple[int, int, float, float, float]  # sender, receiver, first and last second, bytes


def lives(*rows: Life) -> ConnectionLives:
    """Connections as a table."""
    src, dst, start, end, volume = (np.array(column) for column in zip(*rows, strict=True))
    times = ((start * SECOND).astype(np.int64), (end * SECOND).astype(np.int64))
    return ConnectionLives(src, dst, *times, volume.astype(np.float64))


def ring(members: list[int], start: float, end: float, volume: float = 1e9) -> list[Life]:
    """A connection from each member to the next."""
    return [(a, b, start, end, volume) for a, b in zip(members, members[1:] + members[:1], strict=True)]


def changes(*rows: Life, seats: dict[int, tuple[int, ...]] | None = None) -> tuple[MemberChange, ...]:
    """What is found where two seconds of silence end a connection."""
    return find_changes(lives(*rows), 2 * SECOND, lambda e: (seats or {}).get(e, (0,)))


STAY = [(0, 1, 0, 60, 1e9), (1, 0, 0, 60, 1e9), (4, 5, 0, 60, 1e9), (5, 4, 0, 60, 1e9)]


def test_connections_of_those_who_stay_go_on_in_a_live_migration() -> None:
    """Endpoint 9 comes into the place of 2, between the same neighbors."""
    (found,) = changes(*STAY, (1, 2, 0, 30, 1e9), (2, 0, 0, 30, 1e9), (1, 9, 33, 60, 1e9), (9, 0, 33, 60, 1e9))
    assert (found.kind, found.leavers, found.joiners, found.replaces) == ("live_migration", (2,), (9,), {9: 2})
    assert (found.stopped_ns, found.resumed_ns) == (30 * SECOND, 33 * SECOND)


def test_two_who_join_take_the_places_of_those_with_the_same_peers() -> None:
    """Whatever their rails say; where peers are alike, the rail decides."""
    swap = [(1, 2, 0, 30, 1e9), (2, 1, 0, 30, 1e9), (4, 3, 0, 30, 1e9), (3, 4, 0, 30, 1e9)]
    swap += [(1, 8, 33, 60, 1e9), (8, 1, 33, 60, 1e9), (4, 9, 33, 60, 1e9), (9, 4, 33, 60, 1e9)]
    assert changes(*STAY, *swap, seats={2: (0,), 3: (1,), 8: (1,), 9: (0,)})[0].replaces == {8: 2, 9: 3}
    alike = [(1, n, a, b, 1e9) for n, a, b in ((2, 0, 30), (3, 0, 30), (8, 33, 60), (9, 33, 60))]
    assert changes(*STAY, *alike, seats={2: (0,), 3: (1,), 8: (1,), 9: (0,)})[0].replaces == {8: 3, 9: 2}


def test_a_restart_makes_all_connections_new() -> None:
    """On the same endpoints; none left or joined."""
    (found,) = changes(*ring([0, 1, 2], 0, 30), *ring([0, 1, 2], 40, 70))
    assert (found.kind, found.leavers, found.joiners) == ("restart", (), ())


def test_other_numbers_of_endpoints_are_elastic_and_two_changes_are_two() -> None:
    """One fewer, then a restart."""
    found = changes(*ring([0, 1, 2, 3], 0, 30), *ring([0, 1, 2], 40, 70), *ring([0, 1, 2], 80, 99))
    assert [(one.kind, one.leavers) for one in found] == [("elastic", (3,)), ("restart", ())]


def test_what_only_ends_or_only_begins_is_no_change() -> None:
    """An exporter that falls silent, one that begins late, and one connection that is idle at the end."""
    assert changes(*ring([0, 1, 2], 0, 60), *ring([3, 4], 0, 30)) == ()
    assert changes(*ring([0, 1, 2], 0, 60), *ring([3, 4], 30, 60)) == ()
    assert changes(*ring([0, 1, 2], 0, 60), (0, 2, 0.0, 59.0, 1e9)) == ()


def test_only_what_is_sent_inside_a_change_is_a_copy_of_state() -> None:
    """A store that is written to all the time is none, and neither is what goes to the one who left."""
    (found,) = changes(*STAY, (1, 2, 0, 30, 1e9), (2, 0, 0, 30, 1e9), (1, 9, 33, 60, 1e9), (9, 0, 33, 60, 1e9))
    beside = lives((2, 9, 30.5, 32, 5e8), (7, 0, 0, 60, 9e9), (0, 2, 30.5, 31, 1e8))
    assert sent_once_bytes(beside, found) == 500_000_000


def edges(*durations: float) -> np.ndarray:
    """Ends of iterations that take so many seconds."""
    return np.asarray(np.rint(np.cumsum(durations) * SECOND), np.int64)


def test_downtime_is_what_the_change_adds_to_one_iteration_and_warm_up_what_follows() -> None:
    """Iterations of a second, five seconds of interruption, then 0.4 and 0.2 s too much."""
    found = find_interruption(edges(1, 1, 1, 1, 6, 1.4, 1.2, 1, 1, 1), int(5.5 * SECOND), resized=False)
    assert found is not None
    assert (found.down_ns, found.warm_up_ns, found.baseline_ns) == (5 * SECOND, 600_000_000, SECOND)


def test_downtime_is_unknown_without_iterations_before_and_warm_up_while_it_lasts() -> None:
    """One iteration before shows no iteration time; two after are no three in a row."""
    assert find_interruption(edges(1, 6, 1, 1), int(1.5 * SECOND), resized=False) is None
    found = find_interruption(edges(1, 1, 1, 6, 1, 1), int(3.5 * SECOND), resized=False)
    assert found is not None
    assert found.warm_up_ns is None


def shape(start: int, end: int, endpoints: int, sent: float) -> TrainingShape:
    """A job of the first endpoints, each of which sends as much."""
    return TrainingShape(start, end, dict.fromkeys(range(endpoints), sent))


def test_a_ring_of_one_replica_more_sends_a_little_more() -> None:
    """3 to 4 replicas: 2 G 3 / 4 in place of 2 G 2 / 3; a pipeline's part stays as it is."""
    before = shape(0, 10, 24, 4 / 3)
    assert is_resized(before, shape(20, 30, 32, 1.5))
    assert is_resized(before, shape(20, 30, 32, 1.4))


def test_a_job_with_the_same_work_on_most_of_the_endpoints_was_restarted() -> None:
    """One endpoint replaced; not with other bytes, on few of the endpoints, on more of them, or at the same time."""
    before = shape(0, 10, 24, 4.0)
    assert is_restarted(before, TrainingShape(20, 30, dict.fromkeys(range(1, 25), 4.0)))
    assert not is_restarted(before, shape(20, 30, 24, 4.2))
    assert not is_restarted(before, TrainingShape(20, 30, dict.fromkeys(range(16, 40), 4.0)))
    assert not is_restarted(before, shape(20, 30, 32, 4.0))
    assert not is_restarted(before, shape(5, 30, 24, 4.0))


def test_another_job_on_the_same_hosts_is_no_resized_one() -> None:
    """Other bytes, others among the endpoints, the same number of them, or at the same time."""
    before = shape(0, 10, 24, 4 / 3)
    assert not is_resized(before, shape(20, 30, 32, 1.7))
    assert not is_resized(before, TrainingShape(20, 30, dict.fromkeys(range(8, 40), 1.5)))
    assert not is_resized(before, shape(20, 30, 24, 4 / 3))
    assert not is_resized(before, shape(5, 30, 32, 1.5))


def test_changes_at_known_times_hold_where_clocks_differ() -> None:
    """Endpoint 2 seems to send a second after its successor 9 began; a connection seen rarely decides nothing."""
    rows = [*STAY, (1, 2, 0, 30, 1e9), (2, 0, 0, 34, 1e9), (1, 9, 33, 60, 1e9), (9, 0, 29, 60, 1e9), (1, 4, 3, 29, 1e8)]
    patience = np.array([6 * SECOND] * (len(rows) - 1) + [FOREVER])
    (found,) = changes_at(lives(*rows), [ReplacementTime(30 * SECOND, 33 * SECOND)], patience, lambda _: (0,))
    assert (found.kind, found.leavers, found.joiners, found.replaces) == ("live_migration", (2,), (9,), {9: 2})


def test_of_two_known_times_each_has_its_own_change() -> None:
    """A replica leaves, then all is restarted."""
    rows = [*ring([0, 1, 2, 3], 0, 30), *ring([0, 1, 2], 40, 70), *ring([0, 1, 2], 80, 99)]
    times = [ReplacementTime(30 * SECOND, 40 * SECOND), ReplacementTime(70 * SECOND, 80 * SECOND)]
    found = changes_at(lives(*rows), times, np.full(len(rows), 3 * SECOND), lambda _: (0,))
    assert [(one.kind, one.leavers, one.joiners) for one in found] == [("elastic", (3,), ()), ("restart", (), ())]


def test_pairs_that_stay_do_the_same_work_or_that_of_a_ring_of_another_size() -> None:
    """Those of few bytes may be off; no pair shows nothing."""
    before = np.array([100.0, 100.0, 5.0])
    assert does_same_work(before, np.array([101.0, 97.0, 9.0]), 1)
    assert not does_same_work(before, np.array([101.0, 75.0, 5.0]), 1)
    assert does_same_work(before, np.array([101.0, 75.0, 5.0]), 0.75)
    assert not does_same_work(before[:0], before[:0], 1)
