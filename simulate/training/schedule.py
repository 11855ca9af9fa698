"""The order in which a pipeline stage works: 1F1B with its blocking exchanges, and interleaved 1F1B.

Sources: Narayanan et al., SC 2021 (arXiv 2104.04473), figures 3 and 4; Megatron-Core,
core/pipeline_parallel/schedules.py.
"""

from __future__ import annotations

from typing import NamedTuple


class ScheduleStep(NamedTuple):
    """One micro-batch through one chunk of a stage."""

    forward: bool
    chunk: int
    batch: int


class Message(NamedTuple):
    """An activation (forward) or its gradient between a stage and its neighbour: what a stage sends, or receives."""

    forward: bool
    batch: int
    sent: bool


Exchange = tuple[Message, ...]


def schedule_blocking(stage: int, stages: int, batches: int) -> list[ScheduleStep | Exchange]:
    """1F1B of one stage: steps, and between them exchanges, whose messages are posted together and all waited for."""
    warm = min(stages - stage - 1, batches)
    first, last = stage == 0, stage == stages - 1

    def posted(*messages: Message) -> Exchange:
        # Activations come from below and go up, gradients the other way; the outer stages have no neighbor there.
        return tuple(m for m in messages if not (last if m.forward == m.sent else first))

    order: list[ScheduleStep | Exchange] = []
    for i in range(warm):
        order += [posted(Message(True, i, False)), ScheduleStep(True, 0, i), posted(Message(True, i, True))]
    steady = batches - warm
    if steady:
        order.append(posted(Message(True, warm, False)))
    for k in range(steady):
        order += [ScheduleStep(True, 0, warm + k), posted(Message(True, warm + k, True), Message(False, k, False))]
        order.append(ScheduleStep(False, 0, k))
        following = () if k == steady - 1 else (Message(True, warm + k + 1, False),)
        order.append(posted(Message(False, k, True), *following))
    for i in range(steady, batches):
        order += [posted(Message(False, i, False)), ScheduleStep(False, 0, i), posted(Message(False, i, True))]
    return [item for item in order if item]


def forward_only(stage: int, stages: int, batches: int) -> list[ScheduleStep | Exchange]:
    """An evaluation of one stage: each micro-batch is received, computed and sent on."""
    order: list[ScheduleStep | Exchange] = []
    for i in range(batches):
        order += [(Message(True, i, False),)] * (stage > 0) + [ScheduleStep(True, 0, i)]
        order += [(Message(True, i, True),)] * (stage < stages - 1)
    return order


def schedule_interleaved(stage: int, stages: int, batches: int, chunks: int) -> list[ScheduleStep]:
    """Interleaved 1F1B of one stage that holds several chunks of layers; messages overlap with steps."""
    total = batches * chunks
    warm = min((stages - stage - 1) * 2 + (chunks - 1) * stages, total)
    forward = [_step(k, True, stages, chunks) for k in range(total)]
    backward = [_step(k, False, stages, chunks) for k in range(total)]
    steps = forward[:warm]
    for k in range(total - warm):
        steps += [forward[warm + k], backward[k]]
    return steps + backward[total - warm :]


def _step(k: int, forward: bool, stages: int, chunks: int) -> ScheduleStep:
    """The k-th forward or backward step: micro-batches in groups of as many as there are stages, chunk by chunk."""
    chunk = (k // stages) % chunks
    return ScheduleStep(forward, chunk if forward else chunks - 1 - chunk, k // (stages * chunks) * stages + k % stages)
