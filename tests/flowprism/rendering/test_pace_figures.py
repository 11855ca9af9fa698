"""A job's pace over hours and as one line."""

from __future__ import annotations

import re

from datamodel.service.api_models import Trend
from flowprism.rendering.figures.job_sparkline import draw_spark
from flowprism.rendering.figures.trend import draw_trend

TREND = Trend(
    start_ns=0,
    step_ns=60 * 10**9,
    mean_s=(1.0, 1.01, None, 1.5, 1.52, None, 1.0),
    severity=(None, None, None, "warning", "warning", None, None),
)


def test_the_line_stops_where_nothing_is_known() -> None:
    """Two stretches hang together twice; the last stands alone, as a dot."""
    markup = draw_trend(TREND, [], [], norm_s=1.0)
    assert len(re.findall(r'class="line strong"', markup)) == 2
    assert len(re.findall(r'class="dot hit"', markup)) == 2
    assert len(re.findall(r'class="dot"', markup)) == 1
    assert "usually 1.00 s" in markup


def test_noise_below_a_tenth_stays_small() -> None:
    """The small line reaches a tenth of the norm to either side at least."""
    flat = Trend(start_ns=0, step_ns=1, mean_s=(1.0, 1.01, 0.99, 1.0))
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", draw_spark(flat, 1.0))]
    assert max(heights) - min(heights) < 3


def test_the_small_line_tells_its_figures() -> None:
    """Those who hear the page hear the range, now and the norm; findings have their colour."""
    markup = draw_spark(TREND, 1.0)
    assert 'aria-label="iteration times from 1.00 s to 1.52 s, now 1.00 s, usually 1.00 s"' in markup
    assert 'class="hot warning"' in markup


def test_a_job_without_iterations_says_so() -> None:
    """No line is drawn through nothing."""
    nothing = Trend(start_ns=0, step_ns=1, mean_s=(None, None))
    assert "no iteration" in draw_spark(nothing, None)
    assert "No iteration" in draw_trend(nothing, [], [])
