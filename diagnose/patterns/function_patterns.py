"""Spans and operations of a job -> what each endpoint was like in each of its functions.

Everything is a median over iterations, of which a fixed number are looked at. The result has the same size, and takes
the same time, however many records there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame, empty
from datamodel.reconstructed.patterns import FUNCTION_NAMES, FUNCTIONS
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reconstructed.timeline import SPAN_NAMES
from datamodel.reconstructed.transfers import ROLES
from diagnose.patterns.busiest_span import busiest_spans
from diagnose.patterns.critical_path import critical_path
from diagnose.patterns.lateness import MIN_ITERATIONS
from reconstruct.numeric.medians import group_medians, medians_of_own_group
from reconstruct.numeric.row_runs import run_starts

# The median of so many is known to a sixth of what single ones scatter by.
MOST_ITERATIONS = 64
MOST_PATHS = 8
_COMPUTE, _SEND, _WAIT = (SPAN_NAMES.index(name) for name in ("compute", "pp_send", "wait"))
_FORWARD = len(SPAN_NAMES)  # a code of its own for compute that ends with a message to a later stage
_COUNT = len(FUNCTION_NAMES)
_FUNCTION_OF = {
    "compute": "backward", "pp_send": "pp", "pp_recv": "pp", "dp_comm": "dp", "ep_comm": "ep", "cp_comm": "cp",
    "idle": "outside",
}  # fmt: skip
_NUMBER = {name: number for number, name in enumerate(FUNCTION_NAMES)}
_OF_SPAN = np.array([_NUMBER.get(_FUNCTION_OF.get(name, ""), -1) for name in SPAN_NAMES] + [_NUMBER["forward"]])
_OF_ROLE = np.array([_NUMBER.get(name, -1) for name in ROLES])


def function_patterns(spans: Frame, operations: Frame, iterations: int, stage: Mapping[int, int]) -> Frame:
    """Rows of `FUNCTIONS` by endpoint and function, of the functions that an endpoint has in most iterations.

    Args:
        spans: of one job, `datamodel.reconstructed.timeline.SPANS`.
        operations: of the same, `datamodel.reconstructed.operations.OPERATIONS`.
        iterations: how many complete ones there are; of the first only the end is known, so it does not count.
        stage: address code -> pipeline stage; endpoints of one stage are compared.
    """
    if iterations < MIN_ITERATIONS or not len(spans):
        return empty(FUNCTIONS)
    chosen = _evenly(1, iterations, MOST_ITERATIONS)
    spans = _with_forward(spans.take(np.isin(spans["iteration"], chosen)), stage)
    work = spans.take((spans["span"] != _WAIT) & (spans["end_ns"] > spans["start_ns"]))
    if not len(work):
        return empty(FUNCTIONS)
    endpoints = np.unique(work["endpoint"]).astype(np.int64)
    turns = _turns(work, endpoints)
    cell, counts = np.unique(turns.cell, return_counts=True)
    usual = cell[2 * counts > len(chosen)]
    of = np.searchsorted(usual, turns.cell)
    known = np.flatnonzero(np.isin(turns.cell, usual))
    medians = [group_medians(values[known], of[known], len(usual)) for values in _measured(turns, endpoints, stage)]
    rate, spread = _rates(operations.take(np.isin(operations["iteration"], chosen)), endpoints, usual)
    paths = spans.take(np.isin(spans["iteration"], _evenly(1, iterations, MOST_PATHS)))
    values = (_critical_shares(paths, endpoints, usual), medians[0], rate, spread, *medians[1:])
    names = ("critical_share", "duration_s", "rate_bps", "rate_spread_bps", "duty", "late_s")
    own = endpoints[usual // _COUNT]
    stages = np.array([stage.get(code, 0) for code in own.tolist()], np.int64)
    of_cell = {"endpoint": own, "function": usual % _COUNT, "stage": stages}
    return Frame(FUNCTIONS, of_cell | dict(zip(names, values, strict=True)))


def _evenly(first: int, end: int, most: int) -> Int:
    return np.unique(np.linspace(first, end - 1, min(most, end - first)).round().astype(np.int64))


def _with_forward(spans: Frame, stage: Mapping[int, int]) -> Frame:
    """Spans by endpoint and time, with a code of its own for compute that ends with a message to a later stage."""
    spans = spans.sort("endpoint", "start_ns", "end_ns", "span", "peer")
    size = 1 + max(int(spans["endpoint"].max(initial=0)), int(spans["peer"].max(initial=0)))
    stages = np.array([stage.get(code, 0) for code in range(size)] + [0])  # the last one is of no peer
    kind, endpoint = spans["span"].astype(np.int64), spans["endpoint"]
    later = (kind == _SEND) & (stages[spans["peer"]] > stages[endpoint])
    follows = np.append((endpoint[1:] == endpoint[:-1]) & later[1:], [False] * min(len(spans), 1))
    return spans.replace(span=np.where((kind == _COMPUTE) & follows, _FORWARD, kind))


@dataclass(frozen=True, slots=True)
class _Turns:
    """What one endpoint did of one function in one iteration; all (n,), by cell and iteration.

    Attributes:
        cell: number of the endpoint times the number of functions, plus the function.
        iteration: in which.
        begin_ns, end_ns: its first begin and last end.
        lasting_ns: time that it was on, overlaps counted once.
    """

    cell: Int
    iteration: Int
    begin_ns: Int
    end_ns: Int
    lasting_ns: Int


def _turns(work: Frame, endpoints: Int) -> _Turns:
    cell = np.searchsorted(endpoints, work["endpoint"]) * _COUNT + _OF_SPAN[work["span"]]
    iteration = work["iteration"].astype(np.int64)
    order = np.lexsort((work["start_ns"], iteration, cell))
    cell, iteration = cell[order], iteration[order]
    start_ns, end_ns = work["start_ns"][order], work["end_ns"][order]
    begins = run_starts(cell, iteration)
    first = np.flatnonzero(begins)
    covered = np.maximum.reduceat(end_ns, first)
    lasting = np.add.reduceat(end_ns - np.maximum(start_ns, np.minimum(_covered(begins, end_ns), end_ns)), first)
    return _Turns(cell[first], iteration[first], start_ns[first], covered, lasting)


def _covered(begins: Bool, end_ns: Int) -> Int:
    """(n,) latest end of the rows before in the same run; the least of all ends where there are none.

    Ends are replaced by their ranks, so that one running maximum over all runs stays within each run.
    """
    ranked = np.argsort(end_ns, kind="stable")
    rank = np.empty(len(end_ns), np.int64)
    rank[ranked] = np.arange(len(end_ns))
    run = np.cumsum(begins) - 1
    latest = np.maximum.accumulate(run * len(end_ns) + rank)
    before = np.append(latest[:1], latest[:-1])
    return np.where(begins, np.iinfo(np.int64).min, end_ns[ranked[before % len(end_ns)]])


def _measured(turns: _Turns, endpoints: Int, stage: Mapping[int, int]) -> tuple[Float, Float, Float]:
    """(n,) duration in s, duty, and lateness in s of each turn."""
    duration = turns.lasting_ns / 1e9
    duty = turns.lasting_ns / (turns.end_ns - turns.begin_ns)
    stages = np.array([stage.get(int(code), 0) for code in endpoints])
    alike = stages[turns.cell // _COUNT] * _COUNT + turns.cell % _COUNT
    group = np.unique(alike * (turns.iteration.max() + 1) + turns.iteration, return_inverse=True)[1]
    begin = (turns.begin_ns - turns.begin_ns.min()).astype(np.float64)
    return duration, duty, (begin - medians_of_own_group(begin, group)) / 1e9


def _rates(operations: Frame, endpoints: Int, usual: Int) -> tuple[Float, Float]:
    """(cells,) mean and spread of the sending rate in the busiest span, bit/s; nan where nothing is sent."""
    function = _OF_ROLE[operations["role"]]
    rows = np.flatnonzero((function >= 0) & (operations["bytes"] > 0) & np.isin(operations["endpoint"], endpoints))
    sent, function = operations.take(rows), function[rows]
    cell = np.searchsorted(endpoints, sent["endpoint"]) * _COUNT + function
    most = int(sent["iteration"].max(initial=0)) + 1
    found = busiest_spans(cell * most + sent["iteration"], sent["start_ns"], sent["end_ns"], sent["bytes"])
    own = found.cell // most
    known = np.flatnonzero(np.isin(own, usual))
    of = np.searchsorted(usual, own[known])
    rate, spread = (group_medians(values[known] * 8e9, of, len(usual)) for values in (found.rate, found.spread))
    return rate, spread


def _critical_shares(spans: Frame, endpoints: Int, usual: Int) -> Float:
    """(cells,) share of the time of the critical paths of the iterations of some spans."""
    seconds = np.zeros(len(endpoints) * _COUNT)
    total = 0.0
    for number in np.unique(spans["iteration"]).tolist():
        for step in critical_path(spans.take(spans["iteration"] == number)):
            total += step.seconds
            function = int(_OF_SPAN[step.span]) if step.span >= 0 else -1
            if function >= 0:
                seconds[np.searchsorted(endpoints, step.endpoint) * _COUNT + function] += step.seconds
    return seconds[usual] / total if total else seconds[usual]
