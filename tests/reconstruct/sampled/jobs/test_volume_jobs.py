"""Jobs from records that only tell how much went where."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame, concat
from datamodel.telemetry.flows import FLOWS, TCP, Flows
from reconstruct.sampled.jobs.volume_jobs import jobs_by_volume

NAMES = tuple(f"10.0.0.{n}" for n in range(1, 33))
SECOND = 10**9
PACKET_BYTES = 9000
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def records(packets: dict[tuple[int, int], int], seed: int, sampled: int = 1, points: int = 1, cuts: int = 20) -> Flows:
    """Records of 20 s for each pair; sampled 1 in N they count N packets for each that was taken.

    Args:
        packets: how many each pair really sent.
        seed: of chance.
        sampled: N; the rate is not told.
        points: how many switches see all of it, each with its own samples.
        cuts: into how many records each pair's are cut.
    """
    chance = np.random.default_rng(seed)
    rows = []
    for (src, dst), whole in packets.items():
        for point in range(points):
            seen = chance.binomial(whole, 1 / sampled) * sampled
            shares = chance.multinomial(seen // sampled, np.full(cuts, 1 / cuts)) * sampled
            rows += [(src, dst, point, second, count) for second, count in enumerate(shares.tolist()) if count]
    src, dst, point, second, count = np.array(rows, np.int64).T
    lasts = 20 * SECOND // cuts
    start = 1_700_000_000 * SECOND + second * lasts
    columns = {
        "time_flow_start_ns": start,
        "time_flow_end_ns": start + lasts,
        "src_addr": src,
        "dst_addr": dst,
        "in_if": point,
        "src_port": 1000 + src * 64 + dst,
        "dst_port": 1000 + dst * 64 + src,
        "proto": np.full(len(src), TCP),
        "packets": count,
        "bytes": count * PACKET_BYTES,
        "sampling_rate": np.full(len(src), 0 if sampled > 1 else 1),
    }
    return Flows(Frame(FLOWS, columns), NAMES)


def equal(pairs: list[tuple[int, int]], packets: int) -> dict[tuple[int, int], int]:
    """Pairs that each send as much."""
    return dict.fromkeys(pairs, packets)


@pytest.mark.parametrize(("sampled", "points"), [(1, 1), (1, 2), (32, 2)])
def test_a_ring_carries_equal_bytes(sampled: int, points: int) -> None:
    """Exactly, or as equally as 600 samples of each link allow; what two switches see counts once."""
    flows = records(equal(RING, 20_000), 1, sampled, points)
    jobs = jobs_by_volume(flows, frozenset())
    assert [job.endpoints.tolist() for job in jobs] == [[0, 1, 2, 3]]
    assert jobs[0].class_bytes == pytest.approx((20_000 * PACKET_BYTES,), rel=0.08)


def test_pipelines_between_rings_are_a_class_of_their_own() -> None:
    """Gradients over two rings, activations both ways between their members: two volumes, one job."""
    other = [(a + 4, b + 4) for a, b in RING]
    between = [(n, n + 4) for n in range(4)] + [(n + 4, n) for n in range(4)]
    jobs = jobs_by_volume(records(equal(RING + other, 30_000) | equal(between, 18_000), 2, 32), frozenset())
    assert [job.endpoints.tolist() for job in jobs] == [list(range(8))]
    assert len(jobs[0].class_bytes) == 2


def test_requests_of_any_size_are_no_job() -> None:
    """Eight machines that ask one another for what they need: sixty seeds, none looks like a collective."""
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    for seed in range(60):
        sizes = np.random.default_rng(seed).lognormal(9.0, 1.0, len(pairs)).astype(np.int64) + 1000
        asked = dict(zip(pairs, sizes.tolist(), strict=True))
        assert jobs_by_volume(records(asked, seed), frozenset()) == ()


@pytest.mark.parametrize("cuts", [1, 2])
def test_a_cache_that_cuts_few_records_shows_a_ring_too(cuts: int) -> None:
    """One or two records each, as long as the window: they last, whatever the timeout; equal counts are no scale."""
    (job,) = jobs_by_volume(records(equal(RING, 20_000), 1, cuts=cuts), frozenset())
    assert job.endpoints.tolist() == [0, 1, 2, 3]
    assert job.chance_ratio < 0.03


def test_short_records_of_equal_volume_last_no_time() -> None:
    """Four machines that copied as much to one another within a second of twenty: no connection, no job."""
    flows = records(equal(RING, 20_000), 1)
    brief = Frame(FLOWS, flows.frame.columns()).take(flows.frame["time_flow_start_ns"] == 1_700_000_000 * SECOND)
    beside = records({(8, 9): 9_000, (9, 10): 20_000}, 2)
    both = Flows(concat(FLOWS, [brief, beside.frame]), NAMES)
    assert jobs_by_volume(both, frozenset()) == ()


@pytest.mark.parametrize("cuts", [1, 2])
def test_requests_in_few_records_are_no_job(cuts: int) -> None:
    """Eight machines that ask one another for what they need, each pair in a record or two: none looks like a ring."""
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    for seed in range(60):
        sizes = np.random.default_rng(seed).lognormal(9.0, 1.0, len(pairs)).astype(np.int64) + 1000
        assert (
            jobs_by_volume(records(dict(zip(pairs, sizes.tolist(), strict=True)), seed, cuts=cuts), frozenset()) == ()
        )


def test_volumes_too_small_to_compare_claim_nothing() -> None:
    """Ten samples a link scatter by a third; equal or not cannot be told."""
    assert jobs_by_volume(records(equal(RING, 3_000), 3, 300), frozenset()) == ()


def test_rails_are_joined_by_their_hosts() -> None:
    """Two rings on the same four hosts are one job; with other hosts, or none known, they stay two."""
    flows = records(equal(RING + [(a + 4, b + 4) for a, b in RING], 20_000), 4)
    same = [f"h{n % 4}" for n in range(32)]
    apart = [f"h{n}" for n in range(32)]
    found = [[j.endpoints.tolist() for j in jobs_by_volume(flows, frozenset(), hosts)] for hosts in (same, apart, None)]
    assert found == [[list(range(8))], [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 1, 2, 3], [4, 5, 6, 7]]]


def test_services_and_stores_are_left_out() -> None:
    """A store that the inventory names, and one that only takes: the ring beside them is found."""
    flows = records(
        equal(RING, 20_000) | {(n, 9): 5_000 + 999 * n for n in range(4)} | {(10, 0): 7_000, (0, 10): 6_000}, 5
    )
    assert [job.endpoints.tolist() for job in jobs_by_volume(flows, frozenset({10}))] == [[0, 1, 2, 3]]


def test_no_records_no_job() -> None:
    """An empty window is nothing to complain of."""
    empty = records(equal(RING, 20_000), 6)
    assert jobs_by_volume(Flows(empty.frame.take(np.zeros(0, np.int64)), NAMES), frozenset()) == ()
