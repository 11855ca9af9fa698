"""Shares of endpoints: seconds by sort, and lateness against peers of the same stage."""

from __future__ import annotations

import numpy as np

from flowprism.dashboard.timeline.lateness import shares
from flowprism.rendering.endpoint_order import Position
from tests.flowprism.dashboard.timeline.spans import CHAIN, Row, spans


def _placed(*stages: int | None) -> list[Position]:
    return [Position(f"10.0.0.{n + 1}", n + 1, stage, n) for n, stage in enumerate(stages)]


def test_seconds_by_sort_are_means_over_iterations() -> None:
    """Two equal iterations give what one gives."""
    twice: tuple[Row, ...] = (*CHAIN, *((e, 2, k, s + 40, t + 40, p, b, g) for e, _, k, s, t, p, b, g in CHAIN))
    codes = np.array([0, 1])
    once, both = (shares(spans(*rows), codes, _placed(0, 1)) for rows in (CHAIN, twice))
    np.testing.assert_allclose(once.compute_s, [0.018, 0.018])
    np.testing.assert_allclose(once.network_s, [0.004, 0.004])
    np.testing.assert_allclose(once.wait_s, [0.018, 0.010])
    np.testing.assert_allclose(both.compute_s, once.compute_s)
    np.testing.assert_allclose(both.arrival_s, once.arrival_s)


def test_lateness_is_against_the_median_of_the_stage() -> None:
    """Of three peers that meet their group one comes 5 ms late; the other stage's times play no part."""
    rows: list[Row] = [(n, 1, "compute", 0, end, -1, 0, -1) for n, end in enumerate((10, 10, 15, 50))]
    rows += [(n, 1, "wait", end, 15, 2, 0, 0) for n, end in enumerate((10, 10))]
    rows += [(n, 1, "dp_comm", max(end, 15), 60, -1, 9, 0) for n, end in enumerate((10, 10, 15, 50))]
    found = shares(spans(*rows), np.arange(4), _placed(0, 0, 0, 1))
    np.testing.assert_allclose(found.late_s, [0, 0, 0.005, 0])


def test_where_no_waiting_for_a_group_is_seen_the_pipeline_tells() -> None:
    """What looks like computing until the group meets may be waiting: the last transfer before it counts."""
    rows: list[Row] = []
    for n, sent in enumerate((10.0, 10.0, 30.0)):
        rows += [(n, 1, "pp_send", sent, sent + 1, 3, 5, 0), (n, 1, "compute", sent + 1, 40, -1, 0, -1)]
        rows += [(n, 1, "dp_comm", 40, 50, -1, 9, 0)]
    found = shares(spans((3, 1, "compute", 0, 10, -1, 0, -1), *rows), np.arange(4), _placed(0, 0, 0, 1))
    np.testing.assert_allclose(found.late_s[:3], [0, 0, 0.020])
    assert np.isnan(found.late_s[3])


def test_an_endpoint_without_spans_has_no_numbers() -> None:
    """Nothing known is nan, not nought."""
    found = shares(spans(*CHAIN), np.array([0, 1, 7]), _placed(0, 1, 1))
    assert np.isnan([found.compute_s[2], found.wait_s[2], found.late_s[2]]).all()
