"""A job's training simulated rank by rank: who computes when, and every message that leaves a host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from tests.workloads.grid import Grid
from tests.workloads.schedule import Step, one_forward_one_backward
from tests.workloads.wire import Wire

MIB = float(1 << 20)
PP_FORWARD, PP_BACKWARD, GRADIENT, SECOND, EXPERT, TOKENS, KEYS, EMBEDDING, STORE = range(0, 900, 100)


@dataclass(frozen=True, slots=True)
class Fault:
    """From iteration `first` on, `rank` computes or sends (and receives) `factor` times as slowly."""

    kind: str
    rank: int
    first: int
    factor: float


@dataclass(frozen=True, slots=True)
class Workload:
    """What a job does in an iteration. Times in seconds, volumes in bytes.

    Attributes:
        reduction: how gradients are reduced: ring, two_rings (one each way), trees, zero, gather_first (zero whose
            gather opens the next iteration) or fsdp (pp = 1).
        buckets: shares of the gradient reduced one after the other; `overlap` starts them inside the last backward.
        sequence_spread: relative spread of micro-batch lengths (activations and compute alike).
        pauses: iteration -> seconds everybody rests before it (checkpoint); `evaluations`: iterations preceded by
            forward passes alone.
        placement: rank -> endpoint number; `gpus` endpoints of one number after the other share a host.
    """

    grid: Grid
    iterations: int = 26
    batches: int = 4
    chunks: int = 1
    layers: int = 2
    forward_s: float = 0.05
    backward_s: float = 0.1
    optimizer_s: float = 0.01
    activation_bytes: float = 4 * MIB
    gradient_bytes: float = 32 * MIB
    token_bytes: float = MIB / 2
    expert_bytes: float = 8 * MIB
    key_bytes: float = MIB
    embedding_bytes: float = 0.0
    reduction: str = "ring"
    channels: int = 1
    buckets: tuple[float, ...] = (1.0,)
    overlap: bool = False
    sequence_spread: float = 0.0
    jitter: float = 0.01
    common_jitter: float = 0.005
    bytes_per_ns: float = 1.0
    start_s: float = 0.0
    pauses: dict[int, float] = field(default_factory=dict)
    evaluations: tuple[int, ...] = ()
    faults: tuple[Fault, ...] = ()
    gpus: int = 1
    placement: tuple[int, ...] | None = None
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Training:
    """What happened: messages between endpoints, and when each iteration ended.

    Attributes:
        src, dst: (messages,) endpoint numbers.
        start_ns, end_ns: (messages,).
        bytes: (messages,).
        connection: (messages,) number that tells communicators of one pair apart.
        ends_ns: (iterations,) end of the last rank's step.
        endpoint: (ranks,) endpoint of each rank.
    """

    workload: Workload
    src: Int
    dst: Int
    start_ns: Int
    end_ns: Int
    bytes: Int
    connection: Int
    ends_ns: Int
    endpoint: Int

    def group(self, kind: str) -> set[tuple[int, ...]]:
        """Endpoints of each group of a kind: pp in stage order, the others ascending."""
        grid = self.workload.grid
        found = {"dp": grid.gradient_groups, "tp": grid.tp_groups, "cp": grid.cp_groups, "ep": grid.ep_groups}
        if kind == "pp":
            return {tuple(self.endpoint[g].tolist()) for g in grid.pp_groups()}
        return {tuple(sorted(self.endpoint[g].tolist())) for g in found[kind]()}


def train(workload: Workload) -> Training:
    """Run all iterations of a job."""
    run = _Run(workload)
    ends = np.array([run.iteration(i) for i in range(workload.iterations)])
    src, dst, start, end, size, connection = (np.concatenate(c) for c in zip(*run.wire.log, strict=True))
    return Training(
        workload,
        run.endpoint[src.astype(np.int64)],
        run.endpoint[dst.astype(np.int64)],
        np.round(start).astype(np.int64),
        np.round(end).astype(np.int64),
        np.round(size).astype(np.int64),
        connection.astype(np.int64),
        np.round(ends).astype(np.int64),
        run.endpoint,
    )


class _Run:
    """The state of a running job: when each rank is free."""

    def __init__(self, workload: Workload) -> None:
        self.w = workload
        self.random = np.random.default_rng(workload.seed)
        world = workload.grid.world
        self.endpoint = np.array(workload.placement if workload.placement is not None else range(world), np.int64)
        self.wire = Wire(self.endpoint // workload.gpus, workload.bytes_per_ns, self._pace)
        self.free = np.full(world, workload.start_s * 1e9)
        self.number = 0
        self.ready: dict[int, Float] = {}

    def _pace(self, src: Int, dst: Int) -> Float:
        factor = np.ones(len(src))
        for f in self.w.faults:
            if f.kind == "link" and self.number >= f.first:
                factor[(src == f.rank) | (dst == f.rank)] = f.factor
        return factor

    def _compute_ns(self, ranks: Int, seconds: float) -> Float:
        """Time of a piece of work on each rank; ranks of a tensor group wait for one another."""
        factor = self.common * (1 + self.w.jitter * np.abs(self.random.standard_normal(len(ranks))))
        for f in self.w.faults:
            if f.kind == "compute" and self.number >= f.first:
                factor[ranks == f.rank] *= f.factor
        together = factor.reshape(-1, self.w.grid.tp).max(axis=1)
        return np.repeat(together, self.w.grid.tp) * seconds * 1e9

    def iteration(self, number: int) -> float:
        """One step of training; when the last rank ended it."""
        self.number = number
        self.common = 1 + self.w.common_jitter * abs(self.random.standard_normal())
        self.free += self.w.pauses.get(number, 0.0) * 1e9
        if number in self.w.evaluations:
            self._passes(2 * self.w.batches, backward=False)
        if self.w.reduction == "gather_first":
            self._each_group(lambda g, c: self._ring(g, self.free[g], 1.0, len(g) - 1, SECOND + c))
        self.ready = {}
        if self.w.reduction == "fsdp":
            self._sharded_passes()
        else:
            self._passes(self.w.batches)
            self._reduce()
        self._embedding()
        self.free += self.w.optimizer_s * 1e9
        if self.w.reduction == "zero":
            self._each_group(lambda g, c: self._ring(g, self.free[g], 0.5, len(g) - 1, SECOND + c))
        return float(self.free.max())

    def _passes(self, batches: int, backward: bool = True) -> None:
        """Every stage works through its schedule; a step waits for its input and for the stage's former step."""
        grid, w = self.w.grid, self.w
        length = 1 + w.sequence_spread * self.random.uniform(-1, 1, batches)
        cells = grid.cells()
        plan = [one_forward_one_backward(s, grid.pp, batches, w.chunks) for s, _ in cells]
        plan = plan if backward else [[x for x in steps if x.forward] for steps in plan]
        inputs: dict[tuple[int, Step], Float] = {}
        at = [0] * len(cells)
        while any(a < len(p) for a, p in zip(at, plan, strict=True)):
            for n, (stage, ranks) in enumerate(cells):
                while at[n] < len(plan[n]) and self._runs(plan[n][at[n]], stage, ranks, inputs, length, batches):
                    at[n] += 1

    def _runs(
        self, step: Step, stage: int, ranks: Int, inputs: dict[tuple[int, Step], Float], length: Float, batches: int
    ) -> bool:
        """Run one step if its input has arrived."""
        grid, w = self.w.grid, self.w
        before, after = self._neighbours(step, stage)
        key = (int(ranks[0]), step)
        if before is not None and key not in inputs:
            return False
        start = np.maximum(self.free[ranks], inputs.get(key, np.zeros(len(ranks))))
        last = not step.forward and step.batch == batches - 1
        seconds = (w.forward_s if step.forward else w.backward_s) * length[step.batch] / w.chunks
        self.free[ranks] = self._layers(ranks, start, seconds)
        if last and step.chunk == 0:
            self.ready[key[0]] = np.stack([start, self.free[ranks]])
        if after is not None:
            other_stage, other = after
            there = ranks + (other_stage - stage) * (grid.world // grid.pp)
            connection = PP_FORWARD if step.forward else PP_BACKWARD
            arrival = self.wire.send(
                ranks, there, w.activation_bytes * length[step.batch], self.free[ranks], connection
            )
            inputs[int(there[0]), other] = arrival
        return True

    def _neighbours(self, step: Step, stage: int) -> tuple[Step | None, tuple[int, Step] | None]:
        """The step whose output this one needs, and (stage, step) that needs this one's."""
        stages, chunks = self.w.grid.pp, self.w.chunks
        position = step.chunk * stages + stage
        forward = 1 if step.forward else -1
        came, goes = position - forward, position + forward
        before = step._replace(chunk=came // stages) if 0 <= came < stages * chunks else None
        after = (goes % stages, step._replace(chunk=goes // stages)) if 0 <= goes < stages * chunks else None
        return before, after

    def _layers(self, ranks: Int, start: Float, seconds: float) -> Float:
        """Compute a step layer by layer, with tokens exchanged and keys passed round in each; (ranks,) ends."""
        grid, w = self.w.grid, self.w
        layers = w.layers if grid.ep > 1 or grid.cp > 1 else 1
        now = np.repeat(start.reshape(-1, grid.tp).max(axis=1), grid.tp)
        for _ in range(layers):
            begun = now
            now = now + self._compute_ns(ranks, seconds / layers)
            if grid.cp > 1:
                now = np.maximum(now, self._among(grid.cp_groups(), ranks, begun, self._pass_keys))
            if grid.ep > 1:
                now = self._among(grid.ep_groups(), ranks, now, self._exchange)
                now = self._among(grid.ep_groups(), ranks, now, self._exchange)
        return now

    def _among(self, groups: Int, ranks: Int, ready_ns: Float, operation: Callable[[Int, Float], Float]) -> Float:
        time = dict(zip(ranks.tolist(), ready_ns.tolist(), strict=True))
        for group in groups:
            if int(group[0]) in time:
                done = operation(group, np.array([time[int(r)] for r in group]))
                time.update(zip(group.tolist(), done.tolist(), strict=True))
        return np.array([time[int(r)] for r in ranks])

    def _exchange(self, group: Int, ready_ns: Float) -> Float:
        return self.wire.mesh(group, ready_ns, self.w.token_bytes, TOKENS)

    def _pass_keys(self, group: Int, ready_ns: Float) -> Float:
        return self.wire.ring(group, ready_ns, self.w.key_bytes * len(group), len(group) - 1, KEYS)

    def _reduce(self) -> None:
        """Reduce gradients bucket by bucket, experts' gradients among those who hold the same ones."""
        start, end = np.zeros(self.w.grid.world), np.zeros(self.w.grid.world)
        for _, ranks in self.w.grid.cells():
            start[ranks], end[ranks] = self.ready[int(ranks[0])]
        done, shares = 0.0, self.w.buckets
        self.free = end.copy()
        for share in shares:
            done += share
            ready = start + (end - start) * done / sum(shares) if self.w.overlap else end
            self.free = np.maximum(self.free, self._reduced(np.maximum(ready, 0), share / sum(shares)))
        if self.w.grid.ep > 1:
            for group in self.w.grid.expert_gradient_groups():
                n = len(group)
                self.free[group] = self.wire.ring(group, self.free[group], self.w.expert_bytes, 2 * (n - 1), EXPERT)

    def _reduced(self, ready: Float, share: float) -> Float:
        steps = 1 if self.w.reduction in {"zero", "gather_first"} else 2
        done = np.zeros(len(ready))
        for group in self.w.grid.gradient_groups():
            for channel in range(self.w.channels):
                order = self._order(group, channel)
                place = np.argsort(group, kind="stable")[np.searchsorted(np.sort(group), order)]
                if self.w.reduction == "trees":
                    end = self.wire.tree(order, ready[order], self.w.gradient_bytes * share / 2, 16, GRADIENT + channel)
                else:
                    end = self._ring(order, ready[order], share, steps * (len(group) - 1), GRADIENT + channel)
                done[group[place]] = np.maximum(done[group[place]], end)
        return done

    def _order(self, group: Int, channel: int) -> Int:
        """Members as a channel visits them: turned round, or rotated inside each host."""
        if self.w.reduction == "two_rings" and channel % 2:
            return group[::-1]
        if self.w.reduction == "trees":
            return np.roll(group, channel)
        host = self.wire.host[group]
        inside = int(np.max(np.bincount(host)))
        if inside == 1:
            return group
        return np.concatenate([np.roll(group[host == h], -channel) for h in dict.fromkeys(host.tolist())])

    def _ring(self, order: Int, ready: Float, share: float, steps: int, connection: int) -> Float:
        return self.wire.ring(order, ready, self.w.gradient_bytes * share / self.w.channels, steps, connection)

    def _each_group(self, operation: Callable[[Int, int], Float]) -> None:
        for group in self.w.grid.gradient_groups():
            for channel in range(self.w.channels):
                order = self._order(group, channel)
                self.free[order] = operation(order, channel)

    def _sharded_passes(self) -> None:
        """FSDP: gather each layer before its pass, scatter its gradients behind it, on one communication queue."""
        for group in self.w.grid.gradient_groups():
            queue = self.free[group].copy()
            compute = queue.copy()
            queue, compute = self._forward_sharded(group, queue, compute)
            queue, compute = self._backward_sharded(group, queue, compute)
            self.free[group] = np.maximum(queue, compute)

    def _rings(self, group: Int, ready: Float) -> Float:
        ends = ready
        for channel in range(self.w.channels):
            order = self._order(group, channel)
            place = np.searchsorted(group, order)
            done = np.zeros(len(group))
            done[place] = self._ring(order, ready[place], 1 / self.w.layers, len(group) - 1, GRADIENT + channel)
            ends = np.maximum(ends, done)
        return ends

    def _forward_sharded(self, group: Int, queue: Float, compute: Float) -> tuple[Float, Float]:
        for _ in range(self.w.layers):
            queue = self._rings(group, queue)
            begun = np.maximum(queue, compute)
            compute = begun + self._compute_ns(group, self.w.forward_s / self.w.layers)
            queue = begun
        return np.maximum(queue, compute), compute

    def _backward_sharded(self, group: Int, queue: Float, compute: Float) -> tuple[Float, Float]:
        for layer in range(self.w.layers):
            if layer == 0:
                queue = self._rings(group, queue)
            begun = np.maximum(queue, compute)
            compute = begun + self._compute_ns(group, self.w.backward_s / self.w.layers)
            if layer + 1 < self.w.layers:
                queue = self._rings(group, begun)
            queue = self._rings(group, np.maximum(queue, compute))
        return queue, compute

    def _embedding(self) -> None:
        """First and last stage share the embedding: they reduce its gradient between them."""
        if not self.w.embedding_bytes:
            return
        for group in self.w.grid.pp_groups():
            ends = group[[0, -1]]
            self.free[ends] = self.wire.ring(ends, self.free[ends], self.w.embedding_bytes, 2, EMBEDDING)
