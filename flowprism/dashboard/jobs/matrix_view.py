"""What the matrix page shows: which endpoints, in which order, and which pairs stand out among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame, empty
from datamodel.reconstructed.transfers import ROLES, rate_name
from datamodel.reports.layout import GROUP_KINDS, Groups
from datamodel.service.api_models import JobDetail
from datamodel.service.filters import IncidentFilter
from datamodel.service.incidents import Incident
from datamodel.service.scan_history import PAIR_PROFILES
from flowprism.dashboard.jobs.job_layout import slowing
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats
from flowprism.rendering.figures.heatmap import Heat, Measure, heat, hot, standing_out
from flowprism.rendering.figures.iterations import WITHIN
from flowprism.rendering.names import Names
from flowprism.rendering.suspects import pointed_at
from flowprism.service.queries.incidents.incident_queries import incident, incidents
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.queries.jobs.endpoint_positions import places
from flowprism.service.queries.jobs.timelines import RECENT_NS, TimeSpan, pairs, pairs_during
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

GROUP_NAMES = {"dp": "gradient", "pp": "pipeline", "tp": "tensor", "ep": "expert", "cp": "context"}
MOST_GROUPS = 64  # of a kind that are listed to choose from
MOST_PAIRS = 200  # in the table
BY_STAGE = "stage"
SUSPECTS = "suspects"


@dataclass(frozen=True, slots=True)
class MatrixSelection:
    """What the address asks for.

    Attributes:
        measure: by which cells are shaded.
        order: "stage", or a kind of group.
        only: "" for all endpoints, "stage 2", "dp 3" or "suspects" for some.
        at_ns: a time in the window that is wanted.
        incident: id of the incident that the window should overlap most. Without it and without `at_ns` that is the
            open incident that slows the job most; where none is open the latest window is shown.
    """

    measure: Measure = "volume"
    order: str = BY_STAGE
    only: str = ""
    at_ns: int | None = None
    incident: str = ""


@dataclass(frozen=True, slots=True)
class PairRow:
    """One pair in the table; `within` is half of a 95 % interval, 0 of what was counted packet by packet."""

    src: str
    dst: str
    role: str
    moved_bytes: int
    within_bytes: float
    transfers: int
    rate_bps: float | None
    rate_within_bps: float
    rate_name: str
    port_bps: float | None
    late_ratio: float | None


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The matrix of one job in one window.

    Attributes:
        shown: its cells.
        names: what people call endpoints.
        suspects: addresses that open incidents point at.
        endpoints: how many the job has.
        orders: what it may be ordered by: value and name.
        choices: which endpoints may be shown alone: value and name.
        start_ns, end_ns: the window; None where nothing was kept.
        during: the incident whose time the window was chosen for, with how many iterations of the window are of it.
        pairs: those that stand out most, by the measure.
        of_pairs: how many there are among the endpoints shown.
        senders, receivers: rows and columns that stand out, in words.
        part_of: which part of the order an endpoint belongs to.
        known: whether the measure is known of any pair.
        transfers: whether single transfers are.
    """

    shown: Heat
    names: Names
    suspects: frozenset[str]
    endpoints: int
    orders: tuple[tuple[str, str], ...]
    choices: tuple[tuple[str, str], ...]
    start_ns: int | None
    end_ns: int | None
    during: tuple[Incident, int, int] | None
    pairs: tuple[PairRow, ...]
    of_pairs: int
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    part_of: Callable[[Position], int | None]
    known: bool
    transfers: bool


def matrix_view(stores: Stores, viewer: Viewer, now_ns: int, found: JobDetail, wanted: MatrixSelection) -> MatrixView:
    """The matrix of a job.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    known = names(stores)
    open_now = incidents(stores, viewer, now_ns, IncidentFilter(job=found.id))
    case = _case(stores, viewer, now_ns, found.id, wanted, [row.incident for row in open_now])
    window = None if case is None else pairs_during(stores, viewer, found.id, TimeSpan(*case.recent_ns(RECENT_NS)))
    frame, book = (window.frame, window.book) if window else pairs(stores, viewer, found.id, wanted.at_ns) or (None, ())
    suspects = pointed_at([row.incident for row in open_now], known).intersection(found.addresses)
    groups = found.layouts[0].groups if found.layouts else Groups()
    everyone = places(stores, found.addresses, groups)
    part_of = _part_of(wanted.order)
    order = sorted(_only(everyone, suspects, wanted.only), key=lambda p: (_last(part_of(p)), p.number))
    stored = empty(PAIR_PROFILES) if frame is None else frame
    shown = heat(stored, book, order, wanted.measure)
    start_ns, end_ns = (int(stored[side].max()) if len(stored) else None for side in ("start_ns", "end_ns"))
    heat_of_pairs = standing_out(shown.pairs, shown.measure)
    hottest = np.argsort(-np.nan_to_num(heat_of_pairs, nan=-1.0), kind="stable")[:MOST_PAIRS]
    return MatrixView(
        shown, known, suspects, len(everyone), _orders(groups), _choices(everyone, groups, suspects), start_ns, end_ns,
        (case, window.inside, window.iterations) if case and window else None,
        tuple(_row(shown, n, known) for n in hottest.tolist()), len(shown.pairs),
        _standing_out(shown, shown.rows, known), _standing_out(shown, shown.columns, known), part_of,
        bool(np.isfinite(heat_of_pairs).any()), bool(shown.pairs["transfers"].any()),
    )  # fmt: skip


def _case(
    stores: Stores, viewer: Viewer, now_ns: int, job: str, wanted: MatrixSelection, open_now: Sequence[Incident]
) -> Incident | None:
    """The incident whose time is wanted."""
    if wanted.at_ns is not None:
        return None
    if not wanted.incident:
        return slowing(open_now)
    named = incident(stores, viewer, now_ns, wanted.incident)
    return named.incident if named is not None and named.incident.job == job else None


def _part_of(order: str) -> Callable[[Position], int | None]:
    if order == BY_STAGE:
        return lambda position: position.stage
    return lambda position: next((int(g.split()[1]) for g in position.groups if g.startswith(f"{order} ")), None)


def _last(part: int | None) -> tuple[bool, int]:
    return part is None, part or 0


def _only(everyone: Sequence[Position], suspects: frozenset[str], only: str) -> list[Position]:
    if only == SUSPECTS:
        near = {group for p in everyone if p.address in suspects for group in p.groups}
        return [p for p in everyone if p.address in suspects or near.intersection(p.groups)]
    kind, _, number = only.partition(" ")
    if kind == BY_STAGE and number.isdecimal():
        return [p for p in everyone if p.stage == int(number)]
    return [p for p in everyone if only in p.groups] if only else list(everyone)


def _orders(groups: Groups) -> tuple[tuple[str, str], ...]:
    kinds = [kind for kind in GROUP_KINDS if getattr(groups, kind)]
    return (BY_STAGE, "stage"), *((kind, f"{GROUP_NAMES[kind]} group") for kind in kinds)


def _choices(everyone: Sequence[Position], groups: Groups, suspects: frozenset[str]) -> tuple[tuple[str, str], ...]:
    stages = sorted({p.stage for p in everyone if p.stage is not None})
    choices = [("", "all endpoints")]
    if suspects:
        choices.append((SUSPECTS, "suspects and their groups"))
    choices += [(f"stage {stage}", f"stage {stage}") for stage in stages]
    for kind in GROUP_KINDS:
        many = len(getattr(groups, kind))
        choices += [(f"{kind} {n}", f"{GROUP_NAMES[kind]} group {n}") for n in range(1, min(many, MOST_GROUPS) + 1)]
    return tuple(choices)


def _row(shown: Heat, n: int, known: Names) -> PairRow:
    pair = shown.pairs
    rate, late = float(pair["rate_bps"][n]), float(pair["late_ratio"][n])
    src, dst = (shown.addresses[int(pair[end][n])] for end in ("src", "dst"))
    port = known.port_bps(src, dst)
    return PairRow(
        known.full(src), known.full(dst),
        ROLES[int(pair["role"][n])], int(pair["bytes"][n]), _within(pair, "bytes_error", n), int(pair["transfers"][n]),
        rate if np.isfinite(rate) else None, _within(pair, "rate_error_bps", n),
        rate_name(rate, port) if np.isfinite(rate) else "", port,
        late if np.isfinite(late) else None,
    )  # fmt: skip


def _within(pair: Frame, name: str, n: int) -> float:
    return WITHIN * float(pair[name][n])


def _standing_out(shown: Heat, margin: Floats, known: Names) -> tuple[str, ...]:
    blocks = shown.blocks()
    return tuple(
        known.full(block[0].address) if len(block) == 1 else f"{block[0].number} to {block[-1].number}"
        for block in (blocks[n] for n in hot(margin))
    )
