"""Makes what lies beside it: small training jobs as PyTorch's profiler records them, one rank of each slowed.

usage: python tests/data/profiles/make_recordings.py [NAME ...]

Ranks are processes on this machine's CPU and exchange gradients with gloo. Needs torch and zstandard. A folder is named
after the way, the number of ranks and the rank at fault. Times differ from run to run; a machine that is busy otherwise
may make another rank slow: read a new recording before it is kept.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]
import zstandard
from torch import distributed, nn
from torch.multiprocessing import spawn  # type: ignore[import-not-found]
from torch.profiler import ProfilerActivity, profile, schedule  # type: ignore[import-not-found]

FOLDER = Path(__file__).parent
RECORDINGS = (
    "clean-4-none", "clean-6-none", "loader-4-2", "loader-6-5", "python-4-1", "pause-4-3", "gemm-4-2", "memory-4-1",
)  # fmt: skip
WIDTH, BATCH, WARM, STEPS = 192, 4, 3, 5
EXTRA_S, ADDED = 0.03, 900_000
LARGE, SMALL = (1000, 40_000_000), (90, 8_000)  # a matrix's rows, and how many numbers are copied
IN_FUNCTIONS = ("loader", "python", "pause")  # what Python functions show; stacks make a trace five times as large
LEVEL = 19


class Corpus:
    """Samples that are read one by one."""

    def __init__(self, slow: bool) -> None:
        self.slow = slow

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> Any:  # noqa: ANN401 - torch is not typed here
        if self.slow and index % BATCH == 0:
            time.sleep(EXTRA_S)
        return torch.full((WIDTH,), float(index % 7))


def augment(batch: Any, slow: bool) -> Any:  # noqa: ANN401 - as above
    """What a step does with its batch before the model sees it."""
    total = 0
    for number in range(ADDED if slow else 10):
        total += number % 3
    return batch + 0.1


def step_of(way: str) -> Callable[[], None]:
    """A training step that is slowed in a way; "" in none."""
    model = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = iter(torch.utils.data.DataLoader(Corpus(way == "loader"), batch_size=BATCH))
    square = torch.ones(*(LARGE[0] if way == "gemm" else SMALL[0],) * 2)
    numbers = torch.ones(LARGE[1] if way == "memory" else SMALL[1])

    def step() -> None:
        batch = augment(next(batches), way == "python")
        torch.mm(square, square)
        numbers.clone()
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if way == "pause":
            time.sleep(EXTRA_S)
        for parameter in model.parameters():
            distributed.all_reduce(parameter.grad)
        optimizer.step()

    return step


def run_rank(rank: int, way: str, ranks: int, culprit: str, folder: str) -> None:
    """One process: a few steps, of which the profiler records the last ones."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    step = step_of(way if str(rank) == culprit else "")
    for _ in range(WARM):
        step()
    plan = schedule(wait=0, warmup=1, active=STEPS)
    with profile(
        activities=[ProfilerActivity.CPU], schedule=plan, with_stack=way in IN_FUNCTIONS,
        on_trace_ready=lambda made: made.export_chrome_trace(f"{folder}/rank{rank}.json"),
    ) as recording:  # fmt: skip
        for _ in range(STEPS + 1):
            step()
            recording.step()
    distributed.barrier()
    distributed.destroy_process_group()


def kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the traces of a folder, without its path."""
    for path in sorted(folder.glob("rank*.json")):
        document = json.loads(path.read_text()) | {"traceName": path.name}
        yield path.name, json.dumps(document, separators=(",", ":")).encode()


def main(names: list[str], beside: Path = FOLDER) -> None:
    """Record some of them, or all."""
    for name in names or RECORDINGS:
        way, ranks, culprit = name.split("-")
        target = beside / name
        target.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            spawn(run_rank, args=(way, int(ranks), culprit, folder), nprocs=int(ranks))
            for file, content in kept(Path(folder)):
                (target / f"{file}.zst").write_bytes(zstandard.ZstdCompressor(level=LEVEL).compress(content))


if __name__ == "__main__":
    main(sys.argv[1:])
