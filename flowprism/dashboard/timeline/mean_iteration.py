"""What the timeline shows of endpoints whose spans cannot be known: their rates over the mean iteration."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from flowprism.dashboard.timeline.timeline_query import Shown
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.iterations import WITHIN
from flowprism.rendering.figures.mean_rates import RateLane, draw_rates
from flowprism.service.queries.timelines import rates
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

MOST_LANES = 48
MOVING = 0.05  # of the highest rate: times of samples are uncertain, which spreads a burst thinly around itself


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
class MeanIteration:
    """The mean of the iterations of a window that take about as long as one that is shown.

    Attributes:
        figure: its lanes, suspects first.
        rows: the same endpoints in numbers.
        endpoints: how many are known; beyond `MOST_LANES` the suspects and an even choice are drawn.
        iterations, seconds: how many the mean is of, and their mean time.
        bins: parts of the iteration that rates are means of.
        start_ns, end_ns: the window, UTC.
    """

    figure: str
    rows: Sequence[RateRow]
    endpoints: int
    iterations: int
    seconds: float
    bins: int
    start_ns: int
    end_ns: int


def mean_iteration(stores: Stores, viewer: Viewer, shown: Shown) -> MeanIteration | None:
    """The mean of iterations about as long as the last one shown; None where spans are known, or no rates are.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if shown.part is not None or not shown.choice.shown:
        return None
    near, suspects, names = shown.choice.shown[-1], shown.suspects, shown.names
    frame, book = rates(stores, viewer, shown.choice.job.id, near.end_ns - 1) or (None, ())
    if frame is None or not len(frame):
        return None
    off = np.abs(frame["iteration_ns"] - near.mean_s * 1e9)
    frame = frame.take(off == off.min()).sort("endpoint", "bin")
    bins = int(frame["bins"][0])
    number = {book[code]: n for n, code in enumerate(frame["endpoint"][::bins].tolist())}
    known = [p for p in shown.drawn if p.address in number]
    drawn = _drawn(known, suspects)
    lanes = [_lane(frame, number[p.address], bins, names.short(p.address), p.address in suspects) for p in drawn]
    seconds = int(frame["iteration_ns"][0]) / 1e9
    return MeanIteration(
        draw_rates(lanes, seconds), [_row(one) for one in lanes], len(known), int(frame["iterations"][0]), seconds,
        bins, int(frame["start_ns"][0]), int(frame["end_ns"][0]),
    )  # fmt: skip


def _drawn(known: Sequence[Position], suspects: Collection[str]) -> list[Position]:
    """Suspects first, then the others in order, an even choice where they are too many."""
    first = [p for p in known if p.address in suspects][:MOST_LANES]
    rest = [p for p in known if p.address not in suspects]
    room = min(MOST_LANES - len(first), len(rest))
    return [*first, *(rest[n] for n in np.linspace(0, len(rest) - 1, room).astype(np.int64).tolist())]


def _lane(frame: Frame, number: int, bins: int, name: str, suspect: bool) -> RateLane:
    rows = slice(number * bins, (number + 1) * bins)
    columns = ("sent_bps", "sent_error_bps", "received_bps", "received_error_bps")
    return RateLane(name, suspect, *(frame[column][rows].astype(np.float64) for column in columns))


def _row(lane: RateLane) -> RateRow:
    moving = np.maximum(lane.sent, lane.received) >= max(MOVING * lane.peak(), 1.0)
    return RateRow(
        lane.name, lane.suspect, float(lane.sent.mean()), _peak(lane.sent, lane.sent_error),
        float(lane.received.mean()), _peak(lane.received, lane.received_error), float(moving.mean()),
    )  # fmt: skip


def _peak(rates: Floats, errors: Floats) -> tuple[float, float]:
    highest = int(np.argmax(rates))
    return float(rates[highest]), WITHIN * float(errors[highest])
