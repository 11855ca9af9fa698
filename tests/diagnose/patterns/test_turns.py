"""Turns against the moments that spans cover, counted one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datamodel.frame import Frame
from datamodel.reconstructed.patterns import FUNCTION_NAMES
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS
from diagnose.patterns.turns import find_turns, in_order, to_forward

FUNCTION = {
    "compute": "backward", "pp_send": "pp", "pp_recv": "pp", "dp_comm": "dp", "ep_comm": "ep", "cp_comm": "cp",
    "idle": "outside",
}  # fmt: skip
STAGE = {0: 0, 1: 1}
Row = tuple[int, int, str, int, int]  # endpoint, iteration, span, begin, length
KIND = st.sampled_from(SPAN_NAMES)
ROW = st.tuples(st.integers(0, 2), st.integers(-1, 3), KIND, st.integers(0, 20), st.integers(0, 9))
ROWS = st.lists(ROW, min_size=1, max_size=20)


def made(rows: list[Row]) -> Frame:
    """Spans, of which every second message goes to the later stage."""
    endpoint, iteration, span, begin, length = (np.array(column) for column in zip(*rows, strict=True))
    code = np.array([SPAN_NAMES.index(name) for name in span.tolist()])
    start = 1000 + begin
    columns = {"job": np.zeros(len(rows)), "endpoint": endpoint, "iteration": iteration, "span": code}
    peer = np.arange(len(rows)) % 3 - 1
    return Frame(SPANS, columns | {"start_ns": start, "end_ns": start + length, "peer": peer})


@given(ROWS, st.sets(st.integers(0, 3), min_size=1))
def test_turns_are_the_moments_that_spans_cover(rows: list[Row], iterations: set[int]) -> None:
    """First begin, last end, and time on with overlaps counted once; waits, empty spans, other iterations left out."""
    chosen = np.array(sorted(iterations))
    spans = made(rows).sort("endpoint", "start_ns", "end_ns", "span", "peer")
    own = spans.take(np.isin(spans["iteration"], chosen))
    expected: dict[tuple[int, int, int], set[int]] = {}
    for n in range(len(own)):
        name, end = SPAN_NAMES[own["span"][n]], int(own["end_ns"][n])
        if name == "compute" and n + 1 < len(own) and own["endpoint"][n + 1] == own["endpoint"][n]:
            later = STAGE.get(int(own["peer"][n + 1]), 0) > STAGE.get(int(own["endpoint"][n]), 0)
            function = "forward" if SPAN_NAMES[own["span"][n + 1]] == "pp_send" and later else "backward"
        else:
            function = FUNCTION.get(name, "")
        if function and end > own["start_ns"][n]:
            key = (int(own["endpoint"][n]), FUNCTION_NAMES.index(function), int(own["iteration"][n]))
            expected.setdefault(key, set()).update(range(int(own["start_ns"][n]), end))
    turns = find_turns(to_forward(in_order(made(rows)), chosen, STAGE), chosen)
    columns = (turns.endpoint, turns.function, turns.iteration, turns.begin_ns, turns.end_ns, turns.lasting_ns)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        (*key, min(on), max(on) + 1, len(on)) for key, on in sorted(expected.items())
    ]
