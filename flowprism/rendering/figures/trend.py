"""Iteration times of a job over hours and days, from means of equal stretches of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from itertools import groupby
from statistics import median

from datamodel.reports.findings import Event, Finding
from datamodel.service.api_models import Trend
from flowprism.rendering.figures.iterations import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    draw_axes,
    mark_events,
    mark_finding,
)
from flowprism.rendering.figures.svg import Drawing, Scale, polyline
from flowprism.rendering.units import duration


def draw_trend(
    trend: Trend, findings: Sequence[Finding], events: Sequence[Event], norm_s: float | None = None, zone: tzinfo = UTC
) -> str:
    """The figure: time across, mean seconds up, in the same frame as `iterations.draw_iterations`.

    Args:
        trend: means; where none is known the line stops.
        findings: each is a band with its name.
        events: each is a line, or a band where it lasts.
        norm_s: what is usual, dashed; None where that is not known.
        zone: of the times beneath.
    """
    known = [value for value in trend.mean_s if value is not None]
    if not known:
        return Drawing(WIDTH, 60, "No iteration is known in this time", "wide").markup()
    middle = norm_s or median(known)
    low, high = min(*known, 0.9 * middle), max(*known, 1.1 * middle)
    drawing = Drawing(WIDTH, HEIGHT, _label(known, norm_s), "wide")
    x = Scale(trend.start_ns, trend.start_ns + len(trend.mean_s) * trend.step_ns, LEFT, RIGHT)
    y = Scale(low - 0.04 * (high - low), high + 0.04 * (high - low), BOTTOM, TOP if findings or events else 14)
    draw_axes(drawing, x, y, zone)
    for finding in findings:
        mark_finding(drawing, finding, x)
    mark_events(drawing, events, x)
    if norm_s:
        drawing.add("line", x1=LEFT, x2=RIGHT, y1=y(norm_s), y2=y(norm_s), css="median")
        drawing.add("text", f"usually {duration(norm_s)}", x=LEFT + 6, y=y(norm_s) - 8, css="note halo")
    _line(drawing, trend, x, y)
    return drawing.markup()


def _label(known: Sequence[float], norm_s: float | None) -> str:
    usual = f", usually {duration(norm_s)}" if norm_s else ""
    return f"Iteration times: means from {duration(min(known))} to {duration(max(known))}{usual}"


def _line(drawing: Drawing, trend: Trend, x: Scale, y: Scale) -> None:
    """Through the middles of stretches; dots where a finding was on, and where a stretch stands alone."""
    half = trend.step_ns / 2
    points = [
        None if mean is None else (x(trend.start_ns + n * trend.step_ns + half), y(mean))
        for n, mean in enumerate(trend.mean_s)
    ]
    severity = trend.severity or (None,) * len(points)
    for there, run in groupby(zip(points, severity, trend.mean_s, strict=True), lambda one: one[0] is not None):
        if there:
            _stretch(drawing, [(at, worst, mean) for at, worst, mean in run if at is not None and mean is not None])


def _stretch(drawing: Drawing, run: Sequence[tuple[tuple[float, float], str | None, float]]) -> None:
    if len(run) > 1:
        drawing.add("path", d=polyline([at for at, _, _ in run]), css="line strong")
    for (px, py), worst, mean in run:
        if worst or len(run) == 1:
            drawing.add("circle", title=duration(mean), cx=px, cy=py, r=3, css="dot hit" if worst else "dot")
