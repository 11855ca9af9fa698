"""Sequences of iteration ends are tied where they are of one job."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float
from reconstruct.jobs.fragment_alignment import find_same_pace_pairs, in_lockstep, is_synchronized, step, tie
from reconstruct.jobs.job_recognition import JobOptions

NEVER = np.zeros((0, 2), np.int64)
REACH = JobOptions().lockstep_share


def edges(random: np.random.Generator, n: int, spread: float) -> Float:
    """Ends of `n` iterations of about one second, each longer or shorter than the mean by `spread`."""
    return np.cumsum(1e9 * (1 + spread * random.standard_normal(n)))


@pytest.mark.parametrize("seed", range(20))
def test_independent_sequences_of_one_pace_are_not_tied(seed: int) -> None:
    """Two jobs of one period walk apart, however slowly."""
    random = np.random.default_rng(seed)
    assert not is_synchronized(edges(random, 40, 0.004), edges(random, 40, 0.004), REACH)


@pytest.mark.parametrize("seed", range(20))
def test_one_sequence_seen_twice_is_tied(seed: int) -> None:
    """Ranks of one job end an iteration with some noise about the same moment."""
    random = np.random.default_rng(seed)
    common = edges(random, 40, 0.01)
    assert is_synchronized(common + 3e6 * random.standard_normal(40), common + 3e6 * random.standard_normal(40), REACH)


def test_rails_of_the_same_hosts_are_tied_where_contention_moves_their_ends() -> None:
    """Ten iterations of uneven length, in which each rail ends by itself up to a third of one later."""
    elsewhere, tied, apart = 0, 0, 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        common = edges(random, 10, 0.2)
        one, other = (common + 3e8 * random.random(10) for _ in range(2))
        elsewhere += is_synchronized(one, other, REACH)
        tied += is_synchronized(one, other, REACH, True)
        apart += not is_synchronized(edges(random, 10, 0.2), edges(random, 10, 0.2), REACH, True)
    assert elsewhere <= 30
    assert tied >= 90
    assert apart >= 90


def test_a_fault_may_move_tied_sequences_apart_once() -> None:
    """From iteration 20 on one side ends 5 % of an iteration later: still one job."""
    random = np.random.default_rng(1)
    common = edges(random, 40, 0.01)
    later = common + 2e6 * random.standard_normal(40) + np.where(np.arange(40) >= 20, 5e7, 0.0)
    assert is_synchronized(common, later, REACH)


def test_a_fault_that_comes_and_goes_leaves_the_count() -> None:
    """Behind a flapping link one part of a job ends half an iteration after the other, now and then: still one job."""
    slow = np.random.default_rng(1).random(28) < 0.4
    ends = np.cumsum(np.where(slow, 3.4e9, 0.34e9))
    assert is_synchronized(ends - np.where(slow, 1.5e9, 0.0), ends, REACH)
    assert not is_synchronized(ends, np.cumsum(np.where(slow[::-1], 3.4e9, 0.34e9)), REACH)


def test_a_step_is_found_where_it_is() -> None:
    """The best two levels part at the jump; a ramp has none."""
    assert step(np.array([0.0, 0.0, 0.0, 1.0, 1.0])).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert np.ptp(step(np.arange(40.0))) == 0.0


def test_sequences_of_other_times_are_in_step_with_nobody() -> None:
    """The same edges ten iterations later are tied to nothing; moved by half an iteration they are."""
    common = edges(np.random.default_rng(1), 30, 0.01).astype(np.int64)
    assert in_lockstep(common, common + 500_000_000, REACH)
    assert not in_lockstep(common, common + 10_000_000_000, REACH)


@pytest.mark.parametrize(("since", "longer", "label"), [(10, 0.0, 0), (10, 0.03, 1), (26, 0.0, 1), (0, 0.0, 1)])
def test_sequences_are_compared_in_the_time_in_which_both_were_seen(since: int, longer: float, label: int) -> None:
    """One lacks its first ten edges. It is in step if nobody watched it then, is not slower, and has five in common."""
    common = edges(np.random.default_rng(1), 30, 0.01).astype(np.int64)
    other = common + 500_000_000 + (longer * (common - common[10])).astype(np.int64)
    parts = [common, other[max(since, 10) :]]
    offsets = np.array([0, 30, 30 + len(parts[1])])
    watch_ns = np.array([[0, 10**12], [common[since] if since else 0, 10**12]])
    root = np.arange(2)
    tie(np.array([[0, 1]]), offsets, np.concatenate(parts), watch_ns, NEVER, REACH, False, np.array([False]), root)
    assert root.tolist() == [0, label]


@pytest.mark.parametrize(("meet", "drift", "label"), [(True, 0.0, 0), (False, 0.0, 1), (True, 0.03, 1)])
def test_edges_missing_from_one_sequence_do_not_part_what_meets(meet: bool, drift: float, label: int) -> None:
    """Records of four iterations are missing, and of one more a part: where it goes on, it ends at another moment."""
    common = edges(np.random.default_rng(1), 30, 0.01).astype(np.int64)
    other = common + 300_000_000 + (drift * (common - common[0])).astype(np.int64)
    other[16:] -= 400_000_000
    parts = [common, np.delete(other, slice(12, 16))]
    offsets = np.array([0, 30, 56])
    root = np.arange(2)
    tie(
        np.array([[0, 1]]),
        offsets,
        np.concatenate(parts),
        np.array([[0, 10**12]] * 2),
        NEVER,
        REACH,
        meet,
        np.array([False]),
        root,
    )
    assert root.tolist() == [0, label]


@pytest.mark.parametrize(
    ("meet", "away", "drift", "label"),
    [(True, True, 0.0, 0), (False, True, 0.0, 1), (True, False, 0.0, 1), (True, True, 0.03, 1)],
)
def test_an_exporters_absence_may_move_the_edges_of_a_part_that_meets(
    meet: bool, away: bool, drift: float, label: int
) -> None:
    """What it missed was put back; from then on the part is seen to end at another moment of the iteration."""
    common = edges(np.random.default_rng(1), 24, 0.01).astype(np.int64)
    other = common + 300_000_000 + (drift * (common - common[0])).astype(np.int64)
    other[14:] -= 400_000_000
    outages_ns = np.array([[common[11] + 1, common[13]]]) if away else NEVER
    root, watch_ns = np.arange(2), np.array([[0, 10**12]] * 2)
    offsets = np.array([0, 24, 48])
    tie(
        np.array([[0, 1]]), offsets, np.concatenate([common, other]), watch_ns, outages_ns, REACH, meet,
        np.array([False]), root,
    )  # fmt: skip
    assert root.tolist() == [0, label]


def test_jobs_that_share_hosts_stay_apart_where_an_exporter_was_away() -> None:
    """Twenty iterations on either side of its absence are too few to tell random walks from noise by their reach."""
    tied = 0
    for seed in range(100):
        random = np.random.default_rng(seed)
        parts = [edges(random, 40, 0.01).astype(np.int64) for _ in range(2)]
        outages_ns, root = np.array([[parts[0][19] + 1, parts[0][20]]]), np.arange(2)
        offsets, watch_ns = np.array([0, 40, 80]), np.array([[0, 10**12]] * 2)
        tie(
            np.array([[0, 1]]),
            offsets,
            np.concatenate(parts),
            watch_ns,
            outages_ns,
            REACH,
            True,
            np.array([False]),
            root,
        )
        tied += int(root[1] == 0)
    assert tied <= 5


def test_pairs_of_one_pace_are_those_that_cannot_drift_apart() -> None:
    """Periods that part by more than an iteration over the window are not compared."""
    sequences = [np.arange(30) * period for period in (1_000_000, 1_010_000, 1_500_000, 2_000_000)]
    assert set(find_same_pace_pairs(sequences)) == {(0, 1)}


def test_a_fault_that_begins_an_iteration_later_in_one_part_parts_nobody() -> None:
    """Iterations take five times as long from the middle on; one part's last early edge is late by most of that."""
    early = np.cumsum(np.repeat([380, 1800], [12, 16])) * 1_000_000
    late = early + np.repeat([0, 1404], [11, 17]) * 1_000_000
    assert in_lockstep(early, late, REACH)
    assert [*find_same_pace_pairs([early, late])] == [(0, 1)]


@pytest.mark.parametrize("n", [8, 15])
def test_one_iteration_that_ends_late_in_one_part_parts_nobody(n: int) -> None:
    """Held up once and back in the next iteration: two jobs that drift apart do not come back."""
    random = np.random.default_rng(3)
    common = edges(random, n, 0.01)
    noisy = common + 1e7 * random.standard_normal(n)
    noisy[n // 2] += 0.13e9
    assert in_lockstep(common.astype(np.int64), noisy.astype(np.int64), REACH)
    noisy += 0.03e9 * np.arange(n)
    assert not in_lockstep(common.astype(np.int64), noisy.astype(np.int64), REACH)


def test_parts_that_end_about_an_iteration_apart_are_tied() -> None:
    """A stall between the end of one part and that of the other lengthens the next iteration of the one."""
    random = np.random.default_rng(1)
    one = np.cumsum(np.where(random.random(29) < 0.3, 3e8, 1.9e8))
    assert in_lockstep(one[1:].astype(np.int64), (one[:-1] + 2e6).astype(np.int64), REACH)


@pytest.mark.parametrize("seed", range(20))
def test_few_iterations_of_ever_other_length_show_who_waits_for_whom(seed: int) -> None:
    """Ends that keep 14 % of an iteration are too close for two jobs, each of whose iterations differ by 15 %."""
    random = np.random.default_rng(seed)
    common = edges(random, 16, 0.15)
    assert is_synchronized(common, common + 7e7 * np.sin(np.arange(16.0)), REACH)
    assert not is_synchronized(edges(random, 16, 0.15), edges(random, 16, 0.15), REACH)
