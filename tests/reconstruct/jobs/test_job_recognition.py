"""Jobs told from one another and from other traffic."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest

from datamodel.frame import concat
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.jobs.fragment_contact import find_contacts
from reconstruct.jobs.iteration_boundaries import Boundaries
from reconstruct.jobs.job_recognition import JobOptions, Recognition, find_jobs
from reconstruct.streams.stream_builder import build_streams
from reconstruct.timelines.transfers import transfers
from tests.reconstruct.traffic_classes.hand_made import streams
from tests.workloads.feed import EPOCH_NS, Feed, Message, address, calls, flows, storage_reads
from tests.workloads.grid import Grid
from tests.workloads.training import GRADIENT, Training, Workload, train

PLAIN = Workload(Grid(tp=2, dp=4, pp=2), gpus=2)
REACH = JobOptions().lockstep_share


def found(feed: Flows) -> Recognition:
    """Jobs of a feed without an inventory."""
    return find_jobs(build_streams(feed), frozenset(), JobOptions())


@pytest.fixture(scope="module", name="training")
def plain() -> Training:
    """Sixteen GPUs, tp 2 x dp 4 x pp 2."""
    return train(PLAIN)


def test_others_wait_for_the_stream_behind_a_slow_link() -> None:
    """Most streams end early and begin again when the slow one has ended: that is when the iteration ends."""
    length_ns = np.where(np.arange(20) < 12, 1_000_000_000, 10_000_000_000)
    last_ns = 10_000_000_000 + np.cumsum(length_ns)
    early_ns = np.where(np.arange(20) < 12, last_ns - 1_000_000, last_ns - 9_000_000_000)
    ends_ns = np.stack([early_ns, early_ns, early_ns, last_ns])
    begins_ns = np.tile(last_ns + 300_000_000, (4, 1))
    found = Boundaries(np.zeros(4, np.int64), np.zeros(4, np.int64), ends_ns, begins_ns)
    assert found.steady().all()
    assert found.edges()[1].tolist() == last_ns.tolist()


def test_a_stream_that_lost_its_lattice_has_no_say() -> None:
    """Nobody waits for one that every other time ends half a cycle later, when the others are in the next iteration."""
    ends_ns = 10_000_000_000 + np.cumsum(np.full(20, 1_000_000_000))
    astray_ns = ends_ns + np.where(np.arange(20) % 2, 600_000_000, 0)
    begins_ns = np.tile(ends_ns + 100_000_000, (4, 1))
    ends = np.stack([ends_ns, ends_ns, ends_ns, astray_ns])
    found = Boundaries(np.zeros(4, np.int64), np.zeros(4, np.int64), ends, begins_ns)
    assert found.steady().tolist() == [True, True, True, False]
    assert found.edges()[1].tolist() == ends_ns.tolist()


def test_storage_and_remote_calls_are_in_no_job(training: Training) -> None:
    """A store that all endpoints read from every iteration and calls at any time leave the job as it is."""
    begins = np.concatenate([[0], training.ends_ns[:-1]])
    reads = storage_reads(40, range(16), begins, 3_000_000)
    rpc = calls([0, 3, 8, 41, 42], float(training.ends_ns[-1]) / 1e9, 5)
    recognition = found(flows([training], Feed(), [reads, rpc]))
    assert len(recognition.jobs) == 1
    assert len(recognition.jobs[0].endpoints) == 16
    assert sum(map(len, recognition.unassigned.values())) == 3


def test_services_named_by_the_inventory_are_left_out(training: Training) -> None:
    """Streams of a named service are not looked at, and it is counted with the reason."""
    rows = build_streams(flows([training], Feed(), [storage_reads(40, range(16), training.ends_ns, 3_000_000)]))
    code = rows.addresses.index(address(40))
    recognition = find_jobs(rows, frozenset({code}), JobOptions())
    assert list(map(len, recognition.unassigned.values())) == [1]
    assert "named as a service by the inventory" in recognition.unassigned


def test_traffic_without_rhythm_is_no_job() -> None:
    """Remote calls alone give no job and a reason for each endpoint."""
    recognition = found(flows([], Feed(), [calls(range(8), 60.0, 3)]))
    assert recognition.jobs == ()
    assert sum(map(len, recognition.unassigned.values())) == 8


@pytest.mark.parametrize("trains", [False, True], ids=["messages", "trains"])
def test_the_order_of_rows_does_not_matter(training: Training, trains: bool) -> None:
    """Shuffled records give the same transfers and edges to the byte."""
    feed = flows([training], Feed(trains=trains))
    shuffled = Flows(feed.frame.take(np.random.default_rng(2).permutation(len(feed))), feed.addresses)
    results = []
    for given in (feed, shuffled):
        rows = build_streams(given)
        jobs = find_jobs(rows, frozenset(), JobOptions()).jobs
        tables = [transfers(rows, j) for j in jobs]
        results.append(
            [[j.edges_ns.tobytes() for j in jobs], [c.tobytes() for t in tables for c in t.columns().values()]]
        )
    assert results[0] == results[1]


def test_every_byte_of_a_job_is_in_one_transfer(training: Training) -> None:
    """Transfers of a stream add up to what it carried."""
    rows = build_streams(flows([training], Feed()))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    carried = np.bincount(table["stream"], table["bytes"], len(rows)).astype(np.int64)
    assert carried.tolist() == rows.total_bytes().tolist()
    assert rows.total_bytes() is rows.total_bytes()  # each part of each job asks
    assert not rows.total_bytes().flags.writeable


def test_transfers_belong_to_the_iteration_in_which_they_are_sent(training: Training) -> None:
    """Every transfer of iteration i ends after edge i - 1 and by edge i."""
    rows = build_streams(flows([training], Feed()))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    table = transfers(rows, job)
    inside = table.take(table["iteration"] > 0)
    assert len(inside) > 0
    assert (inside["end_ns"] <= job.edges_ns[inside["iteration"]]).all()
    assert (inside["start_ns"] >= job.edges_ns[inside["iteration"] - 1]).all()


def test_edges_are_the_last_byte_of_the_last_gradient_connection(training: Training) -> None:
    """An iteration's edge is the end of the last gradient message before the optimizer."""
    (job,) = found(flows([training], Feed())).jobs
    gradient = training.end_ns[training.connection == GRADIENT]
    last = [int(gradient[gradient <= end].max()) for end in training.ends_ns]
    assert (job.edges_ns - EPOCH_NS).tolist() == last


@pytest.mark.parametrize("phase", [0.15, 0.3, 0.45, 0.6, 0.75])
def test_a_window_of_whole_iterations_ends_them_where_the_job_does(training: Training, phase: float) -> None:
    """Cut out where most streams pause, it holds whole cycles from its first byte on, as if the job had begun there."""
    feed = flows([training], Feed())
    ends = np.concatenate([[0], training.ends_ns]) + EPOCH_NS
    begin, end = np.interp([4 + phase, 16 + phase], np.arange(len(ends)), ends)
    inside = (feed.frame["time_flow_start_ns"] >= begin) & (feed.frame["time_flow_end_ns"] <= end)
    (job,) = found(feed.take(np.flatnonzero(inside))).jobs
    gradient = training.end_ns[training.connection == GRADIENT]
    last = [int(gradient[gradient <= end].max()) + EPOCH_NS for end in training.ends_ns[4:16]]
    assert job.edges_ns.tolist() == last


@pytest.mark.parametrize(("phase", "whole"), [(0.0, True), (0.5, False)], ids=["whole iterations", "inside one"])
@pytest.mark.parametrize("spread", [0.0, 0.5], ids=["fixed lengths", "varying lengths"])
def test_streams_that_moved_whole_iterations_stop_where_they_began(spread: float, phase: float, whole: bool) -> None:
    """Half an iteration later the passes have gone on, also those that are matched by time; gradients have not."""
    training = train(replace(PLAIN, sequence_spread=spread))
    feed = flows([training], Feed())
    end = EPOCH_NS + np.interp(11 + phase, np.arange(len(training.ends_ns)), training.ends_ns)
    (job,) = found(feed.take(np.flatnonzero(feed.frame["time_flow_end_ns"] <= end))).jobs
    assert job.stops_where_begun == whole


def test_sequences_of_varying_length_follow_the_beat() -> None:
    """Pipeline streams without a constant quantum are cut by time: as many transfers an iteration as micro-batches."""
    rows = build_streams(flows([train(replace(PLAIN, sequence_spread=0.5))], Feed()))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    assert len(job.followers) == 16
    table = transfers(rows, job)
    often = np.bincount(table["iteration"][table["stream"] == job.followers[0].stream])
    assert set(often.tolist()) == {PLAIN.batches}


def test_messages_of_varying_length_beside_large_gradients_are_part_of_the_job() -> None:
    """Activations weigh a ten-thousandth of the gradients, and no bytes come back."""
    small = replace(PLAIN, gradient_bytes=2**31, activation_bytes=2**16, sequence_spread=0.5)
    (job,) = found(flows([train(small)], Feed())).jobs
    assert len(job.followers) == 16


def test_queue_pairs_that_take_turns_are_one_stream(training: Training) -> None:
    """Four queue pairs used by turns give the streams that one gives."""
    one, four = (build_streams(flows([training], Feed(queue_pairs=n))) for n in (1, 4))
    assert len(one) == len(four)
    assert one.total_bytes().tolist() == four.total_bytes().tolist()


@pytest.mark.slow
def test_two_thousand_endpoints_take_seconds() -> None:
    """With tp 2 x dp 250 x pp 4, one ring step in 25 recorded: recognition stays far below a minute."""
    training = train(Workload(Grid(tp=2, dp=250, pp=4), gpus=2, iterations=8))
    ring = np.flatnonzero(training.connection == GRADIENT)
    ring = ring[np.lexsort([training.start_ns[ring], training.src[ring]])]
    keep = np.ones(len(training.src), bool)
    keep[ring[np.arange(len(ring)) % 25 != 0]] = False
    names = ("src", "dst", "start_ns", "end_ns", "bytes", "connection")
    thinned = replace(training, **{n: getattr(training, n)[keep] for n in names})
    rows = build_streams(flows([thinned], Feed()))
    begun = time.process_time()
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    assert len(job.endpoints) == 2000
    assert time.process_time() - begun < 60


def one_after_another(first: Workload, second: Workload) -> Flows:
    """Two runs, the second with queue pairs of its own."""
    runs = [flows([train(w)], Feed()) for w in (first, second)]
    book = tuple(sorted({*runs[0].addresses, *runs[1].addresses}))
    frames = []
    for n, run in enumerate(runs):
        table = np.array([book.index(a) for a in run.addresses] + [-1], np.int32)
        frame = run.frame.recoded(table, ("src_addr", "dst_addr", "sampler_address"))
        frames.append(frame.replace(dst_qp=frame["dst_qp"] + 10_000 * n))
    return Flows(concat(FLOWS, frames), book)


@pytest.mark.parametrize("replaced", [False, True], ids=["restarted", "host replaced"])
def test_a_job_that_restarts_is_one_job(replaced: bool) -> None:
    """The same work on the same endpoints, or on all but those of one host, after a break: iterations count on."""
    first = replace(PLAIN, iterations=14)
    placement = (*range(14), 20, 21) if replaced else None
    again = replace(first, start_s=30.0, seed=2, placement=placement)
    rows = build_streams(one_after_another(first, again))
    (job,) = find_jobs(rows, frozenset(), JobOptions()).jobs
    assert len(job.endpoints) == (18 if replaced else 16)
    ends = [train(w).ends_ns for w in (first, again)]
    assert len(job.edges_ns) == 28
    assert np.abs(np.diff(job.edges_ns) - np.diff(np.concatenate(ends)))[13] < 30_000_000
    ((stop, begin),) = job.restarts
    assert job.edges_ns[13] <= stop < begin < job.edges_ns[14]
    table = transfers(rows, job)
    assert set(table["iteration"].tolist()) == set(range(28))


def test_of_two_hosts_one_may_be_replaced() -> None:
    """Half of the endpoints of either run are the other's."""
    first = replace(PLAIN, iterations=14)
    again = replace(first, start_s=30.0, seed=2, placement=(*range(8), *range(20, 28)))
    (job,) = find_jobs(build_streams(one_after_another(first, again)), frozenset(), JobOptions()).jobs
    assert (len(job.endpoints), len(job.edges_ns), len(job.restarts)) == (24, 28, 1)


def test_other_work_on_the_same_endpoints_is_another_job() -> None:
    """What follows on the same endpoints with three times the bytes an iteration is not that job restarted."""
    first = replace(PLAIN, iterations=14)
    other = replace(first, start_s=30.0, gradient_bytes=128 * 2**20)
    jobs = find_jobs(build_streams(one_after_another(first, other)), frozenset(), JobOptions()).jobs
    assert [len(j.endpoints) for j in jobs] == [16, 16]
    assert jobs[0].end_ns < jobs[1].start_ns


@pytest.mark.parametrize(
    ("senders", "share", "unexplained"),
    [(8, 1.0, 8), (8, 0.25, 0), (4, 1.0, 0)],
    ids=["half, all along", "half, at the beginning", "few"],
)
def test_data_without_a_beat_between_its_endpoints_is_counted(senders: int, share: float, unexplained: int) -> None:
    """Bursts of any size at any time, each endpoint's to the next; not where they end early or few send them."""
    own = flows([train(PLAIN)], Feed())
    random, begin = np.random.default_rng(3), int(own.frame["time_flow_start_ns"].min())
    length = int(own.frame["time_flow_end_ns"].max()) - begin
    names = np.unique(own.frame["src_addr"])[:senders]
    some = own.frame.take(np.arange(120 * senders))
    start = begin + np.sort(random.integers(0, int(share * length), len(some)))
    ends = {"src_addr": np.tile(names, 120), "dst_addr": np.tile(np.roll(names, 1), 120)}
    times = {"time_flow_start_ns": start, "time_flow_end_ns": start + 1_000_000}
    size = random.integers(2**22, 2**25, len(some))
    other = some.replace(**times, **ends, bytes=size, dst_qp=np.full(len(some), 99_999))
    (job,) = find_jobs(
        build_streams(Flows(concat(FLOWS, [own.frame, other]), own.addresses)), frozenset(), JobOptions()
    ).jobs
    assert (len(job.endpoints), len(job.unexplained)) == (16, unexplained)


def test_a_small_job_beside_a_huge_one_is_whole() -> None:
    """Its largest stream carries less than a two-thousandth of the other's, and still it is a job."""
    small = replace(PLAIN, gradient_bytes=2**20, activation_bytes=2**16)
    huge = replace(PLAIN, gradient_bytes=2**33, iterations=24, placement=tuple(range(20, 36)))
    recognition = found(flows([train(small), train(huge)], Feed()))
    assert [len(job.endpoints) for job in recognition.jobs] == [16, 16]


def test_jobs_that_meet_nowhere_are_two_though_in_step() -> None:
    """Two jobs with the very same iterations: hosts tell them apart, without an inventory nothing does."""
    twins = [train(PLAIN), train(replace(PLAIN, placement=tuple(range(20, 36))))]
    rows = build_streams(flows(twins, Feed()))
    hosts = [f"h{(int(a.rpartition('.')[2]) - 1) // 2}" for a in rows.addresses]
    assert len(find_jobs(rows, frozenset(), JobOptions(), hosts).jobs) == 2
    assert len(find_jobs(rows, frozenset(), JobOptions()).jobs) == 1


def test_parts_meet_in_hosts_or_over_other_streams() -> None:
    """A rail meets the others of its hosts, a stage one it sends to without a rhythm; unknown hosts say nothing."""
    rows = build_streams(flows([train(replace(PLAIN, sequence_spread=0.5))], Feed()))
    code = [rows.addresses.index(address(n)) for n in range(16)]
    parts = [np.array([code[n] for n in p], np.int64) for p in ([0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14])]
    hosts: list[str | None] = [f"h{code.index(c) // 2}" for c in range(16)]
    large = np.ones(len(rows), bool)
    assert find_contacts(rows, parts, hosts, large) == {(0, 1), (0, 2)}
    assert find_contacts(rows, parts, hosts, ~large) == {(0, 1)}
    assert find_contacts(rows, parts, [None, *hosts[1:]], large) is None


def test_small_messages_beside_large_gradients_are_part_of_the_job() -> None:
    """A pipeline whose activations weigh a ten-thousandth of the gradients."""
    (job,) = found(flows([train(replace(PLAIN, gradient_bytes=2**31, activation_bytes=2**16))], Feed())).jobs
    assert len(job.stream_numbers) == 32


def test_messages_shared_out_over_many_connections_are_no_control_traffic() -> None:
    """Each of 64 connections carries less than a fiftieth of what comes the other way."""
    own = flows([train(Workload(Grid(dp=2, pp=2)))], Feed())
    turns = np.flatnonzero((own.frame["bytes"] > 2**20) & (own.frame["bytes"] < 2**23))
    rows = np.concatenate([np.setdiff1d(np.arange(len(own.frame)), turns), np.repeat(turns, 64)])
    lane = np.concatenate([np.zeros(len(own.frame) - len(turns), np.int64), np.tile(np.arange(64), len(turns))])
    parts = own.frame.take(rows)
    share = np.where(np.isin(rows, turns), 64, 1)
    late = np.where(share > 1, np.random.default_rng(1).integers(0, 1000, len(rows)), 0)  # in no order of turns
    parts = parts.replace(
        bytes=parts["bytes"] // share,
        packets=parts["packets"] // share,
        dst_qp=parts["dst_qp"] + 1000 * lane,
        time_flow_start_ns=parts["time_flow_start_ns"] + late,
    )
    (job,) = found(Flows(parts.sort("time_flow_start_ns"), own.addresses)).jobs
    assert len(job.members.stream) == 4 + 4 * 64


def test_stages_without_gradients_on_the_fabric_belong_to_the_job() -> None:
    """First and last stage share an embedding, the others exchange messages of varying length with their neighbours."""
    shy = Workload(Grid(pp=4), sequence_spread=0.5, embedding_bytes=2.0**23)
    begins = np.arange(0, 4_000_000_000, 400_000_000, dtype=np.int64)
    (job,) = found(flows([train(shy)], Feed(), [storage_reads(40, range(4), begins, 3_000_000)])).jobs
    assert len(job.endpoints) == 4
    assert len(job.followers) == 6


def test_messages_of_varying_length_and_nothing_else_make_a_job() -> None:
    """Gradients stay inside the hosts, no bytes come back: as many messages an iteration do."""
    training = train(Workload(Grid(pp=4), sequence_spread=0.5))
    (job,) = found(flows([training], Feed())).jobs
    assert len(job.endpoints) == 4
    assert len(job.edges) == len(training.ends_ns)


def test_stages_whose_messages_cannot_be_counted_belong_to_the_job() -> None:
    """Records of one message in twenty are missing between the first two stages."""
    feed = flows([train(Workload(Grid(pp=6), sequence_spread=0.5))], Feed())
    rows = feed.frame
    between = (np.minimum(rows["src_addr"], rows["dst_addr"]) == 0) & (rows["bytes"] > 4096)
    between &= np.random.default_rng(3).random(len(rows)) < 0.05
    (job,) = found(feed.take(np.flatnonzero(~between))).jobs
    assert len(job.endpoints) == 6


def test_a_few_streams_that_repeat_make_no_job_of_the_rest() -> None:
    """Most bytes have no rhythm: what two streams repeat, one way and at another pace, is not the iteration."""
    training = train(Workload(Grid(pp=4), sequence_spread=0.5))
    ends = np.arange(1, 25) * (int(training.ends_ns[-1]) // 25)
    few = [ring_step(n, ends, np.full(24, 1_000_000)) for n in (0, 1)]
    few = [replace(step, bytes=step.bytes // 100, connection=step.connection + 7) for step in few]
    (job,) = found(flows([training], Feed(), few)).jobs
    assert len(job.endpoints) == 4
    assert len(job.edges) == len(training.ends_ns)


@pytest.mark.parametrize("seed", range(4))
def test_remote_calls_make_no_job_however_many_there_are(seed: int) -> None:
    """Calls come back call by call, at any time."""
    assert found(flows([], Feed(), [calls(range(4), 300.0, seed)])).jobs == ()


def ring_step(source: int, ends_ns: Int, lasting_ns: Int) -> Message:
    """A message of one member of a ring of eight to the next by the end of each iteration."""
    n = len(ends_ns)
    row = np.full((4, n), [[source], [(source + 1) % 8], [30_000_000], [0]])
    return Message(row[0], row[1], ends_ns - lasting_ns, ends_ns, row[2], row[3])


def test_a_link_that_is_slow_all_the_time_takes_no_endpoint_away() -> None:
    """Its messages leave no pause, so it has no rhythm; who sends them and who receives them are ranks all the same."""
    ends = np.cumsum(1e9 * np.random.default_rng(1).uniform(0.98, 1.02, 40)).astype(np.int64)
    usual = np.full(40, 200_000_000)
    slow = np.diff(ends, prepend=0) - 1_000_000
    (job,) = found(flows([], Feed(), [ring_step(n, ends, usual if n else slow) for n in range(8)])).jobs
    assert len(job.endpoints) == 8
    assert len(job.edges) == 40


def test_of_two_replicas_one_may_have_a_slow_link_all_the_time() -> None:
    """One of their two streams has a rhythm, in step with other pairs: both are ranks of that job."""
    ends = np.cumsum(1e9 * np.random.default_rng(1).uniform(0.98, 1.02, 40)).astype(np.int64)
    usual, slow = np.full(40, 200_000_000), np.diff(ends, prepend=0) - 1_000_000
    pairs = [(a, b) for n in range(4) for a, b in ((n, n + 4), (n + 4, n))]
    sent = [ring_step(a, ends, usual if a else slow) for a, _ in pairs]
    sent = [replace(step, dst=np.full(40, b)) for step, (_, b) in zip(sent, pairs, strict=True)]
    (job,) = found(flows([], Feed(), sent)).jobs
    assert job.endpoints.tolist() == list(range(8))


def test_of_two_rhythms_on_the_same_endpoints_the_iteration_is_the_one_that_holds_the_other() -> None:
    """Forty-eight messages an iteration move most bytes; behind a flapping link they keep another mean pace."""
    ends = np.cumsum(np.where(np.random.default_rng(4).random(28) < 0.3, 4_000_000_000, 1_000_000_000))
    lasting = np.diff(ends, prepend=0)
    many = (ends[:, None] - (lasting[:, None] * np.arange(48, 0, -1) / 48).astype(np.int64)).ravel()
    others = []
    for src, dst in ((0, 1), (1, 0)):
        row = np.full((3, len(many)), [[src], [dst], [9_000_000]])
        others.append(Message(row[0], row[1], many, many + 1_000_000, row[2], np.full(len(many), 1)))
        row = np.full((3, len(ends)), [[src], [dst], [30_000_000]])
        others.append(Message(row[0], row[1], ends - 10_000_000, ends, row[2], np.full(len(ends), 2)))
    (job,) = found(flows([], Feed(), others)).jobs
    assert len(job.edges) == 28


@pytest.mark.parametrize("apart", [False, True])
def test_parts_that_move_as_much_in_thirds_of_an_iteration_are_cut_as_the_others(apart: bool) -> None:
    """Of two rings one sends three equal bursts an iteration, about as far apart, the other three at its end.

    Messages of any length run between them. At a pace of its own the first is a job apart.
    """
    random = np.random.default_rng(5)
    thirds_s = random.uniform(0.3, 0.36, (2, 120))
    even = (np.cumsum(thirds_s[int(apart)]) * 1e9).astype(np.int64)
    ends, row = (np.cumsum(thirds_s[0]) * 1e9).astype(np.int64)[2::3], np.full(120, 1)
    late = (ends[:, None] - np.array([200_000_000, 100_000_000, 0])).ravel()
    sent = [
        Message(row * src, row * dst, when - 20_000_000, when, row * size, row)
        for first, when, size in ((0, even, 20_000_000), (4, late, 30_000_000))
        for src, dst in ((first, first + 1), (first + 1, first + 2), (first + 2, first))
    ]
    between = random.integers(1_000_000, 9_000_000, 120)
    sent.append(Message(row * 0, row * 4, even - 90_000_000, even - 80_000_000, between, row * 2))
    jobs = found(flows([], Feed(), sent)).jobs
    assert [(len(job.endpoints), len(job.edges)) for job in jobs] == ([(3, 120), (3, 40)] if apart else [(6, 40)])


def ring(first: int, ends_ns: Int, size: int, connection: int = 1) -> list[Message]:
    """What three members send one another by some moments."""
    row, members = np.full(len(ends_ns), 1), (first, first + 1, first + 2, first)
    return [
        Message(row * src, row * dst, ends_ns - 20_000_000, ends_ns, row * size, row * connection)
        for src, dst in pairwise(members)
    ]


@pytest.mark.parametrize("place", list(permutations((0, 4, 8))))
def test_parts_of_parts_are_cut_as_what_holds_them_all(place: tuple[int, int, int]) -> None:
    """Bursts are evenly apart, by two and by six an iteration; the order of addresses does not matter."""
    random = np.random.default_rng(5)
    ends = (np.cumsum(random.uniform(0.15, 0.18, 240)) * 1e9).astype(np.int64)
    twos = (ends[1::2, None] - np.array([60_000_000, 0])).ravel()
    sixes = (ends[5::6, None] - np.arange(250_000_000, -1, -50_000_000)).ravel()
    bursts = zip(place, (ends, twos, sixes), (20_000_000, 30_000_000, 40_000_000), strict=True)
    sent = [step for first, when, size in bursts for step in ring(first, when, size)]
    row = np.full(240, 1)
    for a, b in pairwise(place):
        between = random.integers(1_000_000, 9_000_000, 240)
        sent.append(Message(row * a, row * b, ends - 90_000_000, ends - 80_000_000, between, row * 2))
    jobs = found(flows([], Feed(), sent)).jobs
    assert [(len(job.endpoints), len(job.edges)) for job in jobs] == [(9, 40)]


def test_a_job_of_shorter_iterations_on_the_same_endpoints_at_another_time_is_a_job_of_its_own() -> None:
    """A hundred and twenty iterations after forty are no thirds of these."""
    random = np.random.default_rng(5)
    long = (np.cumsum(random.uniform(0.9, 1.1, 40)) * 1e9).astype(np.int64)
    short = long[-1] + 5_000_000_000 + (np.cumsum(random.uniform(0.3, 0.36, 120)) * 1e9).astype(np.int64)
    jobs = found(flows([], Feed(), [*ring(0, long, 20_000_000), *ring(0, short, 30_000_000, connection=2)])).jobs
    assert [(job.endpoints.tolist(), len(job.edges)) for job in jobs] == [([0, 1, 2], 40), ([0, 1, 2], 120)]


def test_ready_messages_among_records_of_single_packets_leave_nothing_unexplained() -> None:
    """Data in packets of 4 kB, ready messages of 102 bytes: short in themselves, however short records of data are."""
    random = np.random.default_rng(3)

    def packets(src: int, dst: int, a_second: int, size: int, connection: int, within_s: float) -> Message:
        place = np.arange(30 * a_second)
        start = np.sort(np.round((place // a_second + random.uniform(0, within_s, len(place))) * 1e9).astype(np.int64))
        row = np.full((4, len(place)), [[src], [dst], [size], [connection]])
        return Message(row[0], row[1], start, start, row[2], row[3])

    data = [packets(a, b, 100, 4096, 0, 0.1) for a, b in ((0, 1), (1, 0))]
    ready = [packets(a, b, 10, 102, 1, 1.0) for a, b in ((0, 1), (1, 0))]
    (job,) = find_jobs(build_streams(flows([], Feed(), [*data, *ready])), frozenset(), JobOptions()).jobs
    assert (len(job.members), len(job.unexplained)) == (2, 0)


def test_micro_batches_of_a_job_that_warms_up_are_counted() -> None:
    """What is sent in all of a first, slow iteration has other mean cycles than what ends it, but as whole counts."""
    length = np.where(np.arange(20) < 1, 2.0, 1.0)
    begin = np.cumsum(length) - length
    early = [
        (t + k * d / 12, t + (k + 0.5) * d / 12, 10**6)
        for t, d in zip(begin, length, strict=True)
        for k in range(12)
    ]  # fmt: skip
    late = [(t + 0.9 * d, t + 0.95 * d, 10**8) for t, d in zip(begin, length, strict=True)]
    pairs = [(a, b, 5, early) for a, b in ((0, 1), (1, 0), (2, 3), (3, 2))]
    ring = [(a, (a + 1) % 4, 6, late) for a in range(4)]
    (job,) = find_jobs(streams([*pairs, *ring]), frozenset(), JobOptions()).jobs
    assert (len(job.endpoints), len(job.members), len(job.edges)) == (4, 8, 20)
