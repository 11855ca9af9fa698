"""A job's layout drawn as a grid, each endpoint coloured by how late or slow it was in the newest iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from datamodel.answers import JobDetail
from datamodel.incidents import Incident
from datamodel.layout import Groups
from flowprism.dashboard.timeline.lateness import shares
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.layout_grid import block_of, draw_layout
from flowprism.rendering.names import Names
from flowprism.rendering.order import Position, placed
from flowprism.rendering.suspects import pointed_at
from flowprism.rendering.units import duration, share
from flowprism.service.answers.timelines import newest, timeline
from flowprism.service.shelf import Shelf
from flowprism.service.viewer import Viewer

By = Literal["late", "compute", "network", "wait", "none"]
MEASURES: dict[By, str] = {
    "late": "how late they came to meet the others",
    "compute": "time computing",
    "network": "time sending and receiving",
    "wait": "time waiting",
    "none": "suspicion only",
}
_MOST_READ = 20_000  # endpoints times iterations whose spans are read for a page
_MOST_ITERATIONS = 10
_MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """One row of the table beside the grid."""

    place: Position
    value: str
    more: str
    suspect: bool


@dataclass(frozen=True, slots=True)
class JobLayout:
    """What is drawn and told of a job's layout.

    Attributes:
        by: what colours the endpoints; "none" where nothing is known of them.
        figure: its markup.
        block: how many endpoints share a cell at most.
        rows: the worst endpoints, and those under suspicion.
        groups: process groups by kind.
        suspects: addresses that open incidents point at.
    """

    by: By
    figure: str
    block: int
    rows: Sequence[PlaceRow]
    groups: Groups
    suspects: frozenset[str]


def usual(detail: JobDetail) -> By:
    """What colours the endpoints where nobody says: lateness, unless too much would have to be read for it."""
    return "late" if len(detail.addresses) <= _MOST_READ else "none"


def job_layout(
    shelf: Shelf, viewer: Viewer, detail: JobDetail, by: By, incidents: Sequence[Incident], known: Names
) -> JobLayout | None:
    """The layout of a job that the viewer sees; None where it has no endpoint.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if not detail.addresses:
        return None
    groups = detail.layouts[0].groups if detail.layouts else Groups()
    all_placed = everyone(detail.addresses, groups)
    suspects = pointed_at(list(incidents), known) & frozenset(detail.addresses)
    values = None if by == "none" else _values(shelf, viewer, detail, by, all_placed)
    if values is None:
        values, by = np.full(len(all_placed), np.nan), "none"
    parts = _parts(values, all_placed, detail.iteration_s or detail.period_s)

    def told(n: int) -> str:
        return _told(by, float(values[n]), float(parts[n]))

    figure = draw_layout(all_placed, parts, told, suspects, known)
    return JobLayout(by, figure, block_of(all_placed), _rows(all_placed, values, parts, suspects), groups, suspects)


@lru_cache(maxsize=4)
def everyone(addresses: tuple[str, ...], groups: Groups) -> list[Position]:
    """Where endpoints stand; kept because of a hundred thousand it takes longer than all the rest of a page."""
    return placed(addresses, groups)


def _values(shelf: Shelf, viewer: Viewer, detail: JobDetail, by: By, places: Sequence[Position]) -> Floats | None:
    """Seconds per iteration of each endpoint; None where no span was kept."""
    count = max(min(_MOST_ITERATIONS, _MOST_READ // len(places)), 1)
    span = newest(shelf, viewer, detail.id, count)
    read = None if span is None else timeline(shelf, viewer, detail.id, span.start_ns, span.end_ns)
    if read is None or not len(read.spans):
        return None
    code_of = {address: code for code, address in enumerate(read.addresses)}
    codes = np.array([code_of.get(p.address, -1) for p in places], np.int64)
    told = shares(read.spans, codes, places)
    each = {"late": told.late_s, "compute": told.compute_s, "network": told.network_s, "wait": told.wait_s}
    values: Floats = each[by]
    return values if np.isfinite(values).any() else None


def _parts(values: Floats, places: Sequence[Position], iteration_s: float | None) -> Floats:
    """What is more than the median of the pipeline stage, as a part of an iteration; nan is unknown."""
    stages = np.array([-1 if p.stage is None else p.stage for p in places])
    parts = np.full(len(values), np.nan)
    for stage in np.unique(stages):
        own = (stages == stage) & np.isfinite(values)
        if own.any():
            parts[own] = values[own] - np.median(values[own])
    return parts / iteration_s if iteration_s else parts * np.nan


def _told(by: By, value_s: float, part: float) -> str:
    if not np.isfinite(value_s):
        return "no span is known"
    words = f"{duration(value_s)} an iteration"
    if by == "late":
        words = f"{duration(abs(value_s))} {'later' if value_s >= 0 else 'earlier'} than its stage"
    return f"{words}, {_more(part)}" if np.isfinite(part) else words


def _more(part: float) -> str:
    return f"{share(part)} of an iteration {'more' if part >= 0 else 'less'} than its stage's median".replace("-", "")


def _rows(places: Sequence[Position], values: Floats, parts: Floats, suspects: frozenset[str]) -> list[PlaceRow]:
    order = np.argsort(np.where(np.isfinite(parts), -parts, np.inf), kind="stable").tolist()
    worst = [n for n in order[:_MOST_ROWS] if np.isfinite(parts[n])]
    named = [n for n in range(len(places)) if places[n].address in suspects and n not in worst]
    return [
        PlaceRow(places[n], _seconds(values[n]), _signed(parts[n]), places[n].address in suspects)
        for n in [*worst, *named[:_MOST_ROWS]]
    ]


def _seconds(value: float) -> str:
    return duration(value) if np.isfinite(value) else ""


def _signed(part: float) -> str:
    sign = "+" if part >= 0 else "\N{MINUS SIGN}"
    return f"{sign}{share(abs(part))}" if np.isfinite(part) else ""
