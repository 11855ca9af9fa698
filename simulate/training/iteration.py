"""One iteration of a job as an operation graph: passes, gradients, the optimizer's step, and what interrupts.

Each cell begins with a mark and ends with one; the next iteration's first waits for this one's last, cell by cell, so
that iterations are carried on with no more synchrony than the job itself has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int
from simulate.network.graph import (
    BACKWARD,
    CHECKPOINT,
    COMPUTE,
    DATA,
    EMBEDDING,
    EXPERT_GRADIENT,
    FORWARD,
    GRADIENT,
    MARK,
    NO_INDEX,
    OPTIMIZER,
    PARAMETER,
    STATE,
    TRANSFER,
    Graph,
    GraphBuilder,
)
from simulate.training.collective import by_host, collective
from simulate.training.passes import NS, StagePasses
from simulate.training.plan import Plan
from simulate.training.weight_sync import WeightSync
from simulate.training.workload import Workload

NORM_NS = 60_000.0  # a reduction of one number over all ranks: latency only


@dataclass(frozen=True, slots=True)
class StateCopy:
    """What ranks receive before they train.

    Attributes:
        sources, ranks: (n,) who sends and who receives. Sources from `world` on are services, then GPUs of no rank.
        bytes: of each.
    """

    sources: Int
    ranks: Int
    bytes: float


NO_COPY = StateCopy(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0)


@dataclass(frozen=True, slots=True)
class IterationGraph:
    """A job's iteration. Ranks from `world` on are services.

    Attributes:
        graph: its operations.
        begin, end: (cells,) marks of the first and last operations.
        started, done: (cells,) marks of the training step itself, without evaluation before and checkpoint after it.
    """

    graph: Graph
    begin: Int
    end: Int
    started: Int
    done: Int


def iteration(
    plan: Plan,
    workload: Workload,
    host_of_rank: Int,
    services: int,
    *,
    checkpoint: bool,
    evaluation: bool,
    copy: StateCopy = NO_COPY,
    takers: Int | None = None,
) -> IterationGraph:
    """Build an iteration.

    Args:
        plan: how it is parallel.
        workload: what is done.
        host_of_rank: (world,).
        services: how many service endpoints there are to write to and read from.
        checkpoint: it ends with one.
        evaluation: it begins with one.
        copy: state that some ranks receive first.
        takers: numbers of what stands for GPUs that are given the weights afterwards; None where none is.
    """
    builder = _Builder(plan, workload, host_of_rank, services)
    return builder.build(copy, takers, checkpoint=checkpoint, evaluation=evaluation)


class _Builder:
    """The state of building one iteration."""

    def __init__(self, plan: Plan, workload: Workload, host_of_rank: Int, services: int) -> None:
        self.builder = GraphBuilder()
        self.plan, self.workload, self.host_of_rank, self.services = plan, workload, host_of_rank, services
        self.cell_of_rank = np.arange(plan.world) // plan.tp

    def build(self, copy: StateCopy, takers: Int | None, *, checkpoint: bool, evaluation: bool) -> IterationGraph:
        plan, w = self.plan, self.workload
        begin = self.builder.add(MARK, plan.cells, src=np.arange(plan.cells))
        now = self._copied(begin, copy) if len(copy.ranks) else begin
        rl = None
        if w.post_training is not None:
            rl = WeightSync(self.builder, plan, w.post_training)
            now = rl.rollout(now, takers)
        if evaluation:
            now = StagePasses(self.builder, plan, w, self.host_of_rank).run(
                now, w.pauses.evaluation_batches, backward=False
            )
        started = now = self.builder.add(MARK, plan.cells, after=[now])
        if w.sharding == "fsdp":
            now = self._sharded(now)
        else:
            passes = StagePasses(self.builder, plan, w, self.host_of_rank)
            ends = passes.run(now, w.batches)
            now = self._gradients(passes.last_backward, ends)
        now = self._step(now)
        if w.sharding == "zero":
            now = self._over_gradient_groups(now, w.volumes.parameter_bytes, 1, PARAMETER)
        extra = [self._read(begin)] if self.services and w.pauses.data_bytes else []
        done = self.builder.add(MARK, plan.cells, after=[now])
        if checkpoint:
            now = self._checkpoint(now)
        if rl is not None and takers is not None:
            now = rl.sync(now, takers)
        end = self.builder.add(MARK, plan.cells, after=[now, *extra], src=np.arange(plan.cells))
        return IterationGraph(self.builder.graph(), begin, end, started, done)

    def _over_gradient_groups(self, cells: Int, size: float, phases: int, purpose: int) -> Int:
        """A collective over dp x cp; (cells,) to (cells,)."""
        return self._collective(self.plan.gradient_groups(), cells[self.cell_of_rank], size, phases, purpose)

    def _collective(self, groups: Int, ready_of_rank: Int, size: float, phases: int, purpose: int) -> Int:
        """A collective among groups of ranks; (cells,) marks, also of those that are in no group."""
        marks = self.builder.add(MARK, self.plan.cells)
        every = np.arange(self.plan.world)
        self.builder.edges(ready_of_rank[every], marks[self.cell_of_rank])
        if groups.shape[1] > 1 and size > 0:
            hosts = by_host(groups, self.host_of_rank)
            done = collective(
                self.builder, self.workload.collectives, hosts, ready_of_rank[hosts.members], size, phases, purpose
            )
            self.builder.edges(done.ravel(), marks[self.cell_of_rank[hosts.members.ravel()]])
        return marks

    def _gradients(self, last_backward: list[Int], ends: Int) -> Int:
        """Buckets one after the other, each once its part of the last backward pass is done."""
        w, plan = self.workload, self.plan
        parts = self._parts(last_backward, ends)
        now, phases = ends, 2 if w.sharding == "none" else 1
        before = None
        for bucket in range(w.buckets):
            ready = parts[bucket] if w.overlap else ends
            if before is not None:
                ready = self.builder.add(MARK, plan.cells, after=[ready, before])
            before = self._over_gradient_groups(ready, w.volumes.gradient_bytes / w.buckets, phases, GRADIENT)
        if before is not None:
            now = self.builder.add(MARK, plan.cells, after=[ends, before])
        if plan.ep > 1:
            groups, size = plan.expert_gradient_groups(), w.volumes.expert_gradient_bytes
            now = self._collective(groups, now[self.cell_of_rank], size, phases, EXPERT_GRADIENT)
        if w.shared_embedding and plan.pp > 1:
            groups = plan.pp_groups()[:, [0, -1]]
            now = self._collective(groups, now[self.cell_of_rank], w.volumes.embedding_bytes, 2, EMBEDDING)
        return now

    def _parts(self, last_backward: list[Int], ends: Int) -> list[Int]:
        """(cells,) operations after which each bucket's gradients are complete."""
        if not last_backward:
            return [ends] * self.workload.buckets
        return [
            np.concatenate([parts[(b + 1) * len(parts) // self.workload.buckets - 1] for parts in last_backward])
            if min(len(parts) for parts in last_backward) >= self.workload.buckets
            else ends
            for b in range(self.workload.buckets)
        ]

    def _step(self, now: Int) -> Int:
        """The optimizer's step, after agreeing on the gradient's norm."""
        if self.workload.global_norm:
            known = self.builder.join(now[None, :])
            waited = self.builder.add(MARK, 1, after=[known], lag_ns=NORM_NS)
            now = np.repeat(waited, self.plan.cells)
        cells = np.arange(self.plan.cells)
        work = self.workload.volumes.optimizer_s * NS
        return self.builder.add(COMPUTE, len(cells), after=[now], work=work, purpose=OPTIMIZER, src=cells, dst=cells)

    def _compute(self, after: list[Int], seconds: float, forward: bool, batch: int) -> Int:
        cells = np.arange(self.plan.cells)
        replica = cells // self.plan.cp % self.plan.dp * self.workload.batches + batch
        return self.builder.add(
            COMPUTE,
            len(cells),
            after=after,
            work=seconds * NS,
            purpose=FORWARD if forward else BACKWARD,
            src=cells,
            dst=cells,
            batch=replica,
        )

    def _sharded(self, begin: Int) -> Int:
        """FSDP: gather each unit before its pass, scatter its gradients after; collectives follow one another.

        With `overlap` the next unit is gathered while one is computed, else everything waits for everything.
        """
        now = queue = begin
        for batch in range(self.workload.batches):
            for forward in (True, False):
                now, queue = self._sharded_pass(now, queue, batch, forward)
        return self.builder.add(MARK, self.plan.cells, after=[now, queue])

    def _sharded_pass(self, now: Int, queue: Int, batch: int, forward: bool) -> tuple[Int, Int]:
        w, v = self.workload, self.workload.volumes
        seconds = (v.forward_s if forward else v.backward_s) / v.layers
        issued = now
        for _ in range(v.layers):
            ready = self.builder.add(MARK, self.plan.cells, after=[queue, issued if w.overlap else now])
            queue = self._over_gradient_groups(ready, v.parameter_bytes / v.layers, 1, PARAMETER)
            issued = now  # the unit after this one is gathered once the unit before this one is computed
            now = self._compute([now, queue], seconds, forward, batch)
            if not forward:
                ready = self.builder.add(MARK, self.plan.cells, after=[queue, now])
                queue = self._over_gradient_groups(ready, v.gradient_bytes / v.layers, 1, GRADIENT)
                if not w.overlap:
                    now = queue
        return now, queue

    def _first_ranks(self, cells: Int) -> Int:
        return cells * self.plan.tp

    def _copied(self, begin: Int, copy: StateCopy) -> Int:
        """State is copied once all ranks are there, and all wait until it is; (cells,) to (cells,)."""
        count = len(copy.ranks)
        there = np.repeat(self.builder.join(begin[None, :]), count)
        sent = self.builder.add(
            TRANSFER, count, after=[there], work=copy.bytes, purpose=STATE, src=copy.sources, dst=copy.ranks
        )
        return np.repeat(self.builder.join(sent[None, :]), self.plan.cells)

    def _read(self, begin: Int) -> Int:
        """Tensor groups of the first stage read from storage; (cells,) operations, NO_INDEX where none."""
        cells = np.arange(self.plan.cells // self.plan.pp)
        done = np.full(self.plan.cells, NO_INDEX)
        done[cells] = self.builder.add(
            TRANSFER,
            len(cells),
            after=[begin[cells]],
            work=self.workload.pauses.data_bytes,
            purpose=DATA,
            src=self.plan.world + cells % self.services,
            dst=self._first_ranks(cells),
        )
        return done

    def _checkpoint(self, now: Int) -> Int:
        """Let the first replica's ranks write their share; all ranks wait until it is written."""
        rested = self.builder.join(now[None, :])
        pause = self.builder.add(MARK, 1, after=[rested], lag_ns=self.workload.pauses.checkpoint_s * NS)
        waits = [pause]
        if self.services and self.workload.pauses.checkpoint_bytes:
            ranks = self.plan.ranks()[:, 0].ravel()
            waits.append(
                self.builder.add(
                    TRANSFER,
                    len(ranks),
                    after=[np.repeat(rested, len(ranks))],
                    work=self.workload.pauses.checkpoint_bytes,
                    purpose=CHECKPOINT,
                    src=ranks,
                    dst=self.plan.world + ranks % self.services,
                )
            )
        written = self.builder.join(np.concatenate(waits)[None, :])
        return np.repeat(written, self.plan.cells)
