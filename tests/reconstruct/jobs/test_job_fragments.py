"""Streams that share endpoints are cut at one iteration, whatever part of one the window ends in."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Streams
from datamodel.telemetry.flows import FLOWS, UDP, Flows
from reconstruct.jobs.job_fragments import align_to_iteration
from reconstruct.periods.byte_period import StreamPeriods
from reconstruct.periods.cycles import cut_cycles
from reconstruct.streams.stream_builder import build_streams

MS, MESSAGE_BYTES = 1_000_000, 30_000_000
# Pauses between the micro-batches of an iteration, the last one before the next iteration's first.
PAUSES_MS = np.array([109, 109, 772, *[339] * 9, 1518])


def pipeline(iterations: int, further: int) -> Streams:
    """Three streams of messages of micro-batches and two of gradients, in whole iterations and a part of one."""
    iteration_ms = PAUSES_MS.sum()
    offsets_ms = np.concatenate([[0], np.cumsum(PAUSES_MS)[:-1]])
    batches_ms = (np.arange(iterations + 1)[:, None] * iteration_ms + offsets_ms).ravel()
    batches_ms = batches_ms[: iterations * len(PAUSES_MS) + further]
    gradients_ms = (np.arange(iterations)[:, None] * iteration_ms + 5200 + 20 * np.arange(8)).ravel()
    pairs = [(0, 1, batches_ms), (2, 3, batches_ms), (1, 0, batches_ms), (0, 2, gradients_ms), (3, 1, gradients_ms)]
    start_ns = np.concatenate([times * MS for _, _, times in pairs])
    count = [len(times) for *_, times in pairs]
    columns = {
        "time_flow_start_ns": start_ns,
        "time_flow_end_ns": start_ns + 2 * MS,
        "src_addr": np.repeat([src for src, *_ in pairs], count),
        "dst_addr": np.repeat([dst for _, dst, _ in pairs], count),
        "dst_qp": np.repeat(np.arange(len(pairs)), count),
        "proto": np.full(len(start_ns), UDP),
        "bytes": np.full(len(start_ns), MESSAGE_BYTES),
        "packets": np.full(len(start_ns), 7500),
    }
    return build_streams(Flows(Frame(FLOWS, columns), tuple(f"10.0.{n}.1" for n in range(4))))


@pytest.mark.parametrize("further", [6, 10])
def test_bursts_once_an_iteration_do_not_stretch_it_over_the_end_of_the_window(further: int) -> None:
    """Ten bursts in ten iterations and a part of one: messages are counted by the time from burst to burst.

    One stream hears two messages, which do not divide thirteen, so that the beat is not that of all.
    """
    flow = pipeline(10, further)
    heard = {(0, 1): 1, (2, 3): 1, (1, 0): 2, (0, 2): 8, (3, 1): 8}
    ends = list(zip(flow.src.tolist(), flow.dst.tolist(), strict=True))
    beat_bytes = np.array([heard[pair] for pair in ends]) * float(MESSAGE_BYTES)
    beats = StreamPeriods(beat_bytes, np.full(len(ends), float(MESSAGE_BYTES)), np.ones(len(ends)))
    (part,) = align_to_iteration(flow, [cut_cycles(flow, np.arange(len(ends)), beats)], np.arange(len(ends)))
    messages = np.rint(part.quantum_bytes / MESSAGE_BYTES).astype(int).tolist()
    found = dict(zip((ends[n] for n in part.stream.tolist()), messages, strict=True))
    assert (found[0, 1], found[2, 3]) == (13, 13)
