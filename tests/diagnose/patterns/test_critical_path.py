"""The critical path: without gaps, through the endpoint that was waited for, and shorter only if what is on it is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from diagnose.patterns.critical_path import critical_path
from flowprism import demo
from flowprism.inputs.inventory_file import load_inventory
from flowprism.pipeline import AnalysisOptions, analyze
from tests.flowprism.dashboard.timeline.spans import CHAIN, Row, spans

DEMO = Path(demo.__file__).parent


def _told(*rows: Row) -> list[tuple[int, str, float, float]]:
    return [(s.endpoint, s.name, s.start_ns / 1e6 - 1e3, s.end_ns / 1e6 - 1e3) for s in critical_path(spans(*rows))]


def test_waiting_leads_to_who_was_waited_for() -> None:
    """Stage 0 waits for 1 while 1 computes: that compute is on the path, no waiting is."""
    assert _told(*CHAIN) == [
        (0, "compute", 0, 10),
        (1, "pp_recv", 10, 12),
        (1, "compute", 12, 30),
        (0, "pp_recv", 30, 32),
        (0, "compute", 32, 40),
    ]


def test_steps_say_who_waited_for_their_end() -> None:
    """The step that ends where the path comes from another endpoint names that endpoint."""
    assert [s.waiter for s in critical_path(spans(*CHAIN))] == [1, -1, 0, -1, -1]


def test_steps_say_with_which_group_they_exchange() -> None:
    """The group of the span, by which a page finds suspects in exchanges that others end."""
    rows = ((0, 1, "compute", 0, 4, -1, 0, -1), (0, 1, "dp_comm", 4, 9, -1, 0, 1), (1, 1, "dp_comm", 4, 8, -1, 0, 1))
    assert [(s.endpoint, s.name, s.group) for s in critical_path(spans(*rows))] == [
        (0, "compute", -1),
        (0, "dp_comm", 1),
    ]


def test_what_no_span_tells_is_unknown() -> None:
    """A hole in an endpoint's spans is on the path as unknown, not as somebody's work."""
    rows = ((0, 1, "compute", 0, 4, -1, 0, -1), (0, 1, "compute", 6, 10, -1, 0, -1))
    assert _told(*rows) == [(0, "compute", 0, 4), (0, "unknown", 4, 6), (0, "compute", 6, 10)]


def test_endpoints_that_wait_for_each_other_end_the_search() -> None:
    """A circle of waits, which only a wrong clock can make, counts as waiting and the path goes on."""
    rows = ((0, 1, "wait", 0, 9, 1, 0, -1), (0, 1, "compute", 9, 10, -1, 0, -1), (1, 1, "wait", 0, 9, 0, 0, -1))
    assert _told(*rows) == [(1, "wait", 0, 9), (0, "compute", 9, 10)]


def test_no_spans_no_path() -> None:
    """Nothing was seen, so nothing is on the path."""
    assert _told() == []


def test_real_iterations_are_covered_without_a_gap() -> None:
    """In each iteration of the bundled capture the steps follow one another from its begin to its end."""
    analysis = analyze([DEMO / "mirror.pcap.gz"], load_inventory(DEMO / "inventory.yaml"), AnalysisOptions())
    every = analysis.timelines.spans
    for index in np.unique(every["iteration"][every["iteration"] >= 0]).tolist():
        own = every.take(np.flatnonzero(every["iteration"] == index))
        steps = critical_path(own)
        work = own["span"] != 7
        assert steps[0].start_ns == own["start_ns"][work].min()
        assert steps[-1].end_ns == own["end_ns"][work].max()
        assert all(first.end_ns == second.start_ns for first, second in pairwise(steps))
        assert not any(step.name == "wait" for step in steps)
