"""What a job does in an iteration, and how: the declared inputs of the generator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from simulate.training.collective import CollectiveOptions
from simulate.training.model import Volumes

Sharding = Literal["none", "zero", "fsdp"]


@dataclass(frozen=True, slots=True)
class Noise:
    """What varies from one iteration to the next without being a fault.

    Attributes:
        jitter_ratio: spread of each computation's time (normal).
        common_ratio: spread of an iteration that all ranks share (normal, only longer).
        spike_probability, spike_ratio: a computation now and then takes longer by this share.
        sequence_ratio: spread of a micro-batch's length (uniform), the same on every replica of data parallelism.
        replica_ratio: the same, drawn apart for each replica.
        expert_ratio: spread of the tokens that the experts of a cell get (log-normal, their mean as ever); half of its
            variance stays from iteration to iteration, since routers favour the same experts for long.
    """

    jitter_ratio: float = 0.01
    common_ratio: float = 0.003
    spike_probability: float = 0.0
    spike_ratio: float = 0.5
    sequence_ratio: float = 0.0
    replica_ratio: float = 0.0
    expert_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class Pauses:
    """What comes between iterations; counts of iterations, 0 for never.

    Attributes:
        checkpoint_every, checkpoint_bytes, checkpoint_s: ranks of the first replica each write so much to storage after
            every so many iterations, and all rest at least so long.
        evaluation_every, evaluation_batches: forward passes alone before every so many iterations.
        data_bytes: each tensor group of the first stage reads for the next iteration while the present one runs.
    """

    checkpoint_every: int = 0
    checkpoint_bytes: float = 0.0
    checkpoint_s: float = 0.0
    evaluation_every: int = 0
    evaluation_batches: int = 0
    data_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class PostTrainingLoop:
    """Reinforcement learning around the training step: others generate, are given the new weights, and generate again.

    Attributes:
        sync: direct: replicas of every stage write to each taker; broadcast: the first host's ranks send through a
            chain of the takers' hosts, as a broadcast in rings does.
        weight_bytes: of the whole model, as it is sent.
        taker_ranks: tensor parallelism of an engine: each of its GPUs takes such a part of the weights.
        every: iterations from one synchronization to the next.
        rollout_s: how long trainers wait for answers before each step; 0 where they train on earlier ones meanwhile.
        rollout_ratio: spread of that (lognormal): the longest answer decides.
        answer_bytes: tokens and probabilities that each engine's first GPU sends to the first rank, over TCP.
    """

    sync: Literal["direct", "broadcast"] = "direct"
    weight_bytes: float = 16e9
    taker_ranks: int = 8
    every: int = 1
    rollout_s: float = 5.0
    rollout_ratio: float = 0.15
    answer_bytes: float = 4e6


@dataclass(frozen=True, slots=True)
class Workload:
    """One job's training.

    Attributes:
        volumes: bytes and times.
        batches: micro-batches of an iteration.
        chunks: chunks of layers a stage holds; more than one is the interleaved pipeline.
        sharding: none (all-reduce), zero (reduce-scatter, step, all-gather) or fsdp (per layer; no pipeline).
        buckets: parts in which gradients are reduced one after the other.
        overlap: buckets are reduced while the last backward pass still runs; with fsdp layers are gathered ahead.
        global_norm: before the step all ranks agree on the gradient's norm, as clipping needs.
        shared_embedding: first and last stage reduce the embedding's gradient between them.
        stage_scale: compute time of each stage against the even split; empty for 1 everywhere.
        collectives: rings or trees, and how many.
        noise, pauses: what varies and what interrupts.
        post_training: what is done between steps of reinforcement learning; None where there is none.
    """

    volumes: Volumes
    batches: int = 8
    chunks: int = 1
    sharding: Sharding = "none"
    buckets: int = 1
    overlap: bool = False
    global_norm: bool = True
    shared_embedding: bool = False
    stage_scale: tuple[float, ...] = ()
    collectives: CollectiveOptions = field(default_factory=CollectiveOptions)
    noise: Noise = field(default_factory=Noise)
    pauses: Pauses = field(default_factory=Pauses)
    post_training: PostTrainingLoop | None = None
