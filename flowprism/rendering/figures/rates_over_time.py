"""One or two rates over a stretch of time: a line each, with gaps where nothing was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, tzinfo

import numpy as np

from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.svg import Drawing, Scale, polyline, round_ticks
from flowprism.rendering.figures.time_axis import time_ticks
from flowprism.rendering.units import utc

WIDTH, HEIGHT = 1080, 170
LEFT, RIGHT, TOP, BOTTOM = 96, 1068, 12, 138
_LINES = ("line strong", "line other")  # classes of the figures' style sheet


def draw_rates_over_time(
    title: str, lines: Mapping[str, Floats], start_ns: int, step_ns: int, words: Callable[[float], str],
    zone: tzinfo = UTC,
) -> str:  # fmt: skip
    """The figure: time across, from zero up.

    Args:
        title: what the lines are rates of.
        lines: by name, at most two; NaN where nothing is known.
        start_ns: begin of the first step, UTC.
        step_ns: length of each.
        words: a value as text.
        zone: of the times beneath.
    """
    steps = max(len(one) for one in lines.values())
    known = np.concatenate([one[np.isfinite(one)] for one in lines.values()])
    peaks = ", ".join(f"{name} at most {words(float(np.nanmax(one)))}" for name, one in lines.items() if _any(one))
    drawing = Drawing(WIDTH, HEIGHT, f"{title}: {peaks}", "wide")
    x = Scale(start_ns, start_ns + steps * step_ns, LEFT, RIGHT)
    y = Scale(0.0, float(known.max(initial=0.0)) * 1.08 or 1.0, BOTTOM, TOP)
    _axes(drawing, x, y, words, zone)
    for css, (name, values) in zip(_LINES, lines.items(), strict=False):
        for first, last in _stretches(values):
            # A step is drawn as long as it lasts, so that one alone is seen too.
            times = np.repeat(start_ns + step_ns * np.arange(first, last + 1), 2)[1:-1]
            heights = np.repeat(values[first:last], 2)
            points = [(x(float(at)), y(float(value))) for at, value in zip(times, heights, strict=True)]
            peak = float(values[first:last].max())
            drawing.add("path", title=f"{name}, at most {words(peak)}", d=polyline(points), css=css)
    return drawing.markup()


def rate_rows(
    lines: Mapping[str, Floats], start_ns: int, step_ns: int, most: int = 24
) -> list[tuple[int, list[float | None]]]:
    """The same in at most `most` rows: begin of each stretch, and the mean of each line in it; None where unknown."""
    steps = max(len(one) for one in lines.values())
    width = -(-steps // most)
    return [
        (start_ns + first * step_ns, [_mean(one[first : first + width]) for one in lines.values()])
        for first in range(0, steps, width)
    ]


def _axes(drawing: Drawing, x: Scale, y: Scale, words: Callable[[float], str], zone: tzinfo) -> None:
    for value in round_ticks(0.0, y.high, 3):
        drawing.add("line", x1=LEFT, x2=RIGHT, y1=y(value), y2=y(value), css="grid")
        drawing.add("text", words(value), x=LEFT - 8, y=y(value) + 4, css="tick end")
    ticks = time_ticks(int(x.low), int(x.high), 10, zone)
    within_days = any(":" in text for _, text in ticks)
    for at, text in ticks:
        time = str(at // 1_000_000_000) if within_days else None
        drawing.add("line", x1=x(at), x2=x(at), y1=BOTTOM, y2=BOTTOM + 5, css="axis", title=utc(at))
        drawing.add("text", text, x=x(at), y=BOTTOM + 19, css="tick middle", data_time=time)
    drawing.add("line", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM, css="axis")


def _stretches(values: Floats) -> list[tuple[int, int]]:
    """Begin and end of each run of known values."""
    known = np.concatenate([[False], np.isfinite(values), [False]])
    changes = np.flatnonzero(known[1:] != known[:-1])
    return list(zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True))


def _any(values: Floats) -> bool:
    return bool(np.isfinite(values).any())


def _mean(values: Floats) -> float | None:
    return float(np.nanmean(values)) if _any(values) else None
