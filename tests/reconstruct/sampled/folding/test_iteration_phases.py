"""Iterations begin behind what was sent for the last time, wherever samples draw their ends."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.transfers import TRANSFERS
from reconstruct.sampled.folding.iteration_phases import begin_at, list_phases

ITERATIONS, PERIOD_NS = 10, 1_000_000_000
# source, destination, bytes, and (begin, end) of what is sent in an iteration
FORWARD = (0, 1, 10_000, [(0.05, 0.06), (0.25, 0.26), (0.45, 0.46)])
BACKWARD = (1, 0, 10_000, [(0.2, 0.21), (0.4, 0.41), (0.6, 0.61)])
GRADIENTS = (0, 2, 9_000_000, [(0.7, 0.8)])
GATHERED = (2, 0, 500_000, [(0.84, 0.9)])
SENT = (FORWARD, BACKWARD, GRADIENTS, GATHERED)


def drawn(late: float) -> tuple[Frame, Int]:
    """Messages and ends of iterations, drawn so much too late: the first messages belong to the iteration before."""
    rows = []
    for stream, (src, dst, size, times) in enumerate(SENT):
        for slot, (begin, end) in enumerate(times):
            for n in range(1, ITERATIONS):
                start_ns, end_ns = (round((n + at) * PERIOD_NS) for at in (begin, end))
                number = n - (begin < late)
                rows.append((src, dst, stream, number, slot, start_ns, end_ns, size))
    names = ("src", "dst", "stream", "iteration", "slot", "start_ns", "end_ns", "bytes")
    table = Frame(TRANSFERS, dict(zip(names, np.array(rows, np.int64).T, strict=True)))
    ends = np.rint((np.arange(ITERATIONS) + 1 + late) * PERIOD_NS).astype(np.int64)
    return table.take((table["iteration"] > 0) & (table["iteration"] < ITERATIONS)), ends


def streams_in_order(sent: Frame, number: int) -> list[int]:
    """What one iteration holds, in order of time."""
    found: list[int] = sent.take(sent["iteration"] == number).sort("start_ns")["stream"].tolist()
    return found


@pytest.mark.parametrize("late", [0.0, 0.1, 0.3])
def test_an_iteration_that_begins_behind_the_last_message_holds_all_in_order(late: float) -> None:
    """Of the phases that connections of like bytes end in, one is behind all: half way to the first message."""
    sent, ends = drawn(late)
    phases = list_phases(sent, ends, 4)
    assert len(phases) == 4 - (late <= 0.0)  # as drawn, behind gradients, behind what is gathered, behind stages
    whole = [
        phase for phase in phases if streams_in_order(begin_at(sent, ends, phase)[0], 5) == [0, 1, 0, 1, 0, 1, 2, 3]
    ]
    assert whole == ([0.0] if late <= 0.0 else [pytest.approx((0.975 - late) % 1.0)])


def test_the_heaviest_come_first() -> None:
    """Behind gradients, before what is gathered; the phase that was drawn is one of them anyway."""
    sent, ends = drawn(0.0)
    assert list_phases(sent, ends, 1) == [0.0, pytest.approx((0.8 + 0.84) / 2)]


def test_a_message_that_lasts_into_the_next_iteration_is_no_pause() -> None:
    """Gradients from 0.95 to 0.15, and others that begin meanwhile: the pause begins when all have ended."""
    rows = [(0, 1, 0, n, 0, n * 1000 + 950, n * 1000 + 1150, 900) for n in range(1, 9)]
    rows += [(2, 3, 1, n, 0, n * 1000 + 50, n * 1000 + 60, 900) for n in range(1, 9)]
    names = ("src", "dst", "stream", "iteration", "slot", "start_ns", "end_ns", "bytes")
    table = Frame(TRANSFERS, dict(zip(names, np.array(rows, np.int64).T, strict=True)))
    ends = (np.arange(10) + 1) * 1000
    assert list_phases(table, ends, 4)[1:] == pytest.approx([(0.15 + 0.95) / 2])


def test_messages_of_no_whole_iteration_are_left_out() -> None:
    """What lies behind the last end."""
    sent, ends = drawn(0.0)
    moved, edges_ns = begin_at(sent, ends, 0.5)
    assert len(edges_ns) == len(ends)
    assert moved["iteration"].max() < len(ends)
    assert (moved["end_ns"] <= edges_ns[moved["iteration"]]).all()
