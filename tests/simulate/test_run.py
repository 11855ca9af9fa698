import numpy as np
import pytest

from simulate.bursts import BURSTS, PSNS, UNHEARD_BYTES, Sequences, bursts
from simulate.faults import Fault
from simulate.network.background import none
from simulate.network.fabric import Fabric
from simulate.network.graph import PIPELINE, TRANSFER
from simulate.run import Run, run_jobs
from simulate.training.job import Attempt, SimulatedJob
from simulate.training.plan import Plan, pack_ranks
from simulate.training.workload import Noise
from tests.simulate.cases import FABRIC, QUIET, durations_s, job, ran, workload

EPOCH_NS = 10**18


def table(run: Run, seed: int = 1) -> dict[str, np.ndarray]:
    """Bursts of a run as columns."""
    frame = bursts(run, EPOCH_NS, Sequences(), seed)
    return {name: frame[name] for name in BURSTS.names}


def test_every_byte_of_the_graph_crosses_the_fabric_once() -> None:
    """Bytes of bursts are those of the operations that leave a host."""
    run = ran(job())
    outside = sum(
        float(i.seat.graph.work[(i.seat.graph.kind == TRANSFER) & (i.seat.path[:, 0] >= 0)].sum())
        for i in run.instances
    )
    assert table(run)["bytes"].sum() == pytest.approx(outside, abs=len(table(run)["bytes"]))


def test_nothing_is_received_before_it_is_sent_nor_faster_than_the_nic() -> None:
    """Bursts end after they begin and carry at most what the NIC's rate gives."""
    b = table(ran(job(noise=Noise(jitter_ratio=0.1))))
    took = b["end_ns"] - b["start_ns"]
    assert (took > 0).all()
    assert (b["delivered_ns"] > b["end_ns"]).all()
    assert (b["bytes"] <= (took + 1) * FABRIC.nic_gbps / 8).all()


def test_a_stage_computes_after_what_it_needs_has_arrived() -> None:
    """No micro-batch begins on the second stage before the first activation has been delivered to it."""
    run = ran(job(iterations=1))
    g, t = run.instances[0].seat.graph, run.timing
    forward = (g.purpose == PIPELINE) & (g.src < 8) & (g.dst >= 8)
    second = (g.purpose == 0) & (g.src >= 4)
    assert t.start_ns[second].min() >= t.end_ns[forward].min() + FABRIC.latency_ns


def test_packet_numbers_of_a_queue_pair_follow_on() -> None:
    """Each burst's first packet number is one past the last of the burst before on its queue pair."""
    b = table(ran(job()))
    order = np.lexsort([b["start_ns"], b["dst_qp"]])
    same = b["dst_qp"][order][1:] == b["dst_qp"][order][:-1]
    follow = (b["psn_last"][order][:-1] + 1) % PSNS == b["psn_first"][order][1:]
    assert same.sum() > 100
    assert follow[same].all()


def test_packet_numbers_go_on_from_part_to_part() -> None:
    """A second table made with the same sequences begins where the first ended."""
    run, sequences = ran(job()), Sequences()
    first, second = bursts(run, 0, sequences, 1), bursts(run, 0, sequences, 1)
    queue_pair = first["dst_qp"][0]
    last = first["psn_last"][first["dst_qp"] == queue_pair][-1]
    assert second["psn_first"][second["dst_qp"] == queue_pair][0] == (last + 1) % PSNS


def test_the_same_seed_gives_the_same_bursts_and_another_one_others() -> None:
    """All columns, to the last nanosecond."""
    made = job(noise=Noise(jitter_ratio=0.1))
    one, two = table(ran(made)), table(ran(made))
    assert all((one[name] == two[name]).all() for name in one)
    other = table(run_jobs(FABRIC, {0: made}, (), none(), 2))
    assert (other["start_ns"] != one["start_ns"]).any()


def test_a_straggler_slows_its_iterations_by_its_compute() -> None:
    """A first stage that computes 40 % longer in iterations 2 and 3, then as before.

    By hand, without messages: 184 ms of passes instead of 150 (four micro-batches, 14 and 28 ms instead of 10 and 20).
    """
    normal = durations_s(ran(job(iterations=7)))
    slow = durations_s(ran(job(iterations=7), Fault("straggler", first=2, last=3, rank=5, size=1.4)))
    assert slow[0] == pytest.approx(normal[0])
    assert slow[2] - normal[2] == pytest.approx(0.034, rel=0.15)
    assert slow[-1] == pytest.approx(normal[-1], rel=1e-3)


@pytest.mark.parametrize(("direction", "hit"), [("tx", {(5, 7)}), ("rx", {(3, 5)}), ("both", {(5, 7), (3, 5)})])
def test_a_slow_nic_slows_its_own_hops_alone(direction: str, hit: set[tuple[int, int]]) -> None:
    """In the gradient ring of ranks 1, 3, 5 and 7 only messages from, or to, rank 5 take five times as long."""
    run = ran(job(iterations=3), Fault("slow_nic", first=0, rank=5, size=5, direction=direction))  # type: ignore[arg-type]
    b = table(run)
    rate = b["bytes"] * 8 / (b["end_ns"] - b["start_ns"])
    ring = (b["iteration"] == 2) & (b["purpose"] == 4) & np.isin(b["src"], (1, 3, 5, 7))
    slow = {(int(s), int(d)) for s, d in zip(b["src"][ring & (rate < 100)], b["dst"][ring & (rate < 100)], strict=True)}
    assert slow == hit


def test_an_iterations_messages_wait_while_a_nic_is_down() -> None:
    """A NIC that dies ends what was under way there and then, and nothing arrives on it again."""
    run = ran(job(iterations=4), Fault("hang_communication", first=2, rank=5), until_ns=5e9)
    b = table(run)
    died_ns = EPOCH_NS + run.fault_ns[0] + 1
    mine = (b["src"] == 5) | (b["dst"] == 5)
    arrived = mine & (b["packets"] > 0) & (b["delivered_ns"] > 0)
    assert b["end_ns"][arrived].max() <= died_ns
    assert np.isnan(run.timing.end_ns).any()


def test_a_dead_nic_says_nothing_and_is_spoken_to_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends neither data nor a clear-to-send; a sender that has one puts a first window on its link, unheard."""
    monkeypatch.setattr("simulate.faults._MIDDLE", 0.2)  # while it waits for a gradient
    run = ran(job(iterations=4), Fault("hang_communication", first=2, rank=5), until_ns=5e9)
    b = table(run)
    died_ns = EPOCH_NS + run.fault_ns[0] + 1
    assert b["end_ns"][(b["src"] == 5) & (b["packets"] > 0)].max() <= died_ns
    assert b["ready_ns"][b["dst"] == 5].max() <= died_ns
    unheard = b["delivered_ns"] == 0
    assert unheard.any()
    assert (b["dst"][unheard] == 5).all()
    assert b["bytes"][unheard].max() <= UNHEARD_BYTES


def test_who_waits_for_a_hung_gpu_has_said_that_it_is_ready() -> None:
    """A message that never begins leaves its receiver's clear-to-send; the hung stage posts nothing any more."""
    run = ran(job(iterations=4), Fault("hang_compute", first=2, rank=5))
    b = table(run)
    waited = b["packets"] == 0
    assert b["src"][waited].tolist().count(5) > 0
    assert not np.isin(b["dst"][waited], (4, 5)).any()
    assert (b["ready_ns"][waited] > b["end_ns"][~waited & np.isin(b["src"], (4, 5))].max()).any()
    assert (b["ready_ns"][~waited] <= b["start_ns"][~waited]).all()


def test_the_whole_job_hangs_with_one_gpu() -> None:
    """Nobody ends the iteration in which a GPU stops."""
    run = ran(job(iterations=4), Fault("hang_compute", first=2, rank=5))
    ended = [not np.isnan(run.timing.end_ns[i.first + i.seat.iteration.end]).any() for i in run.instances]
    assert ended == [True, True, False, False]


def test_a_crash_is_followed_by_a_restart_after_its_downtime() -> None:
    """The second attempt begins its downtime after the crash, and ends its own iterations."""
    gpus = pack_ranks(Plan(tp=2, dp=4, pp=2), 0)
    made = SimulatedJob(
        "j", Plan(tp=2, dp=4, pp=2), workload(), (Attempt(gpus, 3, crashes=True), Attempt(gpus, 2, down_s=4.0))
    )
    run = ran(made)
    t = run.timing
    begun = [float(t.start_ns[i.first + i.seat.iteration.begin].min()) for i in run.instances]
    assert np.isnan(t.end_ns[run.instances[2].first + run.instances[2].seat.iteration.end]).all()
    assert begun[3] - begun[2] > 4e9
    assert not np.isnan(t.end_ns[run.instances[4].first + run.instances[4].seat.iteration.end]).any()


def test_two_jobs_share_an_uplink() -> None:
    """Where both need the one cable of a leaf, each takes longer than alone."""
    narrow = Fabric(
        hosts=8, gpus_per_host=1, nics_per_host=1, rail_optimised=False, hosts_per_leaf=4, spines=1, nic_gbps=400,
        uplink_gbps=400,
    )  # fmt: skip
    plan = Plan(dp=4)
    jobs = {
        n: SimulatedJob(f"j{n}", plan, workload(noise=QUIET), (Attempt(np.array([n, n + 4, n + 2, n + 6]), 3),))
        for n in (0, 1)
    }
    alone = run_jobs(narrow, {0: jobs[0]}, (), none(), 1)
    both = run_jobs(narrow, jobs, (), none(), 1)
    assert durations_s(both)[-1] > durations_s(alone)[-1] * 1.01


def test_a_lossy_cable_sends_packets_again() -> None:
    """About the share that is lost, and only on bursts that cross the cable."""
    fault = Fault("slow_uplink", first=1, leaf=0, spine=0, size=2, loss_ratio=0.01)
    b = table(ran(job(), fault))
    leaf, other = FABRIC.leaf_of_nic(b["src"]), FABRIC.leaf_of_nic(b["dst"])
    crosses = (b["spine"] == 0) & ((leaf == 0) | (other == 0)) & (b["iteration"] >= 1)
    assert b["retransmitted_packets"][crosses].sum() / b["packets"][crosses].sum() == pytest.approx(0.01, rel=0.2)
    assert b["retransmitted_packets"][~crosses].sum() == 0


def test_a_collision_puts_all_of_a_leaf_on_one_cable() -> None:
    """From its iteration on every burst that leaves the leaf crosses the same spine."""
    b = table(ran(job(), Fault("ecmp_collision", first=2, leaf=0, spine=1)))
    leaves = (FABRIC.leaf_of_nic(b["src"]) == 0) & (b["spine"] >= 0)
    assert set(b["spine"][leaves & (b["iteration"] < 2)]) == {0, 1}
    assert set(b["spine"][leaves & (b["iteration"] >= 2)]) == {1}


def test_proxied_messages_leave_on_the_receivers_rail() -> None:
    """With PXN no token crosses rails, though ranks of both rails exchange them."""
    plan = Plan(ep=8, dp=8)
    made = SimulatedJob("j", plan, workload(), (Attempt(pack_ranks(plan, 0), 1),), proxied=True)
    b = table(ran(made))
    tokens = b["purpose"] == 7
    assert (b["src"][tokens] % 2 == b["dst"][tokens] % 2).all()
    assert (b["rank"][tokens] != b["src"][tokens]).any()


def test_queue_pairs_share_each_message() -> None:
    """Four queue pairs of a connection are busy at once and carry a quarter each; the job takes no longer for it."""
    made = job()
    one = ran(made)
    four = ran(SimulatedJob("j", made.plan, made.workload, made.attempts, queue_pairs=4))
    b = table(four)
    ring = (b["purpose"] == 4) & (b["src"] == 1)
    pairs, carried = np.unique(b["dst_qp"][ring], return_inverse=True)
    assert len(pairs) == 4
    assert np.ptp(np.bincount(carried, b["bytes"][ring])) <= 4 * len(four.instances) * 6
    assert b["bytes"].sum() == pytest.approx(table(one)["bytes"].sum(), rel=1e-6)
    assert durations_s(four) == pytest.approx(durations_s(one), rel=0.02)
