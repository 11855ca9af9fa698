"""Spans and operations of a job -> what each endpoint was like in each of its functions.

Everything is a median over iterations, of which a fixed number are looked at. The result has the same size, and takes
the same time, however many iterations there were.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from datamodel.frame import Frame, empty
from datamodel.reconstructed.patterns import FUNCTION_NAMES, FUNCTIONS
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import ROLES
from diagnose.patterns.busiest_span import busiest_spans
from diagnose.patterns.lateness import MIN_ITERATIONS
from diagnose.patterns.paths_by_iteration import critical_paths
from diagnose.patterns.run_medians import medians_of_peers, run_medians
from diagnose.patterns.turns import FUNCTION_OF_SPAN, Turns, find_turns, in_order, places, to_forward
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.row_runs import run_starts

# The median of so many is known to a sixth of what single ones scatter by.
MOST_ITERATIONS = 64
MOST_PATHS = 8
_COUNT = len(FUNCTION_NAMES)
_NUMBER = {name: number for number, name in enumerate(FUNCTION_NAMES)}
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
    spans = to_forward(in_order(spans), chosen, stage)
    turns = find_turns(spans, chosen)
    if not len(turns.endpoint):
        return empty(FUNCTIONS)
    endpoints = turns.endpoint[run_starts(turns.endpoint)]
    stages = np.array([stage.get(code, 0) for code in endpoints.tolist()], np.int64)
    cell = np.searchsorted(endpoints, turns.endpoint) * _COUNT + turns.function
    first = np.flatnonzero(run_starts(cell))
    is_usual = 2 * np.diff(np.append(first, len(cell))) > len(chosen)
    usual = cell[first[is_usual]]
    medians = [run_medians(values, first)[is_usual] for values in _measured(turns, stages[cell // _COUNT])]
    rate, spread = _rates(operations, endpoints, chosen, usual)
    shares = _critical_shares(spans, _evenly(1, iterations, MOST_PATHS), endpoints, usual)
    values = (shares, medians[0], rate, spread, *medians[1:])
    names = ("critical_share", "duration_s", "rate_bps", "rate_spread_bps", "duty", "late_s")
    own = usual // _COUNT
    of_cell = {"endpoint": endpoints[own], "function": usual % _COUNT, "stage": stages[own]}
    return Frame(FUNCTIONS, of_cell | dict(zip(names, values, strict=True)))


def _evenly(first: int, end: int, most: int) -> Int:
    return np.unique(np.linspace(first, end - 1, min(most, end - first)).round().astype(np.int64))


def _measured(turns: Turns, stage: Int) -> tuple[Float, Float, Float]:
    """(n,) duration in s, duty, and lateness in s of each turn.

    Args:
        turns: (n,) of them.
        stage: (n,) of their endpoints.
    """
    duration = turns.lasting_ns / 1e9
    duty = turns.lasting_ns / (turns.end_ns - turns.begin_ns)
    alike = (stage * _COUNT + turns.function) * (turns.iteration.max() + 1) + turns.iteration
    begin = (turns.begin_ns - turns.begin_ns.min()).astype(np.float64)
    return duration, duty, (begin - medians_of_peers(begin, alike)) / 1e9


def _rates(operations: Frame, endpoints: Int, chosen: Int, usual: Int) -> tuple[Float, Float]:
    """(cells,) mean and spread of the sending rate in the busiest span, bit/s; nan where nothing is sent."""
    endpoint, role, iteration, size = (
        to_contiguous(operations[name]) for name in ("endpoint", "role", "iteration", "bytes")
    )
    number, place = places(endpoint, endpoints), places(iteration, chosen)
    cell = _cells(endpoint, role, iteration, size, number, _OF_ROLE, place, len(chosen))
    rows = np.flatnonzero(cell >= 0)
    found = busiest_spans(cell[rows], *(operations[name][rows] for name in ("start_ns", "end_ns", "bytes")))
    own = found.cell // len(chosen)
    rate, spread = np.full(len(usual), np.nan), np.full(len(usual), np.nan)
    first = np.flatnonzero(run_starts(own))
    is_usual = np.isin(own[first], usual)
    at = np.searchsorted(usual, own[first[is_usual]])
    for result, values in ((rate, found.rate), (spread, found.spread)):
        result[at] = run_medians(values * 8e9, first)[is_usual]
    return rate, spread


@compiled
def _cells(
    endpoint: Int, role: Int, iteration: Int, size: Int, number: Int, of_role: Int, place: Int, count: int
) -> Int:
    """(operations,) number of the endpoint, function and iteration of each; -1 of what does not count.

    From columns of the operations, the `places` of their endpoints and of `count` iterations, and the function of each
    role.
    """
    cell = np.empty(len(endpoint), np.int64)
    for row in range(len(endpoint)):
        who, what, when = number[endpoint[row]], of_role[role[row]], place[iteration[row]]
        counts = who >= 0 and what >= 0 and when >= 0 and size[row] > 0
        cell[row] = (who * _COUNT + what) * count + when if counts else -1
    return cell


def _critical_shares(spans: Frame, iterations: Int, endpoints: Int, usual: Int) -> Float:
    """(cells,) share of the time of the critical paths of some iterations."""
    seconds = np.zeros(len(endpoints) * _COUNT)
    total = 0.0
    for path in critical_paths(spans, iterations):
        for step in path:
            total += step.seconds
            function = int(FUNCTION_OF_SPAN[step.span]) if step.span >= 0 else -1
            if function >= 0:
                seconds[np.searchsorted(endpoints, step.endpoint) * _COUNT + function] += step.seconds
    return seconds[usual] / total if total else seconds[usual]
