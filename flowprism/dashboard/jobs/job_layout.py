"""A job's layout drawn as a grid, each endpoint coloured by how late or slow it was in the newest iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reports.layout import GROUP_KINDS, Groups
from datamodel.service.api_models import JobDetail
from datamodel.service.incidents import Incident
from flowprism.dashboard.jobs.job_measures import MOST_READ, By, Measured, measured, nothing
from flowprism.rendering.endpoint_order import EndpointOrder, Position
from flowprism.rendering.figures.evidence import LINK_KINDS
from flowprism.rendering.figures.layout_grid import block_of, draw_layout
from flowprism.rendering.names import Names
from flowprism.rendering.suspects import pointed_at, slowest
from flowprism.rendering.units import share
from flowprism.service.queries.jobs.endpoint_positions import places
from flowprism.service.queries.jobs.timelines import TimeSpan
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

_MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """One row of the table next to the grid."""

    place: Position
    value: str
    more: str
    suspect: bool


@dataclass(frozen=True, slots=True)
class JobLayout:
    """A job's layout as figure and table.

    Attributes:
        by: the measure that colors the endpoints; "none" where none is known.
        figure: its SVG.
        legend: what the colors stand for.
        block: largest number of endpoints in one cell.
        rows: the worst endpoints, and the suspects.
        groups: process groups by kind.
        suspects: addresses that open incidents point at.
        measured: the values, and the time range they were measured in.
        during: the open incident of that time range; None where it is the latest range.
    """

    by: By
    figure: str
    legend: str
    block: int
    rows: Sequence[PlaceRow]
    groups: Groups
    suspects: frozenset[str]
    measured: Measured
    during: Incident | None

    @property
    def known_groups(self) -> bool:
        """Whether any process group is known."""
        return any(getattr(self.groups, kind) for kind in GROUP_KINDS)


def slowing(incidents: Sequence[Incident]) -> Incident | None:
    """The open incident that slows the job most; None where none is open."""
    return slowest(one for one in incidents if one.state == "open")


def usual(detail: JobDetail, incidents: Sequence[Incident]) -> By:
    """Choose the default measure that colors the endpoints: deliveries during a link incident, else lateness.

    "none" for a job that is too large to read for a page.
    """
    worst = slowing(incidents)
    if worst is not None and worst.kind in LINK_KINDS:
        return "delivery"
    return "late" if len(detail.addresses) <= MOST_READ else "none"


def job_layout(
    stores: Stores, viewer: Viewer, detail: JobDetail, wanted: By | None, incidents: Sequence[Incident], known: Names
) -> JobLayout | None:
    """The layout of a job that the viewer sees, colored by a measure; None where it has no endpoint.

    If the viewer chose no measure and the default one is unknown, bytes sent color it.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    if not detail.addresses:
        return None
    groups = detail.layouts[0].groups if detail.layouts else Groups()
    all_placed = places(stores, detail.addresses, groups)
    suspects = pointed_at(list(incidents), known) & frozenset(detail.addresses)
    during = slowing(incidents)
    span = None if during is None else TimeSpan(*during.measured_ns)
    by = wanted or usual(detail, incidents)
    found = measured(stores, viewer, detail, by, all_placed, span)
    if found is None and wanted is None and by != "none":
        by = "sent"
        found = measured(stores, viewer, detail, by, all_placed, span)
    if found is None:
        found, by = nothing(len(all_placed)), "none"
    figure = draw_layout(all_placed, found.parts, found.describe, suspects, known)
    rows = _rows(all_placed, found, suspects)
    return JobLayout(by, figure, found.legend, block_of(all_placed), rows, groups, suspects, found, during)


def _rows(everyone: EndpointOrder, found: Measured, suspects: frozenset[str]) -> list[PlaceRow]:
    parts = found.parts
    order = np.argsort(np.where(np.isfinite(parts), -parts, np.inf), kind="stable").tolist()
    worst = [n for n in order[:_MOST_ROWS] if np.isfinite(parts[n])]
    named = [n for n, address in enumerate(everyone.addresses) if address in suspects and n not in worst]
    return [
        PlaceRow(everyone[n], _known(found, n), _signed(parts[n]), everyone.addresses[n] in suspects)
        for n in [*worst, *named[:_MOST_ROWS]]
    ]


def _known(found: Measured, n: int) -> str:
    return found.value(float(found.values[n])) if np.isfinite(found.values[n]) else ""


def _signed(part: float) -> str:
    sign = "+" if part >= 0 else "\N{MINUS SIGN}"
    return f"{sign}{share(abs(part))}" if np.isfinite(part) else ""
