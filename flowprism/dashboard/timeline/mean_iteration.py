"""What the timeline shows of endpoints whose spans cannot be known: their rates over the mean iteration."""

from __future__ import annotations

from dataclasses import dataclass

from flowprism.dashboard.timeline.timeline_query import Shown
from flowprism.rendering.figures.mean_rates import MeanRates, mean_rates
from flowprism.service.queries.jobs.timelines import rates
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer


@dataclass(frozen=True, slots=True)
class MeanIteration:
    """The mean of the iterations of a window that take about as long as one that is shown; the window in UTC."""

    rates: MeanRates
    start_ns: int
    end_ns: int


def mean_iteration(stores: Stores, viewer: Viewer, shown: Shown) -> MeanIteration | None:
    """The mean of iterations about as long as the last one shown; None where spans are known, or no rates are.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if shown.part is not None or not shown.choice.shown:
        return None
    near = shown.choice.shown[-1]
    frame, book = rates(stores, viewer, shown.choice.job.id, near.end_ns - 1) or (None, ())
    if frame is None or not len(frame):
        return None
    made = mean_rates(frame, book, shown.drawn, shown.suspects, shown.names, near.mean_s)
    return MeanIteration(made, int(frame["start_ns"][0]), int(frame["end_ns"][0]))
