"""What an incident rests on: the iterations around its begin, its suspects against their peers, what mending buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np

from datamodel.analysis import Analysis
from datamodel.answers import JobDetail
from datamodel.errors import TooMuchError
from datamodel.findings import Finding
from datamodel.frame import Frame
from datamodel.incidents import Incident
from datamodel.report import JobReport
from datamodel.transfers import PAIRS
from flowprism.dashboard.job_pace import as_finding
from flowprism.rendering.facts import Gain, gain
from flowprism.rendering.figures import evidence
from flowprism.rendering.figures.iterations import IterationRow, draw_iterations, iteration_rows
from flowprism.rendering.names import Names
from flowprism.rendering.order import positions
from flowprism.rendering.suspects import behind_uplink, suspect_addresses
from flowprism.service.answers.analyses import kept_analysis
from flowprism.service.answers.jobs import iteration_frame
from flowprism.service.answers.timelines import MOST_SPAN_NS, Stretch
from flowprism.service.shelf import Shelf
from flowprism.service.viewer import Viewer

_MOST_SPANS = 300_000
_SPANS_AN_ITERATION = 12  # of an endpoint, about
_MOST_ITERATIONS = 240
_BEFORE = 0.35  # of the iterations shown lie before its begin


@dataclass(frozen=True, slots=True)
class IncidentEvidence:
    """What is drawn and told of an incident; None where nothing was kept of it.

    Attributes:
        gain: what mending it buys.
        steps: the figure of iterations around its begin, and its table's rows.
        series: suspects against peers, with its figure.
        late: pairs of the suspects against all others, with its figure.
        left_out: why there is no figure; "" where there is.
    """

    gain: Gain | None = None
    steps: str | None = None
    rows: Sequence[IterationRow] = ()
    series: evidence.PeerSeries | None = None
    series_figure: str | None = None
    late: evidence.LatePairs | None = None
    late_figure: str | None = None
    left_out: str = ""


def incident_evidence(
    shelf: Shelf, viewer: Viewer, one: Incident, detail: JobDetail, names: Names, zone: tzinfo
) -> IncidentEvidence:
    """The evidence of an incident of a job that the viewer sees.

    Raises:
        StorageError: the database or the lake cannot be reached.
    """
    span = _around(shelf, one, detail)
    if span is None:
        return IncidentEvidence(left_out="Of its time no iteration was kept.")
    try:
        analysis = kept_analysis(shelf, viewer, detail.id, span)
    except TooMuchError as error:
        return IncidentEvidence(left_out=f"Too much to draw: {error}.")
    if analysis is None or not analysis.report.jobs[0].iterations:
        return IncidentEvidence(left_out="Of its time no iteration was kept.")
    return _drawn(analysis, as_finding(one, span.end_ns), names, zone)


def _around(shelf: Shelf, one: Incident, detail: JobDetail) -> Stretch | None:
    """The time of the iterations around an incident's begin, not more than can be read for a page."""
    many = _MOST_SPANS // (_SPANS_AN_ITERATION * max(detail.endpoints, 1))
    many = min(max(many, 2), _MOST_ITERATIONS)
    reach_ns = min(int((detail.period_s or 1.0) * 1e9 * many * 2), MOST_SPAN_NS)
    frame = iteration_frame(shelf, detail.id, one.start_ns - reach_ns, one.start_ns + reach_ns)
    if not len(frame):
        return None
    begun = int(np.searchsorted(frame["end_ns"], one.start_ns, "right"))
    last = min(max(begun - round(many * _BEFORE), 0) + many, len(frame))
    few = frame.take(np.arange(max(last - many, 0), last))
    start_ns, end_ns = int(few["start_ns"].min()), int(few["end_ns"].max())
    return Stretch(start_ns, min(end_ns, start_ns + MOST_SPAN_NS))


def _drawn(analysis: Analysis, finding: Finding, names: Names, zone: tzinfo) -> IncidentEvidence:
    job = analysis.report.jobs[0]
    suspects = suspect_addresses(job, [finding], names)
    series = evidence.peer_series(finding, job, analysis.timelines, positions(job), suspects)
    late = _late(analysis, finding, job, suspects, names)
    return IncidentEvidence(
        gain=gain(job, finding),
        steps=draw_iterations(job, [finding], analysis.report.events, zone),
        rows=iteration_rows(job, [finding]),
        series=series,
        series_figure=None if series is None else evidence.draw_peers(series, finding, job, names),
        late=late,
        late_figure=None if late is None else evidence.draw_late_pairs(late, names),
    )


def _late(
    analysis: Analysis, finding: Finding, job: JobReport, suspects: frozenset[str], names: Names
) -> evidence.LatePairs | None:
    if finding.kind not in evidence.LINK_KINDS:
        return None
    none = Frame(PAIRS, {column.name: [] for column in PAIRS})
    touched = suspects or behind_uplink(finding, names)
    return evidence.late_pairs(analysis.pairs.get(job.id, none), analysis.timelines, touched, across=not suspects)
