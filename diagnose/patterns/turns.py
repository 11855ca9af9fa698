"""Spans of a job -> what each endpoint did of each function in each iteration, in one pass over the spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.patterns import FUNCTION_NAMES
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.timeline import SPAN_NAMES
from reconstruct.jit import compiled, to_contiguous

SPAN_ORDER = ("endpoint", "start_ns", "end_ns", "span", "peer")
FUNCTIONS_EACH = len(FUNCTION_NAMES)
_COMPUTE, _SEND = (SPAN_NAMES.index(name) for name in ("compute", "pp_send"))
_FORWARD = len(SPAN_NAMES)  # a code of its own for compute that ends with a message to a later stage
_FUNCTION_OF = {
    "compute": "backward", "pp_send": "pp", "pp_recv": "pp", "dp_comm": "dp", "ep_comm": "ep", "cp_comm": "cp",
    "idle": "outside",
}  # fmt: skip
_NUMBER = {name: number for number, name in enumerate(FUNCTION_NAMES)}
FUNCTION_OF_SPAN = np.array([_NUMBER.get(_FUNCTION_OF.get(name, ""), -1) for name in SPAN_NAMES] + [_NUMBER["forward"]])


@dataclass(frozen=True, slots=True)
class Turns:
    """What one endpoint did of one function in one iteration; all (n,), by endpoint, function and iteration.

    Attributes:
        endpoint: its code.
        function: index into FUNCTION_NAMES.
        iteration: in which.
        begin_ns, end_ns: its first begin and last end.
        lasting_ns: time that it was on, overlaps counted once.
    """

    endpoint: Int
    function: Int
    iteration: Int
    begin_ns: Int
    end_ns: Int
    lasting_ns: Int


def in_order(spans: Frame) -> Frame:
    """Spans by endpoint and time, as they are if they are so already."""
    return spans if _is_sorted(*_columns(spans, *SPAN_ORDER)) else spans.sort(*SPAN_ORDER)


def to_forward(spans: Frame, chosen: Int, stage: Mapping[int, int]) -> Frame:
    """The same spans, with a code of its own for compute that ends with a message to a later stage.

    Args:
        spans: from `in_order`.
        chosen: the iterations that count, ascending; in others nothing changes.
        stage: address code -> pipeline stage.
    """
    endpoint, iteration, span, peer = _columns(spans, "endpoint", "iteration", "span", "peer")
    most = max(int(endpoint.max(initial=0)), int(peer.max(initial=0)), *stage)
    stages = np.zeros(most + 2, np.int64)  # the last one is of no peer
    stages[list(stage)] = list(stage.values())
    return spans.replace(span=_with_forward(endpoint, iteration, span, peer, places(iteration, chosen), stages))


def find_turns(spans: Frame, chosen: Int) -> Turns:
    """The turns of some iterations, without waiting and what takes no time.

    Args:
        spans: from `to_forward`.
        chosen: the iterations, ascending.
    """
    endpoint, iteration, span = _columns(spans, "endpoint", "iteration", "span")
    start_ns, end_ns = _columns(spans, "start_ns", "end_ns")
    place = places(iteration, chosen)
    return Turns(*_turns(endpoint, iteration, span, start_ns, end_ns, place, chosen, FUNCTION_OF_SPAN))


def places(codes: Int, chosen: Int) -> Int:
    """By code: its place among the chosen ones, which ascend; -1 for others, and for the last one, which is code -1."""
    place = np.full(max(int(codes.max(initial=0)), int(chosen[-1])) + 2, -1)
    place[chosen] = np.arange(len(chosen))
    return place


def _columns(spans: Frame, *names: str) -> list[Int]:
    return [to_contiguous(spans[name]) for name in names]


@compiled
def _is_sorted(endpoint: Int, start_ns: Int, end_ns: Int, span: Int, peer: Int) -> bool:
    for row in range(1, len(endpoint)):
        before = row - 1
        if endpoint[before] != endpoint[row]:
            if endpoint[before] > endpoint[row]:
                return False
        elif start_ns[before] != start_ns[row]:
            if start_ns[before] > start_ns[row]:
                return False
        elif (end_ns[before], span[before], peer[before]) > (end_ns[row], span[row], peer[row]):
            return False
    return True


@compiled
def _with_forward(endpoint: Int, iteration: Int, span: Int, peer: Int, place: Int, stages: Int) -> Int:
    found, following = span.copy(), -1
    for row in range(len(endpoint) - 1, -1, -1):
        if place[iteration[row]] < 0:
            continue
        if span[row] == _COMPUTE and following >= 0 and endpoint[following] == endpoint[row]:
            is_later = stages[peer[following]] > stages[endpoint[row]]
            found[row] = _FORWARD if span[following] == _SEND and is_later else _COMPUTE
        following = row
    return found


@compiled
def _turns(
    endpoint: Int, iteration: Int, span: Int, start_ns: Int, end_ns: Int, place: Int, chosen: Int, function_of: Int
) -> tuple[Int, Int, Int, Int, Int, Int]:  # fmt: skip
    """The columns of the turns, from those of the spans, `places`, and the function of each code of a span."""
    rows, count = len(endpoint), len(chosen)
    slots = FUNCTIONS_EACH * count
    begin_ns, until_ns, lasting_ns = np.empty(slots, np.int64), np.empty(slots, np.int64), np.zeros(slots, np.int64)
    endpoints = 1
    for row in range(1, rows):
        endpoints += endpoint[row] != endpoint[row - 1]
    found = np.empty((6, min(rows, endpoints * slots)), np.int64)
    made = 0
    for row in range(rows):
        at, function = place[iteration[row]], function_of[span[row]]
        if at >= 0 and function >= 0 and end_ns[row] > start_ns[row]:
            slot = function * count + at
            if lasting_ns[slot] == 0:
                begin_ns[slot], until_ns[slot], lasting_ns[slot] = (
                    start_ns[row],
                    end_ns[row],
                    end_ns[row] - start_ns[row],
                )
            elif end_ns[row] > until_ns[slot]:
                lasting_ns[slot] += end_ns[row] - max(start_ns[row], until_ns[slot])
                until_ns[slot] = end_ns[row]
        if row + 1 < rows and endpoint[row + 1] == endpoint[row]:
            continue
        for slot in range(slots):
            if lasting_ns[slot] > 0:
                found[0, made], found[1, made], found[2, made] = endpoint[row], slot // count, chosen[slot % count]
                found[3, made], found[4, made], found[5, made] = begin_ns[slot], until_ns[slot], lasting_ns[slot]
                lasting_ns[slot] = 0
                made += 1
    return found[0, :made], found[1, :made], found[2, :made], found[3, :made], found[4, :made], found[5, :made]
