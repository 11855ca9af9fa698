"""Timelines of a job's endpoints, and its traffic matrix."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from datamodel.errors import LimitExceededError
from datamodel.frame import Frame
from datamodel.reconstructed.timeline import Timelines
from flowprism.service.queries.jobs.job_queries import iteration_frame, visible
from flowprism.service.queries.lake import kept, kept_timelines
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.scans.scan_records import job as known_job
from storage.lake.selection import Selection

MOST_SPAN_NS = 3_600 * 10**9  # an hour; what lasts longer is seen by its iterations
RECENT_NS = 600 * 10**9  # of the time of an incident: ten windows of a minute are read, of any job
SHOWN_ITERATIONS = 10  # of the newest, by default


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of time, UTC."""

    start_ns: int
    end_ns: int


def timeline(
    stores: Stores, viewer: Viewer, name: str, start_ns: int, end_ns: int, endpoints: Collection[str] | None = None
) -> Timelines | None:
    """Spans of a job that touch [start_ns, end_ns), of some endpoints or all.

    None where there is no such job that the viewer sees.

    Raises:
        StorageError: the database or the lake cannot be reached.
        LimitExceededError: it is more than an hour.
    """
    if not visible(stores, viewer, name):
        return None
    if end_ns - start_ns > MOST_SPAN_NS:
        raise LimitExceededError("spans of more than an hour: ask for a shorter time, or for iterations")
    chosen = None if endpoints is None else frozenset(endpoints)
    return kept_timelines(stores, Selection(start_ns, end_ns, endpoints=chosen, jobs=frozenset({name})))


def of_iterations(stores: Stores, viewer: Viewer, name: str, first: int, last: int) -> TimeSpan | None:
    """The time from iteration `first` to `last`; None where none of them is known, or the job is not seen."""
    if not visible(stores, viewer, name):
        return None
    frame = iteration_frame(stores, name, 0, np.iinfo(np.int64).max)
    wanted = frame.take((frame["index"] >= first) & (frame["index"] <= last))
    if not len(wanted):
        return None
    return TimeSpan(int(wanted["start_ns"].min()), int(wanted["end_ns"].max()))


def newest(
    stores: Stores, viewer: Viewer, name: str, count: int = SHOWN_ITERATIONS, until_ns: int | None = None
) -> TimeSpan | None:
    """The time of a job's newest iterations; where there is none, the hour before it was seen last.

    With `until_ns` of those that ended by then. None where there is no such job that the viewer sees.
    """
    known = known_job(stores.database, name) if visible(stores, viewer, name) else None
    if known is None:
        return None
    end_ns = known.last_seen_ns + 1 if until_ns is None else until_ns + 1
    frame = iteration_frame(stores, name, end_ns - MOST_SPAN_NS, end_ns)
    if not len(frame):
        return TimeSpan(max(end_ns - MOST_SPAN_NS, 0), end_ns)
    last = frame.take(np.arange(max(len(frame) - count, 0), len(frame)))
    start_ns = max(int(last["start_ns"].min()), int(last["end_ns"].max()) - MOST_SPAN_NS)
    return TimeSpan(start_ns, int(last["end_ns"].max()))


@dataclass(frozen=True, slots=True)
class PairWindow:
    """How each pair of a job behaved in one window, and how much of it lies in a stretch of time that was asked for.

    Attributes:
        frame: rows (`scan_history.PAIR_PROFILES`).
        book: of their codes.
        inside, iterations: how many of the window's iterations lie in the stretch, of how many.
    """

    frame: Frame
    book: tuple[str, ...]
    inside: int
    iterations: int

    @property
    def is_of_stretch(self) -> bool:
        """Whether medians over the window's iterations say something of the stretch: half of them lie in it."""
        return 2 * self.inside >= self.iterations


def pairs_during(stores: Stores, viewer: Viewer, name: str, span: TimeSpan) -> PairWindow | None:
    """Return the pairs of the window that covers most of a time range: values of pairs are medians of a whole window.

    That is the window of whose iterations the largest share lies in the stretch; of several the one with most of them,
    then the latest. None where there is no window that touches it, or no such job that the viewer sees.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if not visible(stores, viewer, name):
        return None
    frame, book = kept(stores, "patterns", Selection(span.start_ns, span.end_ns, jobs=frozenset({name})))
    if not len(frame):
        return None
    windows = np.unique(np.stack([frame["start_ns"], frame["end_ns"]], axis=1), axis=0)
    steps = iteration_frame(stores, name, int(windows[:, 0].min()), int(windows[:, 1].max()) + 1)
    middles = (steps["start_ns"] + steps["end_ns"]) // 2
    during = (middles >= span.start_ns) & (middles < span.end_ns)
    candidates = []
    for start_ns, end_ns in windows.tolist():
        own = (middles >= start_ns) & (middles < end_ns)
        inside, of = int(np.count_nonzero(own & during)), int(np.count_nonzero(own))
        candidates.append((inside / max(of, 1), inside, start_ns, end_ns, of))
    _, inside, start_ns, end_ns, of = max(candidates)
    chosen = frame.take((frame["start_ns"] == start_ns) & (frame["end_ns"] == end_ns))
    return PairWindow(chosen, book, inside, of)


def pairs(stores: Stores, viewer: Viewer, name: str, at_ns: int | None = None) -> tuple[Frame, tuple[str, ...]] | None:
    """How each pair of a job behaved (`scan_history.PAIR_PROFILES`) in the window that begins last before a time.

    Args:
        stores: where answers are read from.
        viewer: the caller.
        name: the job's id.
        at_ns: a time inside the window, UTC; None for the newest window.

    Returns:
        The rows and the book of their codes; None where there is no such job that the viewer sees.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    return _in_window(stores, viewer, name, "patterns", at_ns)


def rates(stores: Stores, viewer: Viewer, name: str, at_ns: int | None = None) -> tuple[Frame, tuple[str, ...]] | None:
    """Rates of a job's endpoints over the mean iteration (`endpoint_rates.ENDPOINT_RATES`); arguments as of `pairs`.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    return _in_window(stores, viewer, name, "rates", at_ns)


def _in_window(
    stores: Stores, viewer: Viewer, name: str, kind: str, at_ns: int | None
) -> tuple[Frame, tuple[str, ...]] | None:
    known = known_job(stores.database, name) if visible(stores, viewer, name) else None
    if known is None:
        return None
    at_ns = known.last_seen_ns if at_ns is None else at_ns
    frame, book = kept(stores, kind, Selection(at_ns, at_ns + 1, jobs=frozenset({name})))
    if len(frame):
        frame = frame.take(frame["start_ns"] == frame["start_ns"].max())
        frame = frame.take(frame["end_ns"] == frame["end_ns"].max())
    return frame, book
