"""Cells unlike their peers: evidence of a regression without a place, and never a suspect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from datamodel.reconstructed.streams import Float
from datamodel.reports.findings import Finding
from diagnose.patterns.unlike_peers import MOST_UNUSUAL, least_alike, robust_distance
from flowprism.pipeline import AnalysisOptions, analyze_reading
from simulate.case import simulate_case
from simulate.faults import Fault
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario

CELLS, HALF = 40, 10
BEFORE, SINCE = np.arange(HALF), np.arange(HALF, 2 * HALF)
ROLE = np.arange(CELLS) % 2


def own_times(**late: float) -> Float:
    """(cells, 20) own times of two roles that differ by half; `c3=1.1`: cell 3 is that much later in the second."""
    noise = np.random.default_rng(4).normal(1, 0.002, (CELLS, 2 * HALF))
    found = np.where(ROLE == 0, 1e8, 1.5e8)[:, None] * noise
    for name, factor in late.items():
        found[int(name[1:]), HALF:] *= factor
    return found


def test_cells_that_became_late_come_most_unusual_first() -> None:
    """Five at most, against the median of their own role."""
    late = {f"c{n}": 1.05 + n / 100 for n in range(7)}
    found = least_alike(own_times(**late), ROLE, SINCE, BEFORE)
    assert [one.cell for one in found] == [6, 5, 4, 3, 2]
    assert len(found) == MOST_UNUSUAL
    assert found[0].own_ns / found[0].peers_ns == pytest.approx(1.11, rel=0.02)


def test_cell_that_was_always_late_explains_no_change() -> None:
    """Cell 8 is 10 % late in both halves; without a past to compare with it is unusual."""
    own = own_times(c8=1.1)
    own[8, :HALF] *= 1.1
    assert least_alike(own, ROLE, SINCE, BEFORE) == ()
    assert [one.cell for one in least_alike(own, ROLE, SINCE, np.zeros(0, np.int64))] == [8]


def test_difference_within_the_tolerance_is_usual() -> None:
    """Healthy GPUs differ by a percent, however little they scatter; a cell that was not seen is as near as can be."""
    value = np.array([0.0, 0.0, 0.0, 0.0, 0.009, 0.02, np.nan])
    assert robust_distance(value, np.zeros(7, np.int64)).tolist() == [0, 0, 0, 0, 0, np.inf, 0]


def found_in(*faults: Fault) -> Finding:
    """The one finding of a simulated job with these faults."""
    made = scenario("data-parallel", ScenarioOptions(iterations=20))
    case = simulate_case(replace(made, faults=faults), 1)
    (found,) = analyze_reading(case.readings["flows"], ("x",), case.inventory, AnalysisOptions()).report.findings
    return found


def test_regression_without_a_place_shows_what_is_unusual() -> None:
    """All ranks wait so long that it is no compute; one host is 5 % later still. It is evidence, and no suspect."""
    everybody = Fault("regression", first=10, size=4.0)
    alone, beside = found_in(everybody), found_in(everybody, Fault("straggler", first=10, rank=43, size=4.2))
    assert (alone.kind, len(alone.evidence)) == ("regression", 1)
    assert "Unusual" not in alone.summary
    assert beside.summary.endswith("Unusual, not proven: 10.0.5.1.")
    assert (beside.kind, beside.subject, beside.severity, beside.suspects) == ("regression", alone.subject, "info", ())
    own = beside.evidence[1]
    assert (len(beside.evidence), own.where) == (2, "10.0.5.1")
    assert own.value / own.baseline == pytest.approx(1.05, abs=0.01)
