"""Evidence of an incident: iterations around its start, suspects against their peers, and the expected gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np

from datamodel.frame import empty
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reports.findings import Finding
from datamodel.reports.report import JobReport
from datamodel.service.api_models import JobDetail
from datamodel.service.filters import EventFilter
from datamodel.service.incidents import Incident
from flowprism.dashboard.jobs.job_iteration_times import as_findings, job_of
from flowprism.dashboard.time_range import TimeRange
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import ExpectedGain, compute_gain
from flowprism.rendering.figures import evidence
from flowprism.rendering.figures.iterations import IterationRow, draw_iterations, iteration_rows
from flowprism.rendering.names import Names
from flowprism.rendering.suspects import behind_uplink, suspect_addresses
from flowprism.service.queries.jobs.endpoint_positions import places
from flowprism.service.queries.jobs.events import events
from flowprism.service.queries.jobs.job_queries import iteration_frame
from flowprism.service.queries.jobs.timelines import (
    MOST_SPAN_NS,
    RECENT_NS,
    PairWindow,
    TimeSpan,
    pairs_during,
    timeline,
)
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

_MOST_SPANS = 150_000
_SPANS_AN_ITERATION = 12  # of an endpoint, about
_MOST_ITERATIONS = 240
_MOST_PEERS = 500
_BEFORE = 0.35  # of the iterations shown lie before its begin


@dataclass(frozen=True, slots=True)
class IncidentEvidence:
    """Figures and tables of an incident; a field is None where nothing was stored for it.

    Attributes:
        gain: expected gain if fixed.
        steps: figure of the iterations around its start; rows: the same as a table.
        series: suspects against peers; series_figure draws it.
        peers: number of peers; of more than _MOST_PEERS an evenly spaced selection is read.
        late: pairs of the suspects against all others, with figure and the window they were measured in; no pairs
            where most of that window lies outside the incident's time, for they are medians of the whole window.
        left_out: why there is no figure; "" where there is one.
    """

    gain: ExpectedGain | None = None
    steps: str | None = None
    rows: Sequence[IterationRow] = ()
    series: evidence.PeerSeries | None = None
    series_figure: str | None = None
    peers: int = 0
    late: evidence.LatePairs | None = None
    late_window: PairWindow | None = None
    late_figure: str | None = None
    left_out: str = ""


def incident_evidence(
    stores: Stores, viewer: Viewer, one: Incident, detail: JobDetail, names: Names, zone: tzinfo
) -> IncidentEvidence:
    """Collect the evidence of an incident of a job that the viewer may see.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    span = _around(stores, one, detail, _MOST_ITERATIONS)
    job = None if span is None else job_of(stores, detail, span)
    if span is None or job is None or not job.iterations:
        return IncidentEvidence(left_out="Of its time no iteration was kept.")
    finding, stretches = one.as_finding(span.end_ns), as_findings(one, span)
    suspects = suspect_addresses(job, [finding], names)
    happened = events(stores, viewer, EventFilter(job=job.id, start_ns=span.start_ns, end_ns=span.end_ns))
    series, peers = _series(stores, viewer, detail, job, finding, suspects)
    window = None
    if finding.kind in evidence.LINK_KINDS:
        window = pairs_during(stores, viewer, job.id, TimeSpan(*one.recent_ns(RECENT_NS)))
    late = None if window is None or not window.is_of_stretch else _late(window, finding, suspects, names)
    return IncidentEvidence(
        gain=compute_gain(job, finding),
        steps=draw_iterations(job, stretches, happened[::-1], zone),
        rows=iteration_rows(job, stretches),
        series=series,
        series_figure=None if series is None else evidence.draw_peers(series, stretches, job, names),
        peers=peers,
        late=late,
        late_window=window,
        late_figure=None if late is None else evidence.draw_late_pairs(late, names),
    )


def _around(stores: Stores, one: Incident | Finding, detail: JobDetail, many: int) -> TimeRange | None:
    """Return the time range of `many` iterations around the start of an incident; None where none is stored there."""
    reach_ns = min(int((detail.period_s or 1.0) * 1e9 * many * 2), MOST_SPAN_NS)
    frame = iteration_frame(stores, detail.id, one.start_ns - reach_ns, one.start_ns + reach_ns)
    if not len(frame):
        return None
    begun = int(np.searchsorted(frame["end_ns"], one.start_ns, "right"))
    last = min(max(begun - round(many * _BEFORE), 0) + many, len(frame))
    few = frame.take(np.arange(max(last - many, 0), last))
    start_ns, end_ns = int(few["start_ns"].min()), int(few["end_ns"].max())
    return TimeRange(start_ns, min(end_ns, start_ns + MOST_SPAN_NS))


def _series(
    stores: Stores, viewer: Viewer, detail: JobDetail, job: JobReport, finding: Finding, suspects: frozenset[str]
) -> tuple[evidence.PeerSeries | None, int]:
    """Compare suspects with their peers over as many iterations as a page may read; also count the peers."""
    if not suspects:
        return None, 0
    everyone = places(stores, job.endpoints, job.groups)
    stages = {p.stage for p in everyone if p.address in suspects}
    same = [p for p in everyone if p.address not in suspects and p.stage in stages]
    peers = same if same and finding.kind != "imbalance" else [p for p in everyone if p.address not in suspects]
    few = even(peers, _MOST_PEERS) + even([p for p in everyone if p.address in suspects], _MOST_PEERS)
    many = min(max(_MOST_SPANS // (_SPANS_AN_ITERATION * len(few)), 2), _MOST_ITERATIONS)
    span = _around(stores, finding, detail, many)
    addresses = [p.address for p in few]
    found = None if span is None else timeline(stores, viewer, job.id, span.start_ns, span.end_ns, addresses)
    if found is None:
        return None, 0
    drawn = sorted(few, key=lambda p: p.number)
    return evidence.peer_series(finding, job, found, drawn, suspects), len(peers)


def even(some: Sequence[Position], most: int) -> list[Position]:
    """Select at most `most` positions, evenly spaced."""
    return list(some[:: max(-(-len(some) // most), 1)])


def _late(window: PairWindow, finding: Finding, suspects: frozenset[str], names: Names) -> evidence.LatePairs | None:
    """Measure how late pairs deliver, for faults of links; None where none can be compared."""
    touched = suspects or behind_uplink(finding, names)
    no_spans = Timelines(empty(SPANS), window.book, (), ())
    return evidence.late_pairs(window.frame, no_spans, touched, across=not suspects)
