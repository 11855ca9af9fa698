"""Each endpoint's share of some iterations: compute, network, waits, and lateness at collectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats

Codes = npt.NDArray[np.int64]

COMPUTE, WAIT = SPAN_NAMES.index("compute"), SPAN_NAMES.index("wait")
NETWORK = tuple(SPAN_NAMES.index(name) for name in ("pp_send", "pp_recv", "dp_comm", "ep_comm", "cp_comm"))
_PIPELINE = tuple(SPAN_NAMES.index(name) for name in ("pp_send", "pp_recv"))
_GATHERING = tuple(SPAN_NAMES.index(name) for name in ("dp_comm", "ep_comm", "cp_comm"))


@dataclass(frozen=True, slots=True)
class Shares:
    """Mean seconds per iteration of each endpoint, shape (endpoints,); nan where nothing is known of it.

    Attributes:
        compute_s, network_s, wait_s: in spans of that sort; parts of the network that overlap count each.
        arrival_s: from the iteration's begin until the endpoint has done all that comes before it first meets its
            gradient, expert or context group; where it meets none, all. Done means computed. Where no span shows
            a wait for a group, compute includes that wait, and done means sent and received along the pipeline.
        late_s: arrival after the median of its pipeline stage, because stages arrive at different times.
    """

    compute_s: Floats
    network_s: Floats
    wait_s: Floats
    arrival_s: Floats
    late_s: Floats


def shares(spans: Frame, codes: Codes, placed: Sequence[Position]) -> Shares:
    """Shares of the endpoints `codes`, which stand at `placed`, over all iterations that have spans."""
    inside = spans.take(spans["iteration"] >= 0)
    seconds = (inside["end_ns"] - inside["start_ns"]) / 1e9
    steps = np.unique(inside["iteration"])
    row = _rows(inside["endpoint"], codes)
    each = [np.where(np.isin(inside["span"], kinds), seconds, 0.0) for kinds in ((COMPUTE,), NETWORK, (WAIT,))]
    compute, network, wait = (_means(row, values, len(codes), len(steps)) for values in each)
    arrival = _arrivals(inside, row, steps, len(codes))
    return Shares(compute, network, wait, arrival, _after_median(arrival, [p.stage for p in placed]))


def _rows(values: npt.NDArray[np.generic], codes: Codes) -> Codes:
    """Place of each value among `codes`, -1 where it is none of them."""
    order = np.argsort(codes, kind="stable")
    at = np.minimum(np.searchsorted(codes[order], values), max(len(codes) - 1, 0))
    return np.where(codes[order][at] == values, order[at], -1) if len(codes) else np.full(len(values), -1, np.int64)


def _means(row: Codes, seconds: Floats, size: int, steps: int) -> Floats:
    """Sum of each row over the number of iterations; nan where it has no entry."""
    known = row >= 0
    total = np.bincount(row[known], weights=seconds[known], minlength=size).astype(np.float64)
    total[np.bincount(row[known], minlength=size) == 0] = np.nan
    return total / max(steps, 1)


def _arrivals(spans: Frame, row: Codes, steps: Codes, size: int) -> Floats:
    """Mean over iterations of the seconds until an endpoint's last work before it first meets its group."""
    step = np.searchsorted(steps, spans["iteration"])
    cell = np.where(row >= 0, row * len(steps) + step, size * len(steps))
    cells = size * len(steps) + 1
    begin = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(begin, step, spans["start_ns"])
    meets = np.full(cells, np.iinfo(np.int64).max)
    gathering = np.isin(spans["span"], _GATHERING)
    np.minimum.at(meets, cell[gathering], spans["start_ns"][gathering])
    tells_waiting = ((spans["span"] == WAIT) & (spans["group"] >= 0)).any()
    works = np.isin(spans["span"], (COMPUTE,) if tells_waiting else _PIPELINE)
    before = works & (spans["end_ns"] <= meets[cell])
    done = np.full(cells, -1, np.int64)
    np.maximum.at(done, cell[before], spans["end_ns"][before])
    table = done[:-1].reshape(size, len(steps))
    known = table >= 0
    after = np.where(known, (table - begin) / 1e9, 0.0).sum(axis=1)
    many = known.sum(axis=1)
    mean: Floats = np.divide(after, many, out=np.full(size, np.nan), where=many > 0)
    return mean


def _after_median(arrival: Floats, stages: Sequence[int | None]) -> Floats:
    late = np.full(len(arrival), np.nan)
    stage = np.array([-1 if s is None else s for s in stages], np.int64)
    for one in np.unique(stage):
        own = (stage == one) & np.isfinite(arrival)
        if own.any():
            late[own] = arrival[own] - np.median(arrival[own])
    return late
