"""What can colour a job's layout: one number for each endpoint, by the newest iterations or the newest window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamodel.service.api_models import JobDetail
from flowprism.dashboard.timeline.lateness import Codes, shares
from flowprism.rendering.endpoint_order import EndpointOrder
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.evidence import slowness
from flowprism.rendering.units import duration, share, significant, volume
from flowprism.service.queries.jobs.timelines import PairWindow, TimeSpan, newest, pairs, pairs_during, timeline
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

By = Literal["late", "compute", "network", "wait", "delivery", "sent", "none"]
MEASURES: dict[By, str] = {
    "late": "lateness at collectives",
    "compute": "time computing",
    "network": "time sending and receiving",
    "wait": "time waiting",
    "delivery": "how long their pairs take to deliver",
    "sent": "bytes sent",
    "none": "suspicion only",
}
MOST_READ = 20_000  # endpoints times iterations whose spans are read for a page
_MOST_ITERATIONS = 10
_OF_ITERATION = "More than its stage's median, as part of an iteration:"


@dataclass(frozen=True, slots=True)
class Measured:
    """One value for each endpoint, and its deviation from the peers.

    Attributes:
        values: in the measure's own unit, shape (endpoints,); nan is unknown.
        parts: relative deviation, 0.05 being 5 %, shape (endpoints,); nan is unknown.
        legend: what `parts` are relative to.
        value: formats a value.
        compared: formats a value with its deviation.
        span: the time range measured; None where nothing is known.
        window: the stored window of pairs that overlaps an incident most; None for other measures.
    """

    values: Floats
    parts: Floats
    legend: str
    value: Callable[[float], str]
    compared: Callable[[float, float], str]
    span: TimeSpan | None = None
    window: PairWindow | None = None

    def describe(self, n: int) -> str:
        """Return the value of endpoint `n` as text, with its deviation where that is known."""
        value, part = float(self.values[n]), float(self.parts[n])
        if not np.isfinite(value):
            return "nothing is known of it"
        return self.compared(value, part) if np.isfinite(part) else self.value(value)


def nothing(endpoints: int) -> Measured:
    """Return a measure without values, for jobs without stored data or without a chosen measure."""
    unknown = np.full(endpoints, np.nan)
    return Measured(unknown, unknown, "", _times, _times)


def measured(
    stores: Stores, viewer: Viewer, detail: JobDetail, by: By, places: EndpointOrder, during: TimeSpan | None = None
) -> Measured | None:
    """A measure of the endpoints of a job that the viewer sees; None where nothing of it was kept.

    With `during` of that time, an incident's; else of the newest iterations or the newest window.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if by == "none":
        return None
    found = (_of_pairs if by in {"delivery", "sent"} else _of_spans)(stores, viewer, detail, by, places, during)
    return found if found is not None and np.isfinite(found.values).any() else None


def _of_spans(
    stores: Stores, viewer: Viewer, detail: JobDetail, by: By, places: EndpointOrder, during: TimeSpan | None
) -> Measured | None:
    """Measure seconds per iteration, relative to the median of the pipeline stage."""
    span = _read_span(stores, viewer, detail, places, during)
    read = None if span is None else timeline(stores, viewer, detail.id, span.start_ns, span.end_ns)
    if span is None or read is None or not len(read.spans):
        return None
    mean = shares(read.spans, _codes(read.addresses, places), places)
    values = {"late": mean.late_s, "compute": mean.compute_s, "network": mean.network_s, "wait": mean.wait_s}[by]
    many = len(np.unique(read.spans["iteration"]))
    iteration_s = (span.end_ns - span.start_ns) / 1e9 / many
    parts = (values - _stage_medians(values, places)) / iteration_s
    return Measured(values, parts, _OF_ITERATION, duration, _lateness if by == "late" else _time, span)


def _read_span(
    stores: Stores, viewer: Viewer, detail: JobDetail, places: EndpointOrder, during: TimeSpan | None
) -> TimeSpan | None:
    """The time of as many iterations as can be read for a page: the last ones of an incident's time, or the newest."""
    count = max(min(_MOST_ITERATIONS, MOST_READ // len(places)), 1)
    span = newest(stores, viewer, detail.id, count, None if during is None else during.end_ns)
    if span is None or during is None:
        return span
    return TimeSpan(min(max(span.start_ns, during.start_ns), span.end_ns), span.end_ns)


def _of_pairs(
    stores: Stores, viewer: Viewer, detail: JobDetail, by: By, places: EndpointOrder, during: TimeSpan | None
) -> Measured | None:
    """Of the pairs of a window that an endpoint is in: their lateness, or the bytes that it sent.

    The lateness is the median of those that it sends to, or of those it receives from where that is larger: a link is
    slow one way or both. Of two in the middle the lower one counts, because a pair may be late by its other end.
    """
    window = None if during is None else pairs_during(stores, viewer, detail.id, during)
    if by == "delivery" and during is not None and window is not None and 2 * window.inside < window.iterations:
        found = _moving(stores, viewer, detail, places, during)
        if found is not None:
            return found
    frame, book = (window.frame, window.book) if window else pairs(stores, viewer, detail.id) or (None, ())
    if frame is None or not len(frame):
        return None
    span = TimeSpan(int(frame["start_ns"][0]), int(frame["end_ns"][0]))
    codes = _codes(book, places)
    place = np.full(len(book) + 1, -1, np.int64)
    place[codes] = np.arange(len(places))
    place[-1] = -1  # where an endpoint's code was unknown
    src, dst = place[frame["src"]], place[frame["dst"]]
    if by == "sent":
        sent = np.bincount(src[src >= 0], weights=frame["bytes"][src >= 0], minlength=len(places)).astype(np.float64)
        usual = _stage_medians(sent, places)
        parts = np.divide(sent - usual, usual, out=np.full(len(sent), np.nan), where=usual > 0)
        return Measured(sent, parts, "More than its stage's median:", _volume, _volumes, span, window)
    late = frame["late_ratio"].astype(np.float64)
    values = np.fmax(*(_medians(end, late, len(places)) for end in (src, dst)))
    return Measured(values, values - 1, "Longer than their peers:", _times, _times, span, window)


def _moving(
    stores: Stores, viewer: Viewer, detail: JobDetail, places: EndpointOrder, during: TimeSpan
) -> Measured | None:
    """How long endpoints take to move a byte in an incident's iterations: windows of pairs show too few of them."""
    span = _read_span(stores, viewer, detail, places, during)
    read = None if span is None else timeline(stores, viewer, detail.id, span.start_ns, span.end_ns)
    if span is None or read is None or not len(read.spans):
        return None
    _, number = np.unique(read.spans["iteration"], return_inverse=True)
    table = slowness(read.spans.replace(iteration=number), _codes(read.addresses, places))
    known = np.isfinite(table).any(axis=0)
    values = np.full(len(places), np.nan)
    values[known] = np.nanmedian(table[:, known], axis=0)
    return Measured(values, values - 1, "Longer to move a byte than the job's median:", _paces, _paces, span)


def _codes(book: Sequence[str], places: EndpointOrder) -> Codes:
    """Code of each endpoint in a book, -1 where it is not there."""
    code_of = {text: code for code, text in enumerate(book)}
    return np.array([code_of.get(address, -1) for address in places.addresses], np.int64)


def _stage_medians(values: Floats, places: EndpointOrder) -> Floats:
    """For each endpoint the median of its pipeline stage."""
    stages, stage = np.unique(places.stages, return_inverse=True)
    return _medians(stage, values, len(stages))[stage]


def _medians(group: Codes, values: Floats, groups: int) -> Floats:
    """Median of the known values of each group, of two in the middle the lower one; nan where it has none."""
    known = np.isfinite(values) & (group >= 0)
    order = np.lexsort((values[known], group[known]))
    bounds = np.searchsorted(group[known][order], np.arange(groups + 1))
    medians, some = np.full(groups, np.nan), np.diff(bounds) > 0
    medians[some] = values[known][order][((bounds[:-1] + bounds[1:] - 1) // 2)[some]]
    return medians


def _time(value_s: float, part: float) -> str:
    return f"{duration(value_s)} an iteration, {_more(part)}"


def _lateness(value_s: float, part: float) -> str:
    way = "later" if value_s >= 0 else "earlier"
    return f"{duration(abs(value_s))} {way} than its stage, {_more(part)}"


def _more(part: float) -> str:
    return f"{share(abs(part))} of an iteration {'more' if part >= 0 else 'less'} than its stage's median"


def _times(ratio: float, _part: float = 0.0) -> str:
    return f"{significant(ratio)} times as long as its peers"


def _paces(ratio: float, _part: float = 0.0) -> str:
    return f"{significant(ratio)} times as long to move a byte as the job's median"


def _volume(value: float) -> str:
    return volume(round(value))


def _volumes(value: float, part: float) -> str:
    return f"{_volume(value)} sent, {share(abs(part))} {'more' if part >= 0 else 'less'} than its stage's median"
