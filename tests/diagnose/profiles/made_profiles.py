"""Made profiles: a small training job, kernel by kernel, with one thing wrong, as Kineto records its ranks.

Nothing here is shared with what is tested. A rank's host launches kernels ahead of its GPU; a collective begins when a
rank comes to it and ends for all members together.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS, Timelines

CAUSES = (
    "clocks", "gemm", "attention", "elementwise", "loader", "python", "host", "host to GPU", "GPU to host", "network",
)  # fmt: skip
CASES_A_CAUSE = 12
CLEAN = 40
ITERATIONS = 5
LAYERS = 2
# (tensor, data, pipeline) sizes; transfers of a network fault need groups to compare with.
LAYOUTS = ((2, 4, 1), (1, 4, 2), (4, 3, 1), (1, 8, 1))
LAYOUTS_OF = {
    "network": ((4, 3, 1), (4, 4, 1)),
    # A host that has time to run ahead while its stage waits for another one costs nothing.
    "host": ((2, 4, 1), (4, 3, 1), (1, 8, 1)),
}
LOADER = ("torch/utils/data/dataloader.py(701): __next__", "corpus.py(31): __getitem__")
FUNCTION = "metrics.py(5): collect_metrics"
# Name, family, us, times a layer.
KERNELS = (
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128", "gemm", 150.0, 4, "aten::linear"),
    ("void flash_fwd_kernel<Flash_fwd_traits>(Flash_fwd_params)", "attention", 220.0, 1, "aten::_flash_attention"),
    ("void at::native::vectorized_elementwise_kernel<4>(int)", "elementwise", 35.0, 4, "aten::gelu"),
    ("void cuApplyLayerNorm<c10::BFloat16>(float*)", "normalization", 25.0, 2, "aten::layer_norm"),
)  # fmt: skip
HEAD = (
    ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "gemm", 400.0, 1, "aten::mm"),
    ("void cunn_SoftMaxForward<8, c10::BFloat16, float>(float*)", "normalization", 200.0, 1, "aten::log_softmax"),
)
ADAM = ("void at::native::multi_tensor_apply<FusedAdam>(int)", "optimizer", 90.0, 6, "aten::_fused_adamw_")  # fmt: skip
HTOD, DTOH = "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)"


@dataclass(frozen=True)
class Case:
    """What is wrong with which rank; of a network, with which group."""

    number: int
    cause: str
    layout: tuple[int, int, int]
    culprit: int
    cost: float
    series: int = 28

    @property
    def world(self) -> int:
        """Number of ranks."""
        return int(np.prod(self.layout))


def case_of(number: int, series: int = 28) -> Case:
    """Case `number` of a series: first `CASES_A_CAUSE` of each cause, then clean ones."""
    random = np.random.default_rng([series, number])
    faulty = number < len(CAUSES) * CASES_A_CAUSE
    cause = CAUSES[number % len(CAUSES)] if faulty else "none"
    layouts = LAYOUTS_OF.get(cause, LAYOUTS)
    layout = layouts[int(random.integers(len(layouts)))]
    return Case(number, cause, layout, int(random.integers(np.prod(layout))), float(random.uniform(0.08, 0.4)), series)


def group_members(case: Case, kind: str, rank: int) -> tuple[int, ...]:
    """Ranks of a rank's tensor, data or pipeline group; tensor ranks are neighbours, stages are farthest."""
    tp, dp, _ = case.layout
    place = {"tp": rank % tp, "dp": rank // tp % dp, "pp": rank // (tp * dp)}
    return tuple(
        other
        for other in range(case.world)
        if all(
            value == {"tp": other % tp, "dp": other // tp % dp, "pp": other // (tp * dp)}[name]
            for name, value in place.items()
            if name != kind
        )
    )


@dataclass
class Rank:
    """One rank while it runs: its clocks and the events that it leaves, in us."""

    number: int
    host_us: float = 0.0
    gpu_us: float = 0.0
    recording: bool = True
    events: list[dict[str, object]] = field(default_factory=list)

    def add(self, cat: str, name: str, start: float, lasting: float, tid: int, **args: object) -> None:
        """Leave one event."""
        if not self.recording:
            return
        pid = self.number % 4 if cat in {"kernel", "gpu_memcpy"} else 4000 + self.number
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": lasting, "args": args}
        )


class MadeJob:
    """The job of one case."""

    def __init__(self, case: Case, *, late_posting: bool = False) -> None:
        """Draw the ranks' own speeds; sizes follow from what an iteration takes without the fault."""
        self.case = case
        self.random = np.random.default_rng([case.series, case.number, 1])
        self.ranks = [Rank(n) for n in range(case.world)]
        self.speed = self.random.normal(1.0, 0.003, case.world)
        self.old_names = bool(self.random.integers(2))
        self.iteration = 0
        self.late_posting = late_posting  # whether receivers post their buffers only when their GPU is there
        self.sent: list[tuple[int, int, tuple[int, ...], float, float]] = []
        amounts: dict[str, float] = {}
        for op in self.program(0):
            if op[0] in {"kernel", "copy"}:
                amounts[op[2]] = amounts.get(op[2], 0.0) + op[3]
        self.iteration_us = 1.3 * sum(amounts.values()) * case.layout[2]  # stages run one after the other
        self.amounts = amounts

    def factor(self, rank: int, family: str) -> float:
        """By which a kernel or copy takes longer."""
        case = self.case
        if rank != case.culprit:
            return 1.0
        more = case.cost * self.iteration_us
        if case.cause == "clocks" and family in {"gemm", "attention", "elementwise", "normalization", "optimizer"}:
            copies = sum(self.amounts.get(way, 0.0) for way in ("host to GPU", "GPU to host"))
            return 1 + more / (sum(self.amounts.values()) - copies)
        return 1 + more / self.amounts[family] if family == case.cause else 1.0

    def program(self, rank: int) -> Iterator[tuple[str, str, str, float]]:
        """What a rank does in an iteration: sort, name, family or group, us or elements."""
        tp, dp, pp = self.case.layout
        stage = rank // (tp * dp)
        yield "load", LOADER[1], "", 400.0
        yield "copy", HTOD, "host to GPU", 300.0
        if stage > 0:
            yield "collective", "recv", "pp", 1e5
        for _ in range(LAYERS):
            yield from self._layer(1.0, tp)
        if pp > 1 and stage == 0:
            yield "collective", "send", "pp", 1e5
            yield "collective", "recv", "pp", 1e5
        if stage == pp - 1:
            for name, family, us, _, op in HEAD:
                yield "kernel", f"{name}|{op}", family, us
        for _ in range(LAYERS):
            yield from self._layer(2.0, tp)
        if stage > 0:
            yield "collective", "send", "pp", 1e5
        if dp > 1:
            for bucket in range(3):
                yield "collective", "allreduce", "dp", 4e6 + bucket * 1e5 + stage
        yield "copy", DTOH, "GPU to host", 300.0
        name, family, us, times, op = ADAM
        for _ in range(times):
            yield "kernel", f"{name}|{op}", family, us
        yield "function", FUNCTION, "", 300.0

    @staticmethod
    def _layer(work: float, tp: int) -> Iterator[tuple[str, str, str, float]]:
        for name, family, us, times, op in KERNELS:
            for _ in range(times):
                yield "kernel", f"{name}|{op}", family, us * work
        if tp > 1:
            yield "collective", "allreduce", "tp", 1e6

    def run(self, before: int = 0, after: int = 0) -> None:
        """Run all iterations of all ranks, those that are recorded and some around them."""
        for number in range(before + ITERATIONS + after):
            self.iteration = number
            for rank in self.ranks:
                rank.recording = before <= number < before + ITERATIONS
            begins = [rank.host_us for rank in self.ranks]
            programs = [self.program(rank.number) for rank in self.ranks]
            waiting: dict[tuple[object, ...], list[tuple[Rank, str, float]]] = {}
            count: dict[tuple[object, ...], int] = {}
            ready = list(self.ranks)
            while ready:
                rank = ready.pop()
                for op in programs[rank.number]:
                    if op[0] != "collective":
                        self.alone(rank, *op)
                        continue
                    members = group_members(self.case, op[2], rank.number)
                    turn = count[op[2], rank.number] = count.get((op[2], rank.number), -1) + 1
                    some = waiting.setdefault((op[2], members, turn), [])
                    some.append((rank, op[1], op[3]))
                    if len(some) == len(members):
                        self.together(op[2], members, some)
                        ready += [one for one, _, _ in some]
                    break
            for rank, begin in zip(self.ranks, begins, strict=True):
                rank.add("cuda_runtime", "cudaStreamSynchronize", rank.host_us, max(rank.gpu_us - rank.host_us, 1.0), 1)
                rank.host_us = max(rank.gpu_us, rank.host_us + 1.0)
                rank.add("python_function", "train.py(40): train_step", begin + 1, rank.host_us - begin - 2, 1)
                rank.add("user_annotation", f"ProfilerStep#{number + 7}", begin, rank.host_us - begin, 1)
                rank.gpu_us = rank.host_us

    def noise(self) -> float:
        """Of one kernel."""
        return float(np.exp(self.random.normal(0, 0.03)))

    def alone(self, rank: Rank, sort: str, name: str, family: str, us: float) -> None:
        """A kernel, a copy, the loader or a function."""
        case, mine = self.case, rank.number == self.case.culprit
        if sort in {"load", "function"}:
            more = (
                case.cost * self.iteration_us
                if mine and case.cause == {"load": "loader", "function": "python"}[sort]
                else 0
            )
            lasting = us * self.noise() + more
            if sort == "load":
                rank.add("python_function", LOADER[0], rank.host_us + 1, lasting, 1)
                rank.add("python_function", name, rank.host_us + 10, lasting - 20, 1)
            else:
                rank.host_us = max(rank.host_us, rank.gpu_us)  # reads the loss
                rank.add("python_function", name, rank.host_us, lasting, 1)
            rank.host_us += lasting + 2
            return
        launch = us * 0.3 * self.noise()
        if mine and case.cause == "host":
            launch = us * (1 + 1.5 * case.cost) + 40
        kernel, _, operator = name.partition("|")
        rank.add("cpu_op", operator or "aten::copy_", rank.host_us, launch, 1)
        rank.add("cuda_runtime", "cudaLaunchKernel", rank.host_us + launch * 0.5, launch * 0.4, 1)
        rank.host_us += launch + 0.5
        start = max(rank.gpu_us + 1, rank.host_us)
        lasting = us * self.noise() * self.speed[rank.number] * self.factor(rank.number, family)
        rank.add("gpu_memcpy" if sort == "copy" else "kernel", kernel, start, lasting, 7, stream=7)
        rank.gpu_us = start + lasting

    def together(self, kind: str, members: tuple[int, ...], some: list[tuple[Rank, str, float]]) -> None:
        """A collective, or a message."""
        transfer = some[0][2] / 4e6 * 300.0 * self.noise()
        if self.case.cause == "network" and kind == "dp" and self.case.culprit in members:
            transfer *= 1 + self.case.cost * self.iteration_us / (3 * 300.0)
        starts = [max(rank.gpu_us + 1, rank.host_us) for rank, _, _ in some]
        end = max(starts) + transfer
        if (
            kind == "dp"
        ):  # a receiver posts its buffers when its host launches the kernel; without a proxy, when it runs
            posted = starts if self.late_posting else [rank.host_us for rank, _, _ in some]
            for (rank, _, _), start, after in zip(some, starts, [*posted[1:], posted[0]], strict=True):
                self.sent.append((rank.number, self.iteration, members, max(start, after) + 6.0, end - 4.0))
        for (rank, operation, elements), start in zip(some, starts, strict=True):
            name = (
                "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"
                if self.old_names
                else "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
            )
            if operation in {"send", "recv"}:
                name = (
                    "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)"
                    if self.old_names
                    else "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
                )
            args: dict[str, object] = {
                "Collective name": operation, "In msg nelems": int(elements), "Out msg nelems": int(elements),
                "Group size": len(members), "dtype": "BFloat16", "Process Group Name": f"{kind}{min(members)}",
                "Process Group Ranks": str(list(members)),
            }  # fmt: skip
            rank.add("cpu_op", "record_param_comms", rank.host_us, 12.0, 1, **args)
            rank.host_us += 15.0
            rank.add("kernel", name, start, end - start, 13, stream=13, **args)
            rank.gpu_us = end


def clock_bases_ns(case: Case) -> list[int]:
    """When each rank's recording begins by its own host's clock; all begin together."""
    random = np.random.default_rng([case.series, case.number, 3])
    return [1_700_000_000_000_000_000 + int(random.normal(0, 2e8)) for _ in range(case.world)]


def address_of(rank: int) -> str:
    """Of the NIC of a rank's own; four of a host."""
    return f"10.0.{rank // 4}.{rank % 4 + 1}"


def made_timelines(job: MadeJob, error_us: float) -> Timelines:
    """What the network shows of a job: its data-parallel collectives, each time with an error."""
    random = np.random.default_rng([job.case.series, job.case.number, 4])
    names = {one[2]: f"dp {','.join(map(address_of, one[2]))}" for one in job.sent}
    groups = tuple(sorted(names.values()))
    begin_us, end_us = np.array([one[3:] for one in job.sent]).T + random.normal(0, error_us, (2, len(job.sent)))
    base_ns = 1_700_000_000_000_000_000
    columns = {
        "job": np.zeros(len(job.sent)),
        "endpoint": [one[0] for one in job.sent],
        "iteration": [one[1] for one in job.sent],
        "span": np.full(len(job.sent), SPAN_NAMES.index("dp_comm")),
        "start_ns": base_ns + (begin_us * 1e3).astype(np.int64),
        "end_ns": base_ns + (end_us * 1e3).astype(np.int64),
        "group": [groups.index(names[one[2]]) for one in job.sent],
    }
    addresses = tuple(map(address_of, range(job.case.world)))
    return Timelines(Frame(SPANS, columns), addresses, ("job",), groups)


def write_case(case: Case, folder: Path, *, ranks: bool = True) -> None:
    """Run a case and write a recording of each rank, in one of the forms that Kineto had over the years."""
    job = MadeJob(case)
    job.run()
    write_recordings(job, folder, ranks=ranks)


def write_recordings(job: MadeJob, folder: Path, *, ranks: bool = True) -> None:
    """Write a recording of each rank of a job that has run."""
    case = job.case
    random = np.random.default_rng([case.series, case.number, 2])
    form = int(random.integers(3))
    for rank, base_ns in zip(job.ranks, clock_bases_ns(case), strict=True):
        lines = [
            json.dumps({"ph": "M", "name": "process_name", "pid": 0, "ts": 0, "args": {"name": "python"}}),
            json.dumps(
                {
                    "ph": "i",
                    "name": "Iteration Start: PyTorch Profiler",
                    "pid": "Traces",
                    "tid": "Trace",
                    "ts": 1,
                    "s": "g",
                }
            ),
            *(json.dumps(_timed(event, form, base_ns)) for event in rank.events),
            json.dumps({"ph": "s", "id": 1, "pid": 0, "tid": 7, "ts": 5, "cat": "ac2g", "name": "ac2g"}),
        ]
        head: dict[str, object] = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "H100"}]}
        if ranks:
            head["distributedInfo"] = {"backend": "nccl", "rank": rank.number, "world_size": case.world}
        tail = {"traceName": "x.json", "displayTimeUnit": "ms"} | ({"baseTimeNanoseconds": base_ns} if form else {})
        text = json.dumps(head)[:-1] + ',\n"traceEvents": [\n' + ",\n".join(lines) + "\n],\n" + json.dumps(tail)[1:]
        name = f"node{rank.number // 4}_{4000 + rank.number}.1700000000.pt.trace.json"
        if rank.number % 2:
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode(), 1))
        else:
            (folder / name).write_text(text)


def _timed(event: dict[str, object], form: int, base_ns: int) -> dict[str, object]:
    """Times as whole us since 1970, as us with decimals since a base, or the same as text."""
    start, lasting = float(str(event["ts"])), float(str(event["dur"]))
    if form == 0:
        begin = base_ns // 1000 + int(start)
        return event | {"ts": begin, "dur": base_ns // 1000 + int(start + lasting) - begin}
    if form == 1:
        return event | {"ts": round(start, 3), "dur": round(lasting, 3)}
    return event | {"ts": f"{start:.3f}", "dur": f"{lasting:.3f}"}
