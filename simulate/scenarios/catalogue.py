"""Named scenarios: what `flowprism simulate` can make. Each varies the base job in one thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from datamodel.errors import InputError
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.base_job import ScenarioOptions, dense_volumes, fabric_for, one_job
from simulate.scenarios.cluster import cluster
from simulate.scenarios.feed_options import MIRROR_GATHERED
from simulate.scenarios.feed_scenarios import SCENARIOS as WATCHED
from simulate.scenarios.scenario import BackgroundTraffic, Scenario
from simulate.scenarios.twin import healthy, slow_nic
from simulate.training.collective import CollectiveOptions
from simulate.training.job import Attempt, SimulatedJob
from simulate.training.plan import Plan, pack_ranks, shuffled_hosts, tensor_across_hosts
from simulate.training.workload import Noise, Pauses, Workload

Maker = Callable[[ScenarioOptions], Scenario]
ITERATIONS, ONSET = 30, 14
BASE = Plan(tp=8, dp=4, pp=4)


def scenario(name: str, options: ScenarioOptions) -> Scenario:
    """The named scenario with these options.

    Raises:
        InputError: there is none of that name, or it cannot be had in that size.
    """
    if name not in CATALOGUE:
        raise InputError(f"no scenario is called {name!r}; `flowprism simulate --list` names them")
    about, make = CATALOGUE[name]
    return replace(make(options), name=name, about=about)


def _plain(job: SimulatedJob, **changes: object) -> Scenario:
    made = Scenario("", "", fabric_for(job.plan.world), (job,))
    return replace(made, **changes)  # type: ignore[arg-type]  # fields of `Scenario` by name


def _variant(plan: Plan = BASE, model: str = "llama2-70b", **workload: object) -> Maker:
    """The base job with another plan, model or workload."""

    def make(options: ScenarioOptions) -> Scenario:
        grown = options.grown(plan)
        volumes = dense_volumes(grown, model, chunks=int(str(workload.get("chunks", 1))))
        usual = Workload(volumes=volumes, batches=8)
        return _plain(one_job(grown, replace(usual, **workload), options.times(ITERATIONS)))  # type: ignore[arg-type]

    return make


def _faulty(*faults: Fault, spare: int = 0, **fabric: float) -> Maker:
    """The base job with faults, on a fabric that may differ."""

    def make(options: ScenarioOptions) -> Scenario:
        made = _variant()(options)
        world = made.jobs[0].plan.world
        return replace(made, fabric=fabric_for(world + spare, **fabric), faults=faults)

    return make


def _hang(kind: Fault) -> Maker:
    def make(options: ScenarioOptions) -> Scenario:
        # Others continue: a silent job is recognized only next to active ones.
        made = _faulty(kind, spare=16, services=2)(options)
        return replace(made, window_s=90.0, bustle=BackgroundTraffic(seconds=90.0))

    return make


def _placed(how: str) -> Maker:
    def make(options: ScenarioOptions) -> Scenario:
        made = _variant()(options)
        job = made.jobs[0]
        gpus = {
            "shuffled": shuffled_hosts(job.plan, 0, 8, options.seed),
            "tensor": tensor_across_hosts(job.plan, 0, 8),
        }[how]
        return replace(made, jobs=(replace(job, attempts=(replace(job.attempts[0], gpus=gpus),)),))

    return make


def _shared_nics(nics: int) -> Maker:
    def make(options: ScenarioOptions) -> Scenario:
        made = _variant(Plan(tp=4, dp=8, pp=2), "llama2-7b")(options)
        return replace(made, fabric=fabric_for(made.jobs[0].plan.world, nics_per_host=nics))

    return make


def _mirrored(maker: Maker) -> Maker:
    """The same, as a mirror sees it."""
    return lambda options: replace(maker(options), telemetry="mirror", gathered=MIRROR_GATHERED)


def _plain_leaves(options: ScenarioOptions) -> Scenario:
    made = _variant()(options)
    return replace(made, fabric=fabric_for(made.jobs[0].plan.world, rail_optimised=False, hosts_per_leaf=4))


def _proxied(options: ScenarioOptions) -> Scenario:
    made = _variant(Plan(tp=1, ep=16, dp=64), "mixtral-8x7b", batches=2)(options)
    return replace(made, jobs=(replace(made.jobs[0], proxied=True),))


def _many_queue_pairs(options: ScenarioOptions) -> Scenario:
    made = _variant(collectives=CollectiveOptions(channels=2))(options)
    return replace(made, jobs=(replace(made.jobs[0], queue_pairs=4),))


def _planes(*faults: Fault, sprayed: bool) -> Maker:
    """The base job on NICs with an address in each of two planes, by queue pair or packet by packet."""

    def make(options: ScenarioOptions) -> Scenario:
        made = _variant()(options)
        job = replace(made.jobs[0], queue_pairs=1 if sprayed else 2)
        fabric = fabric_for(job.plan.world, planes=2, sprayed=sprayed)
        return replace(made, jobs=(job,), fabric=fabric, faults=faults)

    return make


def _two_jobs(options: ScenarioOptions) -> Scenario:
    first = _variant(Plan(tp=8, dp=4, pp=2), "llama2-7b")(options).jobs[0]
    second = _variant(Plan(tp=4, dp=8, pp=2), "llama3-8b", sharding="zero", buckets=3)(
        ScenarioOptions(options.seed, None, options.iterations)
    ).jobs[0]
    moved = replace(second.attempts[0], gpus=pack_ranks(second.plan, first.plan.world))
    second = replace(second, name="job1", tenant="t2", start_s=0.73, attempts=(moved,))
    return _plain(first, jobs=(first, second), fabric=fabric_for(first.plan.world + second.plan.world))


def _bustling(options: ScenarioOptions) -> Scenario:
    made = _two_jobs(options)
    gpus = sum(j.plan.world for j in made.jobs)
    fabric = fabric_for(gpus + 32, services=4)
    reading = Pauses(data_bytes=4e6, checkpoint_every=10, checkpoint_bytes=400e6, checkpoint_s=1.0)
    jobs = tuple(replace(j, workload=replace(j.workload, pauses=reading)) for j in made.jobs)
    return replace(made, fabric=fabric, jobs=jobs, bustle=BackgroundTraffic(seconds=40.0))


def _checkpointed(options: ScenarioOptions) -> Scenario:
    pauses = Pauses(
        checkpoint_every=8, checkpoint_bytes=2e9, checkpoint_s=2.0, evaluation_every=12, evaluation_batches=12
    )
    made = _variant(pauses=pauses)(options)
    return replace(made, fabric=fabric_for(made.jobs[0].plan.world, services=4))


def _restarted(replaced: bool) -> Maker:
    def make(options: ScenarioOptions) -> Scenario:
        made = _variant()(options)
        job, times = made.jobs[0], options.times(ITERATIONS)
        first = pack_ranks(job.plan, 0)
        second = first.copy()
        if replaced:
            second[first // 8 == 3] += job.plan.world - 24  # host 3's ranks move to the spare host
        attempts = (Attempt(first, times // 2, crashes=True), Attempt(second, times - times // 2, down_s=8.0))
        return replace(made, jobs=(replace(job, attempts=attempts),), fabric=fabric_for(job.plan.world + 8 * replaced))

    return make


def _migrated(options: ScenarioOptions) -> Scenario:
    made = _variant()(options)
    job, times = made.jobs[0], options.times(ITERATIONS)
    gpus = pack_ranks(job.plan, 0)
    gpus[gpus // 8 == 3] += job.plan.world - 24  # host 3's ranks move to the spare host
    swapped = Attempt(gpus, times - times // 2, down_s=1.5, live=True, state_bytes=2e9)
    attempts = (replace(job.attempts[0], iterations=times // 2), swapped)
    return replace(made, jobs=(replace(job, attempts=attempts),), fabric=fabric_for(job.plan.world + 8))


def _elastic(replicas: int) -> Maker:
    def make(options: ScenarioOptions) -> Scenario:
        made = _variant()(options)
        job, times = made.jobs[0], options.times(ITERATIONS)
        other = replace(job.plan, dp=job.plan.dp + replicas)
        later = Attempt(pack_ranks(other, 0), times - times // 2, down_s=8.0, dp=other.dp, state_bytes=1e9)
        attempts = (replace(job.attempts[0], iterations=times // 2), later)
        return replace(
            made, jobs=(replace(job, attempts=attempts),), fabric=fabric_for(max(job.plan.world, other.world))
        )

    return make


def _contention(options: ScenarioOptions) -> Scenario:
    """A second job of the same tenants' leaf pair starts on a fabric with one uplink for four NICs."""
    first = _variant(Plan(tp=8, dp=8), "llama2-7b", batches=4)(options).jobs[0]
    seats = pack_ranks(first.plan, 0).reshape(-1, 8)
    hosts = seats.reshape(-1, 8)[:, :1] // 8 * 2  # every other host, so that both jobs sit under all leaves
    gpus = (hosts * 8 + pack_ranks(first.plan, 0).reshape(-1, 8) % 8).ravel()
    job = replace(first, attempts=(replace(first.attempts[0], gpus=gpus),))
    late = replace(job, name="job1", tenant="t2", attempts=(replace(job.attempts[0], gpus=gpus + 8),))
    fabric = fabric_for(2 * first.plan.world, rail_optimised=False, hosts_per_leaf=4, spines=2, uplink_gbps=2000.0)
    fault = Fault("contention", job=0, first=ONSET)
    return _plain(job, jobs=(job, late), fabric=fabric, faults=(fault,))


def _collisions(options: ScenarioOptions) -> Scenario:
    """Replicas of two queue pairs a connection under four leaves, whose hashes put several on one cable."""
    made = _variant(Plan(tp=8, dp=8), "llama2-7b", batches=4)(options)
    world = made.jobs[0].plan.world
    fabric = fabric_for(world, rail_optimised=False, hosts_per_leaf=2, spines=8, uplink_gbps=800.0, hash_family="crc")
    return replace(made, jobs=(replace(made.jobs[0], queue_pairs=2),), fabric=fabric, feeds=(FeedSpec("ipfix"),))


def _stage_heavy(options: ScenarioOptions) -> Scenario:
    made = _variant(stage_scale=(1.0, 1.0, 1.0, 1.4))(options)
    return replace(made, faults=(Fault("stage_imbalance"),))


def _sequence_heavy(options: ScenarioOptions) -> Scenario:
    made = _variant(Plan(tp=8, dp=8, pp=2), batches=4, noise=Noise(replica_ratio=0.8))(options)
    return replace(made, faults=(Fault("sequence_imbalance"),))


_STRAGGLER = Fault("straggler", first=ONSET, rank=43, size=1.4)
CATALOGUE: dict[str, tuple[str, Maker]] = {
    "dense": ("70B, tp 8 pp 4 dp 4, 1F1B, one ring all-reduce a gradient", _variant()),
    "dense-mirror": ("the same as a mirror sees it", _mirrored(_variant())),
    "dense-overlap": (
        "the same with gradient buckets reduced during the backward pass",
        _variant(buckets=4, overlap=True),
    ),
    "dense-zero": ("the same with ZeRO-1: reduce-scatter, step, all-gather", _variant(sharding="zero", buckets=2)),
    "dense-interleaved": ("the same with two chunks of layers a stage", _variant(chunks=2)),
    "dense-embedding": ("the same, first and last stage sharing the embedding", _variant(shared_embedding=True)),
    "dense-trees": ("gradients over double binary trees", _variant(collectives=CollectiveOptions(tree=True))),
    "dense-channels": ("two rings through each NIC, four queue pairs a connection", _many_queue_pairs),
    "planes": (
        "NICs with an address in each of two planes, a queue pair of each connection in each",
        _planes(sprayed=False),
    ),
    "planes-sprayed": ("the same, packets of a queue pair take the planes by turns", _planes(sprayed=True)),
    "planes-sprayed-mirror": ("the same as a mirror sees it", _mirrored(_planes(sprayed=True))),
    "planes-slow-nic": (
        "one NIC's link in the second plane at a fifth",
        _planes(Fault("slow_nic", first=ONSET, rank=43, size=5, plane=1), sprayed=False),
    ),
    "dense-shuffled": ("hosts in an order that ignores the racks", _placed("shuffled")),
    "dense-plain-leaves": ("all NICs of a host on one leaf", _plain_leaves),
    "data-parallel": (
        "7B, tp 8 dp 8, gradients in buckets, no pipeline",
        _variant(Plan(tp=8, dp=8), "llama2-7b", buckets=4),
    ),
    "tensor-across-hosts": ("tensor groups that span hosts", _placed("tensor")),
    "nics-2": ("hosts of 8 GPUs and 2 NICs", _shared_nics(2)),
    "nics-1": ("hosts of 8 GPUs and 1 NIC", _shared_nics(1)),
    "fsdp": (
        "8B, FSDP over 64 GPUs, layers gathered ahead",
        _variant(Plan(dp=64), "llama3-8b", sharding="fsdp", overlap=True, batches=1),
    ),
    "fsdp-crossing": (
        "the same, rings that leave a host by another NIC than they enter",
        _variant(
            Plan(dp=64),
            "llama3-8b",
            sharding="fsdp",
            overlap=True,
            batches=1,
            collectives=CollectiveOptions(crossing=True),
        ),
    ),
    "moe": ("8x7B, ep 8 across hosts, pp 2", _variant(Plan(tp=4, ep=8, dp=8, pp=2), "mixtral-8x7b", batches=4)),
    "moe-proxied": ("8x7B, ep 16 without tp, messages proxied onto the receiver's rail", _proxied),
    "ring-attention": (
        "405B-like context parallelism, tp 8 cp 4 dp 4",
        _variant(Plan(tp=8, cp=4, dp=4), "llama3-8b", batches=4),
    ),
    "two-jobs": ("two jobs of different layouts side by side", _two_jobs),
    "bustle": ("two jobs that read and checkpoint, with storage, calls and monitoring traffic", _bustling),
    "checkpoints": ("checkpoints and evaluations between iterations", _checkpointed),
    "restart": ("a crash in the middle and a restart on the same hosts", _restarted(False)),
    "host-replaced": ("a crash, and a restart with one host replaced", _restarted(True)),
    "live-migration": ("one host's ranks move to a spare host, all other connections go on", _migrated),
    "elastic-shrink": ("the job ends and goes on with one replica fewer", _elastic(-1)),
    "elastic-grow": ("the job ends and goes on with one replica more", _elastic(1)),
    "jitter": (
        "12 % compute jitter and occasional spikes",
        _variant(noise=Noise(jitter_ratio=0.12, spike_probability=0.003)),
    ),
    "variable-length": (
        "micro-batches of varying length, alike on all replicas",
        _variant(noise=Noise(sequence_ratio=0.2)),
    ),
    "straggler": ("one GPU computes 40 % slower from iteration 14", _faulty(_STRAGGLER)),
    "straggler-mirror": ("the same as a mirror sees it", _mirrored(_faulty(_STRAGGLER))),
    "straggler-thermal": (
        "one GPU slows down over six iterations",
        _faulty(replace(_STRAGGLER, shape="thermal", size=1.6)),
    ),
    "straggler-sporadic": (
        "one GPU is slow in two iterations of five",
        _faulty(replace(_STRAGGLER, shape="sporadic", size=1.6)),
    ),
    "slow-nic": (
        "one NIC at a fifth of its rate, both directions",
        _faulty(Fault("slow_nic", first=ONSET, rank=43, size=5)),
    ),
    "slow-nic-mirror": (
        "the same as a mirror sees it",
        _mirrored(_faulty(Fault("slow_nic", first=ONSET, rank=43, size=5))),
    ),
    "slow-nic-tx": (
        "one NIC sends at a fifth",
        _faulty(Fault("slow_nic", first=ONSET, rank=43, size=5, direction="tx")),
    ),
    "slow-nic-rx": (
        "one NIC receives at a fifth",
        _faulty(Fault("slow_nic", first=ONSET, rank=43, size=5, direction="rx")),
    ),
    "slow-uplink": (
        "one cable between leaf and spine at a twentieth",
        _faulty(Fault("slow_uplink", first=ONSET, leaf=0, size=20), hosts_per_leaf=2, spines=2),
    ),
    "slow-uplink-shared": (
        "the same on plain leaves, where many connections share the cable",
        _faulty(
            Fault("slow_uplink", first=ONSET, leaf=0, size=20),
            rail_optimised=False,
            hosts_per_leaf=2,
            spines=4,
            uplink_gbps=3200.0,
        ),
    ),
    "lossy-uplink": (
        "the cable of slow-uplink loses 1 % of its packets and most of its rate",
        _faulty(Fault("slow_uplink", first=ONSET, leaf=0, size=20, loss_ratio=0.01), hosts_per_leaf=2, spines=2),
    ),
    "ecmp-collision": (
        "all connections of a leaf fall on one cable",
        _faulty(
            Fault("ecmp_collision", first=ONSET, leaf=0),
            rail_optimised=False,
            hosts_per_leaf=2,
            spines=4,
            uplink_gbps=1600.0,
        ),
    ),
    "collisions": ("all along, hashes of four leaves (CRC) put several connections on one cable", _collisions),
    "contention": ("a second job begins to share the uplinks", _contention),
    "flap": (
        "one NIC's link flaps every other three iterations",
        _faulty(Fault("flap", first=ONSET, rank=43, size=10, every=3)),
    ),
    "hang-compute": ("one GPU stops inside iteration 14", _hang(Fault("hang_compute", first=ONSET, rank=43))),
    "hang-communication": (
        "one NIC dies inside iteration 14",
        _hang(Fault("hang_communication", first=ONSET, rank=43)),
    ),
    "stage-imbalance": ("the last stage computes 40 % more", _stage_heavy),
    "sequence-imbalance": ("sequence lengths differ between replicas (pp 2 dp 8, 4 micro-batches)", _sequence_heavy),
    "regression": (
        "the whole job computes 25 % slower from iteration 14",
        _faulty(Fault("regression", first=ONSET, size=1.25)),
    ),
    "twin-healthy": ("twin of the recording s1-healthy: 16 GPUs, tp 2 pp 2 dp 4, 0.4 Gb/s", healthy),
    "twin-slow-nic": ("twin of s2-slow-nic: one NIC at 80 Mb/s from iteration 14", slow_nic),
    **WATCHED,
    "cluster": (
        "a minute of a cluster of 10,000 GPUs (--gpus from 1,000 up): tens of jobs, every fourth with a fault",
        cluster,
    ),
}
