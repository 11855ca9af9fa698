"""A job as it is run: its plan and workload on given GPUs, in one attempt or several after crashes."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from datamodel.reconstructed.streams import Float, Int
from simulate.network.fabric import Fabric, source_port
from simulate.network.graph import (
    COMPUTE,
    GRADIENT,
    NO_INDEX,
    PARAMETER,
    PIPELINE,
    ROLLOUT,
    TOKEN,
    TRANSFER,
    Graph,
)
from simulate.network.hashing import mixed
from simulate.training.iteration import NO_COPY, IterationGraph, StateCopy, iteration
from simulate.training.plan import Plan
from simulate.training.workload import Noise, Workload

POINT_TO_POINT = (PIPELINE, TOKEN)
# Gathers and scatters of one group run on one communicator; what is not named here has one of its own.
_COMMUNICATOR = {PARAMETER: GRADIENT}
PURPOSES_AT_MOST, CHANNELS_AT_MOST, SERVICES_AT_MOST = 32, 64, 4096
LEAST_FACTOR = 0.3


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a job.

    Attributes:
        gpus: (world,) GPU of each rank.
        iterations: how many it begins.
        crashes: the last of them is cut off by a crash soon after its beginning.
        down_s: time from the former attempt's crash or end to this one's beginning.
        dp: replicas of this attempt, where they are not those of the plan (elastic training).
        live: connections between ranks that keep their GPUs go on (live migration); else all are new.
        state_bytes: that each rank on a new GPU receives before its first iteration; in an attempt that is not live
            every rank, where there are services to load it from.
        replicated: a replica of its stage sends them in place of the GPU that the rank was on.
    """

    gpus: Int
    iterations: int
    crashes: bool = False
    down_s: float = 0.0
    dp: int | None = None
    live: bool = False
    state_bytes: float = 0.0
    replicated: bool = False


@dataclass(frozen=True, slots=True)
class SimulatedJob:
    """A job. Its iterations are counted through all attempts.

    Attributes:
        name, tenant: labels.
        plan, workload: what is trained.
        attempts: where and for how long.
        start_s: when the first attempt begins.
        proxied: messages between different rails leave by the NIC on the receiver's rail (NCCL's PXN).
        queue_pairs: of a connection (NCCL_IB_QPS_PER_CONNECTION); chunks of a message take turns on them, so that
            all are busy at once.
        message_bytes: largest RDMA write.
        takers: GPUs that are given the weights between steps (`Workload.post_training`), host by host.
        source_ports: sender, receiver, the source port that a queue pair would have, and the one that it is given.
    """

    name: str
    plan: Plan
    workload: Workload
    attempts: tuple[Attempt, ...]
    tenant: str = "t1"
    start_s: float = 0.0
    proxied: bool = False
    queue_pairs: int = 1
    message_bytes: int = 1 << 20
    takers: tuple[int, ...] = ()
    source_ports: tuple[tuple[int, int, int, int], ...] = ()

    def plan_of(self, attempt: int) -> Plan:
        """The plan with an attempt's replicas."""
        dp = self.attempts[attempt].dp
        return self.plan if dp is None else replace(self.plan, dp=dp)


@dataclass(frozen=True, slots=True)
class PlacedIteration:
    """An iteration with its transfers seated on NICs; (n,) each, NO_INDEX where an operation is no transfer.

    Attributes:
        iteration: the operations.
        src, dst: endpoint that sends and that receives.
        connection: number of the connection, the same in every iteration of an attempt.
        since: attempt in which the connection was set up.
        message: number of the operation that each is, or carries a part of.
        port: UDP source port.
        plane: network that carries it.
        spine: that the connection's hash picks.
        path: (n, 4) resources; those of computations are cell numbers of the attempt.
    """

    iteration: IterationGraph
    src: Int
    dst: Int
    connection: Int
    since: Int
    message: Int
    port: Int
    plane: Int
    spine: Int
    path: Int

    @property
    def graph(self) -> Graph:
        """The operations."""
        return self.iteration.graph


def place_iteration(
    fabric: Fabric,
    job: SimulatedJob,
    attempt: int,
    *,
    checkpoint: bool,
    evaluation: bool,
    first: bool = False,
    syncs: bool = False,
) -> PlacedIteration:
    """One kind of iteration of an attempt on its NICs; the `first` of an attempt begins with the copy of its state.

    One that `syncs` ends when its takers have the weights.
    """
    gpus, plan = job.attempts[attempt].gpus, job.plan_of(attempt)
    copy, sources = _state_copy(fabric, job, attempt) if first else (NO_COPY, gpus[:0])
    made = iteration(
        plan,
        job.workload,
        gpus // fabric.gpus_per_host,
        fabric.services,
        checkpoint=checkpoint,
        evaluation=evaluation,
        copy=copy,
        takers=plan.world + fabric.services + len(sources) + np.arange(len(job.takers)) if syncs else None,
    )
    planes = fabric.planes if fabric.sprayed else 1
    g, lane, message = split_lanes(made.graph, job.queue_pairs * planes)
    made = replace(made, graph=g)
    moves = g.kind == TRANSFER
    nic = np.concatenate(
        [
            fabric.nic_of_gpu(gpus),
            fabric.nics + np.arange(fabric.services),
            fabric.nic_of_gpu(sources),
            fabric.nic_of_gpu(np.array(job.takers, np.int64)),
        ]
    )
    src, dst = nic[np.where(moves, g.src, 0)], nic[np.where(moves, g.dst, 0)]
    if job.proxied and fabric.rail_optimised:
        rail = src - src % fabric.nics_per_host + dst % fabric.nics_per_host
        src = np.where(np.isin(g.purpose, POINT_TO_POINT) & (src < fabric.nics), rail, src)
    between = _connections(job, g)
    connection = np.where(moves, between * job.queue_pairs + lane // planes, NO_INDEX)
    since = np.where(moves, _set_up(job, attempt, len(nic))[np.stack([g.src, g.dst])].max(axis=0), attempt)
    port = _given_port(job, src, dst, source_port(connection, _salt(fabric, job, since)))
    spine = fabric.spine(src, dst, port)
    plane = fabric.bonded_plane(src, dst, port) if fabric.bonded else fabric.plane_of(between, lane)
    path = np.where(moves[:, None], fabric.path(src, dst, spine, plane), NO_INDEX)
    path[g.kind == COMPUTE, 0] = g.src[g.kind == COMPUTE]
    src, dst, port, spine = (np.where(moves, column, NO_INDEX) for column in (src, dst, port, spine))
    return PlacedIteration(made, src, dst, connection, since, message, port, plane, spine, path)


def _given_port(job: SimulatedJob, src: Int, dst: Int, port: Int) -> Int:
    """Source ports, replaced where the job is given others."""
    if not job.source_ports:
        return port
    given = np.array(sorted(job.source_ports), np.int64)
    key, wanted = ((a << 40) + (b << 16) + p for a, b, p in ((given[:, 0], given[:, 1], given[:, 2]), (src, dst, port)))
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    return np.where(key[place] == wanted, given[place, 3], port)


def joining_ranks(job: SimulatedJob, attempt: int) -> Int:
    """Ranks of an attempt whose GPU the attempt before did not use, ascending; none of the first attempt."""
    if attempt == 0:
        return np.zeros(0, np.int64)
    return np.flatnonzero(~np.isin(job.attempts[attempt].gpus, job.attempts[attempt - 1].gpus))


def _state_copy(fabric: Fabric, job: SimulatedJob, attempt: int) -> tuple[StateCopy, Int]:
    """What is copied before an attempt's first iteration; and GPUs that send and are no rank of it."""
    own, plan, ranks = job.attempts[attempt], job.plan_of(attempt), joining_ranks(job, attempt)
    beyond, none = plan.world + fabric.services, own.gpus[:0]
    if not own.state_bytes or attempt == 0:
        return NO_COPY, none
    if not own.live and fabric.services:
        every = np.arange(plan.world)
        return StateCopy(plan.world + every % fabric.services, every, own.state_bytes), none
    if own.replicated or not own.live:
        replicas = plan.ranks().swapaxes(0, 1).reshape(plan.dp, -1)
        replica, place = np.divmod(np.argsort(replicas.ravel()), replicas.shape[1])
        staying = np.setdiff1d(np.arange(plan.dp), replica[ranks])
        return StateCopy(replicas[staying[replica[ranks] % len(staying)], place[ranks]], ranks, own.state_bytes), none
    return StateCopy(beyond + np.arange(len(ranks)), ranks, own.state_bytes), job.attempts[attempt - 1].gpus[ranks]


def _set_up(job: SimulatedJob, attempt: int, count: int) -> Int:
    """(count,) attempt in which each rank of an attempt, and what it exchanges with besides, made its connections."""
    since = np.zeros(count, np.int64)
    for number, (before, after) in enumerate(pairwise(job.attempts[: attempt + 1]), 1):
        if after.live:
            since[np.flatnonzero(before.gpus != after.gpus)] = number
        else:
            since[:] = number
    return since


def _salt(fabric: Fabric, job: SimulatedJob, attempt: Int) -> Int:
    letters = np.frombuffer(job.name.encode(), np.uint8).astype(np.int64)
    number = int(letters @ (31 ** (np.arange(len(letters)) % 12)))
    return number + 7919 * attempt + 104729 * fabric.hash_seed


def _connections(job: SimulatedJob, g: Graph) -> Int:
    """Number of each transfer's connection: communicator, ranks and channel."""
    purpose = np.array([_COMMUNICATOR.get(p, p) for p in range(PURPOSES_AT_MOST)])[g.purpose]
    ranks = job.plan.world + SERVICES_AT_MOST
    key: Int = ((purpose * CHANNELS_AT_MOST + g.channel % CHANNELS_AT_MOST) * ranks + g.src) * ranks + g.dst
    return key


def split_lanes(graph: Graph, lanes: int) -> tuple[Graph, Int, Int]:
    """Each transfer as `lanes` equal ones, the first with its number; lane of each operation, and what it is part of.

    What follows a transfer in a ring follows it lane by lane; everything else waits for all lanes.
    """
    moves = np.flatnonzero(graph.kind == TRANSFER)
    lane = np.repeat(np.arange(lanes), [len(graph), *[len(moves)] * (lanes - 1)])
    of = np.concatenate([np.arange(len(graph)), np.tile(moves, lanes - 1)])
    columns = {f.name: getattr(graph, f.name)[of] for f in fields(Graph) if f.name not in {"before", "after"}}
    columns["work"] = np.where(columns["kind"] == TRANSFER, columns["work"] / lanes, columns["work"])
    place = np.full(len(graph), NO_INDEX)
    place[moves] = np.arange(len(moves))
    pairs = [(graph.before, graph.after)]
    for number in range(1, lanes):
        own = [
            np.where(place[end] == NO_INDEX, end, len(graph) + (number - 1) * len(moves) + place[end])
            for end in (graph.before, graph.after)
        ]
        moved = (place[graph.before] != NO_INDEX) | (place[graph.after] != NO_INDEX)
        pairs.append((own[0][moved], own[1][moved]))
    before, after = (np.concatenate(ends).astype(np.int32) for ends in zip(*pairs, strict=True))
    return Graph(**columns, before=before, after=after), lane, of


def work_of(seat: PlacedIteration, job: SimulatedJob, attempt: int, seed: tuple[int, ...]) -> Float:
    """(n,) work of an iteration's operations with all that varies drawn; equal seeds give equal work."""
    plan = job.plan_of(attempt)
    random = np.random.default_rng(np.random.SeedSequence(seed))
    noise, g = job.workload.noise, seat.graph
    lengths = _lengths(noise, (plan.dp, job.workload.batches), random)
    if plan.ep > 1:
        lengths = np.concatenate([lengths, _expert_loads(noise, plan, lengths, random, seed).ravel()])
    work = g.work * np.where(g.batch == NO_INDEX, 1.0, lengths[np.maximum(g.batch, 0)])
    factor = 1 + noise.common_ratio * abs(random.standard_normal())
    computes = g.kind == COMPUTE
    work[computes] *= factor * _compute_noise(noise, plan.tp, random, int(computes.sum()))
    return work


def rollout_factor(seat: PlacedIteration, job: SimulatedJob, seed: tuple[int, ...]) -> Float:
    """(n,) by how much longer than usual each operation waits: the longest answer of a step decides; 1 elsewhere."""
    factor, rl = np.ones(len(seat.graph)), job.workload.post_training
    if rl is not None:
        random = np.random.default_rng(np.random.SeedSequence((*seed, 0x401)))
        factor[seat.graph.purpose == ROLLOUT] = random.lognormal(0.0, rl.rollout_ratio)
    return factor


def _lengths(noise: Noise, count: tuple[int, int], random: np.random.Generator) -> Float:
    """(dp * batches,) micro-batch lengths, mean 1."""
    dp, batches = count
    shared = 1 + noise.sequence_ratio * random.uniform(-1, 1, batches)
    own: Float = 1 + noise.replica_ratio * random.uniform(-1, 1, (dp, batches))
    return (shared * own).ravel()


def _expert_loads(
    noise: Noise, plan: Plan, lengths: Float, random: np.random.Generator, seed: tuple[int, ...]
) -> Float:
    """(cells, batches) tokens that each cell's experts get of a micro-batch, against an even share of one of length 1.

    A group of experts gets all tokens of its members, however they are spread.
    """
    replica = np.arange(plan.cells) // plan.cp % plan.dp
    own: Float = lengths.reshape(plan.dp, -1)[replica]
    if not noise.expert_ratio:
        return own
    lasting = np.random.default_rng(np.random.SeedSequence(seed[:-1])).standard_normal((plan.cells, 1))
    share: Float = np.exp(noise.expert_ratio * np.sqrt(0.5) * (lasting + random.standard_normal(own.shape)))
    groups = np.unique(plan.ep_groups() // plan.tp, axis=0)
    share[groups] /= share[groups].mean(axis=1, keepdims=True)
    mean = np.empty_like(own)
    mean[groups] = own[groups].mean(axis=1, keepdims=True)
    return share * mean


def _compute_noise(noise: Noise, tp: int, random: np.random.Generator, count: int) -> Float:
    """Factors of computations: the slowest of a tensor group's GPUs sets the pace (quantile of a maximum of tp)."""
    factor: Float = 1 + noise.jitter_ratio * ndtri(random.random(count) ** (1 / tp))
    if noise.spike_probability:
        spikes = random.random(count) < 1 - (1 - noise.spike_probability) ** tp
        factor += noise.spike_ratio * spikes
    return np.maximum(factor, LEAST_FACTOR)


def queue_pair_numbers(connection: Int, salt: Int) -> Int:
    """24-bit queue pair number of each connection, as a NIC might give it out."""
    return mixed(connection, salt) % (1 << 24)
