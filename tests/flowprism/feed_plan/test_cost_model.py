"""Lines through measurements, and the cost of a load."""

from __future__ import annotations

import pytest

from flowprism.feed_plan.cost_model import SFLOW, CostSample, FeedLoad, cost_of, fit_line
from tests.flowprism.feed_plan.sample import COSTS


def test_a_line_is_found_again() -> None:
    """Costs that lie on a line give its coefficients and no error."""
    sizes = [(1_000, 8), (50_000, 8), (20_000, 64), (90_000, 32)]
    samples = [CostSample(records, state, 0.01 + 2e-6 * records + 1e-3 * state) for records, state in sizes]
    line = fit_line(samples, with_state=True)
    assert (line.fixed, line.per_record, line.per_state) == pytest.approx((0.01, 2e-6, 1e-3), rel=1e-6)
    assert line.error_ratio == pytest.approx(0, abs=1e-6)


def test_costs_never_fall_with_size() -> None:
    """Timings that happen to fall with the number of records give no negative coefficient."""
    line = fit_line([CostSample(100, 1, 0.02), CostSample(10_000, 1, 0.01)])
    assert line.per_record >= 0
    assert line.fixed > 0


def test_cost_of_a_load_by_hand() -> None:
    """60,000 samples a second, committed every 5 s, 300 s looked at every 60 s."""
    cost = cost_of(COSTS, FeedLoad(SFLOW, 60_000, 100, 300, 60))
    assert cost.collect_cores == pytest.approx(60_000 * (3e-6 / 6 + 5e-7) + 0.001)
    assert cost.analyze_cores == pytest.approx((0.02 + 5e-7 * 18_000_000 + 5e-4 * 100) / 60)
    assert cost.stored_bytes_per_s == pytest.approx(60_000 * 20 + 200)
    assert cost.most_records_per_s == pytest.approx(2e6)


def test_workers_are_filled_to_four_fifths() -> None:
    """A worker that can take 2 million a second is given 1.6 million."""
    cost = cost_of(COSTS, FeedLoad(SFLOW, 60_000, 100, 300, 60))
    assert [cost.workers(rate) for rate in (1.0, 1.6e6, 1.7e6, 3.3e6)] == [1, 1, 2, 3]
