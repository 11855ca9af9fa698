"""A job's pace as one small line: how long iterations took of late, against their norm."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from datamodel.service.api_models import Trend
from flowprism.rendering.figures.svg import Drawing, Scale, polyline
from flowprism.rendering.units import duration

_WIDTH, _HEIGHT = 132, 30
_REACH = 0.1  # of the norm to either side: noise that no one would report looks like noise

Point = tuple[float, float]


def draw_spark(trend: Trend, norm_s: float | None) -> str:
    """The figure: time across, seconds up, the norm dashed, stretches in which a finding was on in its colour.

    Args:
        trend: means of equal stretches of time.
        norm_s: what is usual; None where that is not known.
    """
    known = [value for value in trend.mean_s if value is not None]
    if not known:
        return Drawing(_WIDTH, _HEIGHT, "no iteration of late", "spark").markup()
    middle = norm_s or sorted(known)[len(known) // 2]
    low, high = min(*known, middle * (1 - _REACH)), max(*known, middle * (1 + _REACH))
    x, y = Scale(0, max(len(trend.mean_s) - 1, 1), 2, _WIDTH - 5), Scale(low, high, _HEIGHT - 3, 3)
    drawing = Drawing(_WIDTH, _HEIGHT, _words(known, norm_s), "spark")
    if norm_s:
        drawing.add("line", x1=0, x2=_WIDTH, y1=y(norm_s), y2=y(norm_s), css="norm")
    points = [None if value is None else (x(n), y(value)) for n, value in enumerate(trend.mean_s)]
    for run in _runs(points, [True] * len(points)):
        drawing.add("path", d=_line(run), css="run")
    severity = trend.severity or (None,) * len(points)
    for worst in ("info", "warning", "critical"):
        for run in _runs(points, [one == worst for one in severity]):
            drawing.add("path", d=_line(run), css=f"hot {worst}")
    last = max(n for n, point in enumerate(points) if point is not None)
    at = points[last]
    if at is not None:
        drawing.add("circle", cx=at[0], cy=at[1], r=2.6, css=f"now {severity[last] or ''}".strip())
    return drawing.markup()


def _words(known: Sequence[float], norm_s: float | None) -> str:
    usual = f", usually {duration(norm_s)}" if norm_s else ""
    return f"iteration times from {duration(min(known))} to {duration(max(known))}, now {duration(known[-1])}{usual}"


def _runs(points: Sequence[Point | None], wanted: Sequence[bool]) -> list[list[Point]]:
    """What hangs together of the points that are known and wanted."""
    shown = [point if want else None for point, want in zip(points, wanted, strict=True)]
    return [
        [one for one in run if one is not None] for there, run in groupby(shown, lambda one: one is not None) if there
    ]


def _line(run: Sequence[Point]) -> str:
    """A path; a single point becomes a dash that can be seen."""
    return polyline(run) if len(run) > 1 else polyline([(run[0][0] - 1, run[0][1]), (run[0][0] + 1, run[0][1])])
