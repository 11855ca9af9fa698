"""Repeat offenders: exact probabilities, ties, roles, and speed."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest

from diagnose.patterns.repeat_offenders import (
    STEPS_PER_FOLD,
    TOLERATED_RATIO,
    HostLateness,
    HostRanking,
    rank_hosts,
    select_discoveries,
)


def lateness(rows: list[tuple[int, int, int, float]]) -> HostLateness:
    """Rows of host, job, role and lateness as a table."""
    host, job, role, late = zip(*rows, strict=True)
    return HostLateness(np.array(host), np.array(job), np.array(role), np.array(late))


def probability_of(found: HostRanking, host: int) -> float:
    """The chance of one host's score."""
    return float(found.probability[found.host == host][0])


def test_probability_counts_all_permutations() -> None:
    """Host 0 is 1st of 4, 2nd of 5 and 1st of 3: as many of the 60 orders as have a sum of scores as high."""
    orders = ((0, 4, 0), (1, 5, 1), (2, 3, 0))  # job, hosts, hosts that are later than host 0
    rows = [(0, job, 0, 0.05) for job, _, _ in orders]
    rows += [(10 * job + n, job, 0, 0.1 if n <= above else 0.0) for job, size, above in orders for n in range(1, size)]
    scores = [[round(-STEPS_PER_FOLD * np.log(rank / size)) for rank in range(1, size + 1)] for _, size, _ in orders]
    own = sum(one[above] for one, (_, _, above) in zip(scores, orders, strict=True))
    sums = [sum(one) for one in product(*scores)]
    expected = sum(one >= own for one in sums) / len(sums)
    assert probability_of(rank_hosts(lateness(rows)), 0) == pytest.approx(expected, rel=1e-9)


def test_slow_stage_is_not_held_against_its_hosts() -> None:
    """Hosts 0 to 3 are always in a stage that is 20 % later than the other; host 0 is the latest of neither."""
    rows = [
        (host, job, host // 4, 0.2 * (host < 4) + 0.01 * ((host + job) % 4)) for job in range(8) for host in range(8)
    ]
    found = rank_hosts(lateness(rows))
    assert not found.is_offender.any()
    assert found.probability.min() > 0.1


def test_host_that_is_latest_in_every_job_is_named_alone() -> None:
    """Of 40 hosts in ten jobs of 20, one is always 3 % late; 0.5 % is what healthy hosts differ by."""
    rng = np.random.default_rng(1)
    members = [np.append(0, 1 + rng.permutation(39)[:19]) for _ in range(10)]

    def ranked(late: float) -> HostRanking:
        rng = np.random.default_rng(1)
        return rank_hosts(
            lateness(
                [
                    (int(host), job, 0, late if host == 0 else float(rng.normal(0, 0.001)))
                    for job, own in enumerate(members)
                    for host in own
                ]
            )
        )

    found = ranked(0.03)
    assert found.host[found.is_offender].tolist() == [0] == found.host[:1].tolist()
    assert (found.jobs[0], found.late_jobs[0]) == (10, 10)
    assert not ranked(TOLERATED_RATIO / 2).is_offender.any()


def test_one_job_proves_nothing() -> None:
    """The latest of 500 hosts of one job, by far: one job is one piece of evidence."""
    found = rank_hosts(lateness([(host, 0, 0, 0.3 if host == 0 else 0.0) for host in range(500)]))
    assert found.host[0] == 0
    assert not found.is_offender.any()


def test_small_role_is_suspicious_but_proves_nothing() -> None:
    """Of two hosts one is 3 % late in three jobs: far more than the rest of each job differs, and 1 chance in 8."""
    rows = [
        (host, job, host // 2, 0.03 if host == 0 else 0.001 * (host % 3 - 1)) for job in range(3) for host in range(20)
    ]
    found = rank_hosts(lateness(rows))
    assert found.host[0] == 0
    assert found.sigmas[0] == pytest.approx(3 * np.sqrt(3))
    assert found.probability[0] == pytest.approx(1 / 8)
    assert not found.is_offender.any()


def test_hosts_that_are_alike_are_equal_whatever_the_order_of_rows() -> None:
    """All are as late as each other: every probability is 1; shuffled rows give the same ranking."""
    assert (rank_hosts(lateness([(h, j, 0, 0.0) for h in range(9) for j in range(5)])).probability == 1).all()
    rng = np.random.default_rng(2)
    rows = [(h, j, h % 2, float(rng.normal(0, 0.01))) for h in range(30) for j in range(6)]
    first, again = (rank_hosts(lateness(one)) for one in (rows, [rows[n] for n in rng.permutation(len(rows))]))
    for name in HostRanking.__slots__:
        assert getattr(first, name).tolist() == getattr(again, name).tolist()


def test_hosts_without_peers_are_left_out() -> None:
    """A host alone in its role has nothing to be compared with, and an empty fleet is none."""
    assert rank_hosts(lateness([(0, 0, 0, 0.5), (1, 0, 1, 0.0), (2, 0, 1, 0.1)])).host.tolist() == [2, 1]
    nothing = np.zeros(0, np.int64)
    assert len(rank_hosts(HostLateness(nothing, nothing, nothing, np.zeros(0))).host) == 0


def test_discoveries_follow_the_rule_for_any_dependence() -> None:
    """Of four hypotheses the limits are 5 % x k / (4 x 25/12): 0.006, 0.012, 0.018, 0.024."""
    assert select_discoveries(np.array([0.0061, 0.9, 0.5, 0.8])).tolist() == [False] * 4
    assert select_discoveries(np.array([0.0119, 0.9, 0.0118, 0.8])).tolist() == [True, False, True, False]


def test_hundred_thousand_endpoints_take_seconds() -> None:
    """Each in eight jobs of 512, on one slow core."""
    rng = np.random.default_rng(3)
    host = np.concatenate([rng.permutation(100_000) for _ in range(8)])
    job = np.arange(800_000) // 512
    seen = HostLateness(host, job, np.zeros(800_000, np.int64), rng.normal(0, 0.01, 800_000))
    begin = time.process_time()
    found = rank_hosts(seen)
    assert time.process_time() - begin < 3
    assert len(found.host) == 100_000
    assert not found.is_offender.any()
