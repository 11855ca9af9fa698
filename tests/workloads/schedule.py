"""The order in which a pipeline stage computes its micro-batches: 1F1B and interleaved 1F1B, as Megatron runs them."""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """One micro-batch through one chunk of a stage, forward or backward."""

    forward: bool
    chunk: int
    batch: int


def one_forward_one_backward(stage: int, stages: int, batches: int, chunks: int) -> list[Step]:
    """Steps of one stage in order; with several chunks of layers a stage the pipeline is interleaved."""
    total = batches * chunks
    warm = stages - stage - 1 if chunks == 1 else (stages - stage - 1) * 2 + (chunks - 1) * stages
    warm = min(warm, total)
    forward = [_step(k, True, stages, chunks) for k in range(total)]
    backward = [_step(k, False, stages, chunks) for k in range(total)]
    steps = forward[:warm]
    for k in range(total - warm):
        steps += [forward[warm + k], backward[k]]
    return steps + backward[total - warm :]


def _step(k: int, forward: bool, stages: int, chunks: int) -> Step:
    if chunks == 1:
        return Step(forward, 0, k)
    chunk = (k // stages) % chunks
    return Step(forward, chunk if forward else chunks - 1 - chunk, k // (stages * chunks) * stages + k % stages)
