"""How fast endpoints send and receive over the mean iteration: a lane each, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.iterations import WITHIN
from flowprism.rendering.figures.svg import Drawing, Scale, polyline, round_ticks
from flowprism.rendering.names import Names
from flowprism.rendering.units import duration, scaled

MOST_LANES = 48
MOVING = 0.05  # of the highest rate: times of samples are uncertain, which spreads a burst thinly around itself
_WIDTH, _LEFT, _RIGHT, _TOP = 1080, 150, 1000, 30
_LANE, _GAP = 40, 8


@dataclass(frozen=True, slots=True)
class RateRow:
    """One endpoint in numbers: mean and highest rates in bit/s, half the 95 % interval of the highest ones.

    Attributes:
        name, suspect: of the endpoint.
        sent_bps, received_bps: mean over the iteration.
        sent_peak, received_peak: (highest rate of a bin, half its 95 % interval).
        busy: share of the iteration in which it sends or receives at `MOVING` of its highest rate or more.
    """

    name: str
    suspect: bool
    sent_bps: float
    sent_peak: tuple[float, float]
    received_bps: float
    received_peak: tuple[float, float]
    busy: float


@dataclass(frozen=True, slots=True)
class MeanRates:
    """Rates over the mean of iterations that take about as long as one another.

    Attributes:
        figure: its lanes, suspects first.
        rows: the same endpoints in numbers.
        endpoints: how many are known; beyond `MOST_LANES` the suspects and an even choice are drawn.
        iterations, seconds: how many the mean is of, and their mean time.
        bins: parts of the iteration that rates are means of.
    """

    figure: str
    rows: Sequence[RateRow]
    endpoints: int
    iterations: int
    seconds: float
    bins: int


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


def mean_rates(
    rates: Frame,
    book: Sequence[str],
    placed: Sequence[Position],
    suspects: Collection[str],
    names: Names,
    near_s: float,
) -> MeanRates:
    """Draw the mean of the iterations whose time is nearest to one.

    Args:
        rates: rates of one job's endpoints in one window (`datamodel.reconstructed.endpoint_rates.RATES`), with at
            least one row.
        book: addresses that its codes count.
        placed: the job's endpoints in the order of all pictures.
        suspects: addresses.
        names: of addresses.
        near_s: the time of an iteration.
    """
    off = np.abs(rates["iteration_ns"] - near_s * 1e9)
    rates = rates.take(off == off.min()).sort("endpoint", "bin")
    bins, seconds = int(rates["bins"][0]), int(rates["iteration_ns"][0]) / 1e9
    number = {book[code]: n for n, code in enumerate(rates["endpoint"][::bins].tolist())}
    known = [p for p in placed if p.address in number]
    lanes = [
        _rate_lane(rates, number[p.address], bins, names.short(p.address), p.address in suspects)
        for p in _drawn(known, suspects)
    ]
    rows, iterations = [_row(one) for one in lanes], int(rates["iterations"][0])
    return MeanRates(draw_rates(lanes, seconds), rows, len(known), iterations, seconds, bins)


def _drawn(known: Sequence[Position], suspects: Collection[str]) -> list[Position]:
    """Suspects first, then the others in order, an even choice where they are too many."""
    first = [p for p in known if p.address in suspects][:MOST_LANES]
    rest = [p for p in known if p.address not in suspects]
    room = min(MOST_LANES - len(first), len(rest))
    return [*first, *(rest[n] for n in np.linspace(0, len(rest) - 1, room).astype(np.int64).tolist())]


def _rate_lane(rates: Frame, number: int, bins: int, name: str, suspect: bool) -> RateLane:
    rows = slice(number * bins, (number + 1) * bins)
    columns = ("sent_bps", "sent_error_bps", "received_bps", "received_error_bps")
    return RateLane(name, suspect, *(rates[column][rows].astype(np.float64) for column in columns))


def _row(lane: RateLane) -> RateRow:
    moving = np.maximum(lane.sent, lane.received) >= max(MOVING * lane.peak(), 1.0)
    return RateRow(
        lane.name, lane.suspect, float(lane.sent.mean()), _peak(lane.sent, lane.sent_error),
        float(lane.received.mean()), _peak(lane.received, lane.received_error), float(moving.mean()),
    )  # fmt: skip


def _peak(rates: Floats, errors: Floats) -> tuple[float, float]:
    highest = int(np.argmax(rates))
    return float(rates[highest]), WITHIN * float(errors[highest])


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
