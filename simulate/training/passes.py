"""Forward and backward passes of an iteration as operations: what each cell computes, and exchanges inside its stage.

A cell is a tensor group; its ranks compute in lockstep. Cells of a stage are handled together, as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from datamodel.reconstructed.streams import Int
from simulate.network.graph import (
    BACKWARD,
    COMPUTE,
    FORWARD,
    KEY,
    MARK,
    NO_INDEX,
    PIPELINE,
    TENSOR,
    TOKEN,
    TRANSFER,
    GraphBuilder,
)
from simulate.training.collective import by_host, collective, exchange
from simulate.training.plan import Plan
from simulate.training.schedule import (
    Exchange,
    Message,
    ScheduleStep,
    forward_only,
    schedule_blocking,
    schedule_interleaved,
)
from simulate.training.workload import Workload

NS = 1e9


@dataclass(slots=True)
class StagePasses:
    """Builds the passes of one iteration.

    Attributes:
        builder: takes the operations.
        plan, workload: what is trained and how.
        host_of_rank: (world,).
        last_backward: per cell, the parts of its last backward pass, in order; filled by `run`.
    """

    builder: GraphBuilder
    plan: Plan
    workload: Workload
    host_of_rank: Int
    last_backward: list[Int] = field(default_factory=list)

    def run(self, begin: Int, batches: int, backward: bool = True) -> Int:
        """All micro-batches through all stages.

        Args:
            begin: (cells,) operations after which each cell begins.
            batches: how many micro-batches.
            backward: gradients as well; without, it is an evaluation.

        Returns:
            (cells,) operations that end each cell's passes.
        """
        cells = begin.reshape(self.plan.pp, -1)
        if self.workload.chunks > 1 and backward:
            ends = self._interleaved(cells, batches)
        else:
            order = schedule_blocking if backward else forward_only
            ends = self._blocking(cells, [order(s, self.plan.pp, batches) for s in range(self.plan.pp)], batches)
        return np.concatenate(ends)

    def _stage_cells(self, stage: int) -> Int:
        per_stage = self.plan.cells // self.plan.pp
        return np.arange(stage * per_stage, (stage + 1) * per_stage)

    def _stage_ranks(self, stage: int) -> Int:
        return self.plan.tp_groups()[self._stage_cells(stage)]

    def batch_of(self, cells: Int, batch: int) -> Int:
        """(cells,) which of the drawn lengths a micro-batch has there: those of its replica of data parallelism."""
        replica = cells // self.plan.cp % self.plan.dp
        return replica * self.workload.batches + batch % self.workload.batches

    def expert_batch_of(self, cells: Int, batch: int) -> Int:
        """(cells,) which of the drawn loads the experts of each cell have of a micro-batch: behind all lengths."""
        return (self.plan.dp + cells) * self.workload.batches + batch % self.workload.batches

    def _blocking(self, begin: Int, orders: list[list[ScheduleStep | Exchange]], batches: int) -> list[Int]:
        """Stages whose exchanges are posted together and waited for, as in Megatron's 1F1B."""
        messages: dict[tuple[int, bool, int], Int] = {}
        for stage in range(self.plan.pp - 1):
            for batch in range(batches):
                for forward in (True, False):
                    if forward or any(isinstance(s, ScheduleStep) and not s.forward for s in orders[stage]):
                        messages[stage, forward, batch] = self._messages(stage, stage + 1, forward, batch)
        ends = []
        for stage, order in enumerate(orders):
            now = begin[stage]
            for item in order:
                if isinstance(item, ScheduleStep):
                    now = self._step(stage, item, now, batches)
                else:
                    now = self._post(stage, item, now, messages)
            ends.append(now)
        return ends

    def _post(self, stage: int, messages: Exchange, now: Int, all_messages: dict[tuple[int, bool, int], Int]) -> Int:
        """Post messages after `now`; (cells,) marks: all of them are through."""
        through = self.builder.add(MARK, len(now))
        for message in messages:
            low = stage - (1 if self._from_below(message) else 0)
            ids = all_messages[low, message.forward, message.batch]
            ready = self.builder.edges if message.sent else self.builder.posts
            ready(np.repeat(now, self.plan.tp), ids.ravel())
            self.builder.edges(ids.ravel(), np.repeat(through, self.plan.tp))
        return through

    @staticmethod
    def _from_below(message: Message) -> bool:
        return message.forward != message.sent

    def _messages(self, stage: int, other: int, forward: bool, batch: int, channel: int = 0) -> Int:
        """(cells, tp) messages between the ranks of two stages, up if forward."""
        low, high = self._stage_ranks(stage), self._stage_ranks(other)
        src, dst = (low, high) if forward else (high, low)
        return self.builder.add(
            TRANSFER,
            src.size,
            work=self.workload.volumes.activation_bytes,
            purpose=PIPELINE,
            src=src.ravel(),
            dst=dst.ravel(),
            channel=channel,
            batch=np.repeat(self.batch_of(self._stage_cells(stage), batch), self.plan.tp),
        ).reshape(src.shape)

    def _interleaved(self, begin: Int, batches: int) -> list[Int]:
        """Stages that hold several chunks; messages travel while others are computed.

        As in Megatron with overlapped exchanges, a stage posts the buffer for a step when it has computed the one
        before of the same direction: with the send of that one's result.
        """
        stages, chunks = self.plan.pp, self.workload.chunks
        orders = [schedule_interleaved(s, stages, batches, chunks) for s in range(stages)]
        arrived: dict[tuple[int, ScheduleStep], Int] = {}
        sent: dict[tuple[int, bool], Int] = {}
        posted = {(stage, forward): begin[stage] for stage in range(stages) for forward in (True, False)}
        now = list(begin)
        at = [0] * stages
        while any(at[s] < len(orders[s]) for s in range(stages)):
            for stage, order in enumerate(orders):
                while at[stage] < len(order) and self._ready(stage, order[at[stage]], arrived):
                    step = order[at[stage]]
                    if (stage, step) in arrived:
                        now[stage] = self._receive(posted[stage, step.forward], arrived[stage, step], now[stage])
                    now[stage] = self._chunk(stage, step, now[stage], arrived, sent, batches)
                    posted[stage, step.forward] = now[stage]
                    at[stage] += 1
        return now

    def _position(self, stage: int, step: ScheduleStep) -> int:
        return step.chunk * self.plan.pp + stage

    def _ready(self, stage: int, step: ScheduleStep, arrived: dict[tuple[int, ScheduleStep], Int]) -> bool:
        last = self.plan.pp * self.workload.chunks - 1
        outer = 0 if step.forward else last
        return self._position(stage, step) == outer or (stage, step) in arrived

    def _receive(self, posted: Int, messages: Int, now: Int) -> Int:
        """(cells,) marks: messages are there, whose buffers were posted after `posted`, and `now` is over."""
        through = self.builder.add(MARK, len(now), after=[now])
        self.builder.posts(np.repeat(posted, self.plan.tp), messages.ravel())
        self.builder.edges(messages.ravel(), np.repeat(through, self.plan.tp))
        return through

    def _chunk(
        self,
        stage: int,
        step: ScheduleStep,
        now: Int,
        arrived: dict[tuple[int, ScheduleStep], Int],
        sent: dict[tuple[int, bool], Int],
        batches: int,
    ) -> Int:
        """One step of an interleaved stage, and the message it leads to."""
        now = self._step(stage, step, now, batches)
        goes = self._position(stage, step) + (1 if step.forward else -1)
        if 0 <= goes < self.plan.pp * self.workload.chunks:
            other = goes % self.plan.pp
            low, high = (stage, other) if step.forward else (other, stage)
            ids = self._messages(low, high, step.forward, step.batch, step.chunk % 2 if self.plan.pp == 2 else 0)
            self.builder.edges(np.repeat(now, self.plan.tp), ids.ravel())
            if (stage, step.forward) in sent:
                self.builder.edges(sent[stage, step.forward].ravel(), ids.ravel())
            sent[stage, step.forward] = ids
            arrived[other, step._replace(chunk=goes // self.plan.pp)] = ids
        return now

    def _step(self, stage: int, step: ScheduleStep, now: Int, batches: int) -> Int:
        """One micro-batch through one chunk of a stage; (cells,)."""
        w, v = self.workload, self.workload.volumes
        seconds = v.forward_s if step.forward else v.backward_s
        if stage == self.plan.pp - 1 and step.chunk == w.chunks - 1:
            seconds += v.last_stage_s * (1 if step.forward else 2) * w.chunks
        if w.stage_scale:
            seconds *= w.stage_scale[stage]
        inner = self.plan.ep > 1 or self.plan.cp > 1 or self._tensor_leaves_host()
        last = not step.forward and step.batch == batches - 1 and step.chunk == 0
        parts = v.layers if inner else (w.buckets if last and w.overlap else 1)
        cells = self._stage_cells(stage)
        ends = []
        for _ in range(parts):
            now = self._part(cells, step, now, seconds / w.chunks / parts)
            ends.append(now)
        if last:
            self.last_backward += [np.stack(ends)]
        return now

    def _tensor_leaves_host(self) -> bool:
        host = self.host_of_rank[self.plan.tp_groups()[0]]
        return bool((host != host[0]).any())

    def _part(self, cells: Int, step: ScheduleStep, now: Int, seconds: float) -> Int:
        """One unit of layers: attention with its ring of keys, then experts with their tokens, then tensor sums."""
        v, plan = self.workload.volumes, self.plan
        if plan.cp > 1:
            passed = self._pass_keys(cells, step, now)
            attended = self._compute(cells, step, now, seconds / 2)
            now = self.builder.add(MARK, len(cells), after=[attended, passed])
            seconds /= 2
        if plan.ep > 1:
            now = self._compute(cells, step, now, seconds / 2)
            now = self._tokens(cells, step, now, gathered=True)
            now = self._compute(cells, step, now, seconds / 2, self.expert_batch_of(cells, step.batch))
            now = self._tokens(cells, step, now, gathered=False)
        else:
            now = self._compute(cells, step, now, seconds)
        if self._tensor_leaves_host():
            hosts = by_host(plan.tp_groups()[cells], self.host_of_rank)
            ready = np.broadcast_to(now[:, None, None], hosts.members.shape)
            done = collective(self.builder, self.workload.collectives, hosts, ready, v.tensor_bytes, 2, TENSOR)
            now = self.builder.join(done.reshape(len(cells), -1))
        return now

    def _compute(self, cells: Int, step: ScheduleStep, now: Int, seconds: float, batch: Int | None = None) -> Int:
        return self.builder.add(
            COMPUTE,
            len(cells),
            after=[now],
            work=seconds * NS,
            purpose=FORWARD if step.forward else BACKWARD,
            src=cells,
            dst=cells,
            batch=self.batch_of(cells, step.batch) if batch is None else batch,
        )

    def _by_cell(self, cells: Int, ranks: Int, operations: Int) -> Int:
        """(cells,) marks: what belongs to the ranks of each cell has ended."""
        marks = self.builder.add(MARK, len(cells))
        self.builder.edges(operations.ravel(), marks[ranks.ravel() // self.plan.tp - cells[0]])
        return marks

    def _tokens(self, cells: Int, step: ScheduleStep, now: Int, *, gathered: bool) -> Int:
        """Each rank sends tokens to the experts of its ep group (`gathered`), or experts send them back."""
        per_stage = len(cells) * self.plan.tp // self.plan.ep
        stage = int(cells[0]) // len(cells)
        groups = self.plan.ep_groups()[stage * per_stage : (stage + 1) * per_stage]
        cell = groups // self.plan.tp
        ready, batch = now[cell - cells[0]], self.expert_batch_of(cell, step.batch)
        size = self.workload.volumes.token_bytes
        done = exchange(self.builder, groups, self.host_of_rank, ready, size, batch, TOKEN, by_receiver=gathered)
        return self._by_cell(cells, groups, done)

    def _pass_keys(self, cells: Int, step: ScheduleStep, now: Int) -> Int:
        """Keys and values go round the cp ring, a step each other member; twice as much where gradients go along."""
        per_stage = len(cells) * self.plan.tp // self.plan.cp
        stage = int(cells[0]) // len(cells)
        groups = self.plan.cp_groups()[stage * per_stage : (stage + 1) * per_stage]
        following = np.roll(groups, -1, axis=1)
        out = (self.host_of_rank[groups] != self.host_of_rank[following]).ravel()
        ready = now[groups // self.plan.tp - cells[0]]
        held, peer = ready, np.roll(ready, -1, axis=1)
        for _ in range(self.plan.cp - 1):
            ids = np.full(groups.size, NO_INDEX)
            ids[out] = self.builder.add(
                TRANSFER,
                int(out.sum()),
                after=[held.ravel()[out]],
                work=self.workload.volumes.key_bytes * (1 if step.forward else 2),
                purpose=KEY,
                src=groups.ravel()[out],
                dst=following.ravel()[out],
                batch=self.batch_of((groups // self.plan.tp).ravel()[out], step.batch),
            )
            self.builder.posts(peer.ravel()[out], ids[out])
            arrived = np.roll(ids.reshape(groups.shape), 1, axis=1)
            both = self.builder.add(MARK, groups.size, after=[ids, arrived.ravel(), held.ravel()])
            held = both.reshape(groups.shape)
            peer = np.roll(held, -1, axis=1)
        return self._by_cell(cells, groups, held)
