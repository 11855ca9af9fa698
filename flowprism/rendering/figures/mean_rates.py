"""How fast endpoints send and receive over the mean iteration: a lane each, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.iterations import WITHIN
from flowprism.rendering.figures.svg import Drawing, Scale, polyline, round_ticks
from flowprism.rendering.units import duration, scaled

_WIDTH, _LEFT, _RIGHT, _TOP = 1080, 150, 1000, 30
_LANE, _GAP = 40, 8


@dataclass(frozen=True, slots=True)
class RateLane:
    """One endpoint's rates over the mean iteration, in bit/s: shape (bins,) each, errors are standard errors."""

    name: str
    suspect: bool
    sent: Floats
    sent_error: Floats
    received: Floats
    received_error: Floats

    def peak(self) -> float:
        """The highest rate of either direction."""
        return float(max(self.sent.max(), self.received.max()))


def draw_rates(lanes: Sequence[RateLane], iteration_s: float) -> str:
    """The figure: above each lane's line what the endpoint sends, below it what it receives, all on one scale."""
    bottom = _TOP + len(lanes) * (_LANE + _GAP)
    label = f"Rates of {len(lanes)} endpoints over the mean iteration of {duration(iteration_s)}"
    drawing = Drawing(_WIDTH, bottom + 26, label, "wide rates")
    x = Scale(0.0, iteration_s, _LEFT, _RIGHT)
    for value in round_ticks(0.0, iteration_s, 8):
        drawing.add("line", x1=x(value), x2=x(value), y1=_TOP, y2=bottom, css="grid")
        drawing.add("text", duration(value), x=x(value), y=bottom + 16, css="tick middle")
    top = max((lane.peak() for lane in lanes), default=0.0)
    drawing.add("text", f"lane height: {scaled(top, 'bit/s')} sent, as much received", x=_LEFT, y=_TOP - 10, css="note")
    for n, lane in enumerate(lanes):
        _lane(drawing, lane, _TOP + n * (_LANE + _GAP), x, max(top, 1.0))
    return drawing.markup()


def _lane(drawing: Drawing, lane: RateLane, above: float, x: Scale, top: float) -> None:
    middle, half = above + _LANE / 2, _LANE / 2
    css = "lane hit" if lane.suspect else "lane"
    drawing.add("rect", x=_LEFT, y=above, width=_RIGHT - _LEFT, height=_LANE, css=css)
    drawing.add("text", lane.name, x=_LEFT - 8, y=middle + 4, css="tick end hit" if lane.suspect else "tick end")
    for rates, errors, way, kind in (
        (lane.sent, lane.sent_error, -1, "sent"),
        (lane.received, lane.received_error, 1, "received"),
    ):
        low, high = (np.clip(rates + side * WITHIN * errors, 0.0, top) for side in (-1, 1))
        outline = [*_steps(high, x, middle, way * half / top), *reversed(_steps(low, x, middle, way * half / top))]
        drawing.add("path", d=polyline(outline) + "Z", css=f"rate-error {kind}")
        mean, highest = (scaled(float(value), "bit/s") for value in (rates.mean(), rates.max()))
        hint = f"{lane.name}: {kind} {mean} in the mean, {highest} at most"
        area = [(x(x.low), middle), *_steps(rates, x, middle, way * half / top), (x(x.high), middle)]
        drawing.add("path", title=hint, d=polyline(area) + "Z", css=f"rate {kind}")
    drawing.add("line", x1=_LEFT, x2=_RIGHT, y1=middle, y2=middle, css="axis")


def _steps(values: Floats, x: Scale, middle: float, per_unit: float) -> list[tuple[float, float]]:
    """A line of steps, a bin each."""
    edges = np.linspace(x.low, x.high, len(values) + 1).tolist()
    points = []
    for n, value in enumerate(values.tolist()):
        y = middle + value * per_unit
        points += [(x(edges[n]), y), (x(edges[n + 1]), y)]
    return points
