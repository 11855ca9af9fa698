"""Sampled feeds: a sweep over sampling rate, link rate, period and group size, healthy and with one fault."""

from __future__ import annotations

import numpy as np

from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.scenarios.scenario import Scenario
from simulate.scenarios.sweep import Cell, sweep

RATES = (1, 1_000, 4_096, 10_000, 40_000, 400_000)
# Gb/s of the NICs, seconds of an iteration, members of a gradient group, stages.
CELLS = (
    (400.0, 2.0, 8, 1),
    (200.0, 2.0, 64, 1),
    (400.0, 2.0, 16, 2),
    (200.0, 8.0, 8, 2),
    (400.0, 8.0, 64, 1),
    (400.0, 8.0, 256, 1),
    (200.0, 30.0, 16, 1),
    (400.0, 30.0, 64, 2),
    (400.0, 8.0, 512, 1),
)
# Those that samples show too little of, or next to nothing: slow links, short iterations, small groups.
FAINT_RATE = 400_000
FAINT_CELLS = (
    (50.0, 2.0, 8, 1),
    (60.0, 2.0, 4, 2),
    (70.0, 2.0, 4, 1),
    (100.0, 2.0, 2, 1),
    (100.0, 2.0, 3, 1),
    (100.0, 1.0, 8, 2),
)
FAULTS = ("none", "straggler", "slow_nic")
KINDS = len(CELLS) * len(FAULTS)
FAINT_KINDS = len(FAINT_CELLS) * len(FAULTS)
_ITERATIONS, _ONSET, _SAMPLES = 30, 14, 60_000


def sampled(rate: int, number: int, random: np.random.Generator) -> Scenario:
    """The cell of a number, sampled 1 in `rate`; the fault's place and size are drawn."""
    gbps, period_s, group, stages = CELLS[number // len(FAULTS) % len(CELLS)]
    cell = Cell(FeedSpec("sflow", rate), gbps, period_s, group, stages, _ITERATIONS, samples=_SAMPLES)
    return _faulty(cell, FAULTS[number % len(FAULTS)], random)


def faint(number: int, random: np.random.Generator) -> Scenario:
    """Draw the fault's place and size in a cell that samples show too little of."""
    gbps, period_s, group, stages = FAINT_CELLS[number // len(FAULTS) % len(FAINT_CELLS)]
    cell = Cell(FeedSpec("sflow", FAINT_RATE), gbps, period_s, group, stages, _ITERATIONS)
    return _faulty(cell, FAULTS[number % len(FAULTS)], random)


def _faulty(cell: Cell, fault: str, random: np.random.Generator) -> Scenario:
    rank = int(random.integers(cell.group * cell.stages))
    size = float(random.uniform(1.3, 1.8) if fault == "straggler" else random.uniform(3, 8))
    made: dict[str, tuple[Fault, ...]] = {
        "none": (),
        "straggler": (Fault("straggler", first=_ONSET, rank=rank, size=size),),
        "slow_nic": (Fault("slow_nic", first=_ONSET, rank=rank, size=size),),
    }
    return sweep(cell, *made[fault])
