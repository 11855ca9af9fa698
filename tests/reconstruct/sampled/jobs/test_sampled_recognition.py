"""Jobs, their iterations and transfers from sampled packets."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import concat
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import Flows
from reconstruct.sampled.folding.folded_messages import messages
from reconstruct.sampled.jobs.sampled_recognition import SampledJob, find_sampled_jobs
from tests.reconstruct.sampled.training import PACKET_BYTES, Message, iteration_ends, ring, sampled

PERIOD_MS = 4000.0


def together(*parts: Flows) -> Flows:
    """Several feeds of one window."""
    frame = concat(parts[0].frame.schema, [p.frame for p in parts])
    return Flows(frame.sort("time_flow_start_ns"), parts[0].addresses)


def iteration_error(job: SampledJob, ends: Int, last_byte: float) -> float:
    """Mean relative error of iteration times, the network's last byte being at a share of the iteration."""
    begins = np.concatenate([[2 * ends[0] - ends[1]], ends[:-1]])
    true = begins + last_byte * (ends - begins)
    assert len(job.edges_ns) == pytest.approx(len(ends), abs=1)
    nearest = np.argmin(np.abs(job.edges_ns[:, None] - true[None, :]), axis=1)
    assert (np.diff(nearest) == 1).all()
    return float(np.mean(np.abs(np.diff(job.edges_ns) - np.diff(true[nearest])) / np.diff(true[nearest])))


@pytest.mark.parametrize(("rate", "most"), [(100, 0.001), (1000, 0.004), (4000, 0.012)])
def test_iteration_times_come_out_of_few_samples(rate: int, most: float) -> None:
    """At 1 in 4,000 a connection has five samples an iteration; the ring of four still tells its end."""
    ends = iteration_ends(40, PERIOD_MS, 0.03, 5)
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), ends, rate, 6), frozenset())
    assert [job.endpoints.tolist() for job in found.jobs] == [[0, 1, 2, 3]]
    assert iteration_error(found.jobs[0], ends, 0.95) <= most
    assert found.jobs[0].quantum_bytes == pytest.approx([20_000 * PACKET_BYTES] * 4, rel=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_a_rail_without_a_rhythm_of_its_own_has_that_of_another(seed: int) -> None:
    """Twenty-nine messages an iteration hide it in a rail alone; next to a ring the rail keeps step with that."""
    ends = iteration_ends(28, PERIOD_MS, 0.01, seed)
    count, step = 29, 0.75 / 29
    parts = [ring([2, 3], 0.2 + k * step, step / 2, 20_000 // count) for k in range(count)]
    rail = sampled([message for part in parts for message in part], ends, 400, seed + 20, queue_pair=40)
    assert not find_sampled_jobs(rail, frozenset()).jobs
    found = find_sampled_jobs(together(sampled(ring([0, 1]), ends, 400, seed + 10), rail), frozenset())
    assert [job.endpoints.tolist() for job in found.jobs] == [[0, 1, 2, 3]]
    assert not found.unassigned


def test_independent_traffic_joins_no_job() -> None:
    """What is sent at any time follows no ring, whose rhythm is known."""
    ends = iteration_ends(28, PERIOD_MS, 0.01, 1)
    for seed in range(6):
        pace = iteration_ends(300, PERIOD_MS * 28 / 300, 0.9, seed)
        other = sampled(ring([2, 3], 0.0, 0.4, 2000), np.sort(pace), 400, seed + 30, queue_pair=40)
        found = find_sampled_jobs(together(sampled(ring([0, 1]), ends, 400, seed), other), frozenset())
        assert found.jobs[0].endpoints.tolist() == [0, 1]


def test_a_fault_that_slows_iterations_does_not_hide_the_rhythm() -> None:
    """On the axis of bytes, iterations of twice the length are the same cycle."""
    ends = iteration_ends(20, PERIOD_MS, 0.02, 7)
    slow = ends[-1] + np.cumsum(np.full(20, 2 * PERIOD_MS * 1e6)).astype(np.int64)
    ends = np.concatenate([ends, slow])
    found = find_sampled_jobs(sampled(ring([0, 1, 2, 3]), ends, 500, 8), frozenset())
    assert iteration_error(found.jobs[0], ends, 0.95) <= 0.005


def test_a_link_that_comes_to_end_last_keeps_its_boundary() -> None:
    """From the middle on one link of sixteen takes an eighth longer, and still sends when the others rest already."""
    ends = iteration_ends(32, PERIOD_MS, 0.002, 5)
    even = sampled(ring(list(range(16))), ends, 1500, 6)
    begins = ends - 0.2 * PERIOD_MS * 1e6
    time_ns = even.frame["time_flow_start_ns"]
    since = time_ns - begins[np.clip(np.searchsorted(begins, time_ns, side="right") - 1, 0, None)]
    slow = (even.frame["src_addr"] == 1) & (time_ns > ends[16])
    later = time_ns + np.where(slow, 0.125 * since, 0).astype(np.int64)
    dates = dict.fromkeys(("time_received_ns", "time_flow_start_ns", "time_flow_end_ns"), later)
    slowed = Flows(even.frame.replace(**dates).sort("time_flow_start_ns"), even.addresses)
    told = [find_sampled_jobs(flows, frozenset()).jobs[0] for flows in (even, slowed)]
    off = (told[0].origin_bytes - told[1].origin_bytes) / PACKET_BYTES
    assert np.abs(off).max() < 10


@pytest.mark.parametrize(("back", "open_pairs"), [(100, 1), (0, 0)])
def test_who_answers_with_data_may_be_a_stage(back: int, open_pairs: int) -> None:
    """A few samples of data to an endpoint of which nothing else is known, and of data from it; a store only takes."""
    ends = iteration_ends(40, PERIOD_MS, 0.03, 5)
    faint = [Message(0, 8, 0.2, 0.1, 100), *([Message(8, 0, 0.5, 0.1, back)] if back else [])]
    found = find_sampled_jobs(sampled([*ring([0, 1, 2, 3]), *faint], ends, 500, 6), frozenset())
    assert [(job.endpoints.tolist(), job.unresolved) for job in found.jobs] == [([0, 1, 2, 3], open_pairs)]
    known = find_sampled_jobs(sampled([*ring([0, 1, 2, 3]), *faint], ends, 500, 6), frozenset([8]))
    assert [job.unresolved for job in known.jobs] == [0]


def test_a_fault_that_comes_and_goes_on_one_rail_does_not_part_a_job() -> None:
    """Rails of the same hosts are one job though one ends a sixth of an iteration later now and then; others drift."""
    own = iteration_ends(40, PERIOD_MS, 0.01, 9)
    late = own + np.where(np.arange(40) // 5 % 2, 0.15 * PERIOD_MS * 1e6, 0).astype(np.int64)
    rails = together(
        sampled(ring([0, 1, 2, 3]), own, 300, 11), sampled(ring([4, 5, 6, 7]), late, 300, 12, queue_pair=40)
    )
    hosts = [f"host{n % 4}" for n in range(32)]
    assert len(find_sampled_jobs(rails, frozenset()).jobs) == 2
    assert len(find_sampled_jobs(rails, frozenset(), hosts).jobs) == 1


def test_rails_in_lockstep_are_one_job_and_independent_jobs_are_two() -> None:
    """Rings that never meet but end together are joined; those of another clock of like period are not."""
    own, other = iteration_ends(40, PERIOD_MS, 0.03, 9), iteration_ends(40, PERIOD_MS, 0.03, 10)
    rails = [sampled(ring([n, n + 1, n + 2, n + 3]), own, 300, 11 + n, queue_pair=10 * n) for n in (0, 4)]
    stranger = sampled(ring([8, 9, 10, 11]), other, 300, 30, queue_pair=90)
    found = find_sampled_jobs(together(*rails, stranger), frozenset())
    assert [job.endpoints.tolist() for job in found.jobs] == [list(range(8)), [8, 9, 10, 11]]


def test_traffic_without_rhythm_is_no_job() -> None:
    """Answers of any size at any time between three machines, and the reason for leaving them out."""
    chance = np.random.default_rng(12)
    answers = [
        Message(a, b, float(chance.random()), 0.01, int(chance.integers(1, 40_000)))
        for a, b in ((0, 1), (1, 2), (2, 0))
        for _ in range(60)
    ]
    ends = iteration_ends(2, 100_000.0, 0.0, 12)
    twice = sampled(answers, ends, 300, 13)
    once = Flows(twice.frame.take(twice.frame["time_flow_start_ns"] > ends[0]), twice.addresses)
    found = find_sampled_jobs(once, frozenset())
    assert found.jobs == ()
    assert {why: len(ends) for why, ends in found.unassigned.items()} == {"no rhythm that its samples show": 3}


def test_a_service_and_a_store_are_no_part_of_a_job() -> None:
    """What the inventory names is out from the start; what only takes leaves by its behaviour."""
    ends = iteration_ends(40, PERIOD_MS, 0.03, 14)
    store = [Message(n, 9, 0.3, 0.1, 10_000) for n in range(4)]
    flows = sampled(ring([0, 1, 2, 3]) + store, ends, 300, 15)
    assert find_sampled_jobs(flows, frozenset({9})).jobs[0].endpoints.tolist() == [0, 1, 2, 3]
    assert find_sampled_jobs(flows, frozenset()).jobs[0].endpoints.tolist() == [0, 1, 2, 3]


def test_messages_are_told_apart_where_a_connection_pauses() -> None:
    """Two stages that exchange three micro-batches, and gradients behind them: three messages and one."""
    ends = iteration_ends(40, PERIOD_MS, 0.01, 16)
    stages = [
        Message(a, b, at, 0.05, 8_000)
        for a, b, first in ((0, 2, 0.1), (2, 0, 0.2), (1, 3, 0.1), (3, 1, 0.2))
        for at in (first, first + 0.2, first + 0.4)
    ]
    found = find_sampled_jobs(sampled(stages + ring([0, 1]) + ring([2, 3]), ends, 300, 17), frozenset())
    assert [job.endpoints.tolist() for job in found.jobs] == [[0, 1, 2, 3]]
    table = messages(found.progress, found.jobs[0])
    count = {}
    for src, dst in {(int(a), int(b)) for a, b in zip(table["src"], table["dst"], strict=True)}:
        rows = table.take((table["src"] == src) & (table["dst"] == dst) & (table["iteration"] == 5))
        count[src, dst] = len(rows)
        assert (np.diff(rows["start_ns"]) > 0).all()
        assert rows["bytes"] == pytest.approx(
            [8_000 * PACKET_BYTES] * 3 if len(rows) == 3 else [20_000 * PACKET_BYTES], rel=0.1
        )
    assert count == {(0, 2): 3, (2, 0): 3, (1, 3): 3, (3, 1): 3, (0, 1): 1, (1, 0): 1, (2, 3): 1, (3, 2): 1}


def test_pairs_too_faint_to_resolve_are_told() -> None:
    """Activations of a few samples in all make no connection, but the job says that its pairs carry something."""
    ends = iteration_ends(30, PERIOD_MS, 0.02, 18)
    faint = [Message(0, 2, 0.3, 0.02, 100), Message(2, 0, 0.5, 0.02, 100)]
    whole = sampled(ring([0, 1, 2, 3], packets=6_000), ends, 600, 19)
    partly = sampled(ring([0, 1, 2, 3], packets=6_000) + faint, ends, 600, 19)
    told = [find_sampled_jobs(flows, frozenset()).jobs[0] for flows in (whole, partly)]
    assert [job.unresolved for job in told] == [0, 2]
    assert len(told[1].connections) == 4


def test_endpoints_train_in_one_job_at_a_time() -> None:
    """Two members that also talk at a rhythm of their own: the job that moves most bytes holds them, and no other."""
    ends, other = iteration_ends(40, PERIOD_MS, 0.02, 20), iteration_ends(29, PERIOD_MS * 1.37, 0.02, 21)
    aside = sampled([Message(0, 1, 0.2, 0.1, 5_000), Message(1, 0, 0.2, 0.1, 5_000)], other, 300, 22, queue_pair=90)
    found = find_sampled_jobs(together(sampled(ring([0, 1, 2, 3]), ends, 300, 23), aside), frozenset())
    assert [job.endpoints.tolist() for job in found.jobs] == [[0, 1, 2, 3]]


def test_a_restart_does_not_hide_the_job() -> None:
    """New connections between the same endpoints from the middle on: the longer life is told."""
    before = iteration_ends(16, PERIOD_MS, 0.02, 24)
    after = before[-1] + 10**10 + np.cumsum(np.full(24, PERIOD_MS * 1e6)).astype(np.int64)
    lives = [sampled(ring([0, 1, 2, 3]), e, 300, 25 + n, queue_pair=50 * n) for n, e in enumerate((before, after))]
    found = find_sampled_jobs(together(*lives), frozenset())
    assert [job.endpoints.tolist() for job in found.jobs] == [[0, 1, 2, 3]]
    assert len(found.jobs[0].edges_ns) == pytest.approx(24, abs=1)


def test_jobs_on_the_same_hosts_have_no_layout() -> None:
    """Two rings out of step on the same hosts may be rails of one job; on hosts of their own they are two jobs."""
    first = sampled(ring([0, 1, 2, 3]), iteration_ends(30, 4000.0, 0.03, 5), 250, 6)
    both = together(first, sampled(ring([4, 5, 6, 7]), iteration_ends(30, 3100.0, 0.03, 8), 250, 9))
    shared, apart = ([f"h{n % hosts}" for n in range(len(both.addresses))] for hosts in (4, 8))
    assert [job.unresolved for job in find_sampled_jobs(both, frozenset(), shared).jobs] == [1, 1]
    assert [job.unresolved for job in find_sampled_jobs(both, frozenset(), apart).jobs] == [0, 0]


def test_an_endpoint_without_a_rhythm_on_a_host_of_the_job_may_belong_to_it() -> None:
    """It sends data at random to somebody of its own: the layout is not known, unless it is on another host."""
    ends = iteration_ends(20, PERIOD_MS, 0.01, 5)
    random = np.random.default_rng(3)
    stray = [Message(8, 9, float(random.uniform(0, 0.5)), 0.5, 4000)]
    aimless = sampled(stray, np.sort(random.choice(ends, 9, replace=False)), 1000, 7)
    both = together(sampled(ring([0, 1, 2, 3]), ends, 250, 6), aimless)
    shared, apart = [f"h{n % 4}" for n in range(32)], [f"h{n}" for n in range(32)]
    jobs = [find_sampled_jobs(both, frozenset(), hosts).jobs for hosts in (shared, apart)]
    assert [[job.endpoints.tolist() for job in found] for found in jobs] == [[[0, 1, 2, 3]]] * 2
    assert [found[0].unresolved for found in jobs] == [2, 0]
