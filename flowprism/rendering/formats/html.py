"""The report as one page that needs nothing else: styles and figures inside, no script, no request.

The content security policy of the page allows its own style sheet by hash and nothing more, so an address or a label
that carries markup could do nothing even if escaping failed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jinja2 import Environment, PackageLoader

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from datamodel.reconstructed.transfers import PAIRS
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event, Finding
from datamodel.reports.report import JobReport
from flowprism.rendering import phrases, units
from flowprism.rendering.endpoint_order import Position, positions
from flowprism.rendering.facts import ExpectedGain, by_severity, compute_gain, inside, iteration_seconds, job_of
from flowprism.rendering.figures import evidence, heatmap, iterations, timeline
from flowprism.rendering.figures.mean_rates import MeanRates, mean_rates
from flowprism.rendering.names import Names
from flowprism.rendering.suspects import behind_uplink, suspect_addresses
from flowprism.rendering.templating import templates_of

_MOST_TABLE_PAIRS = 60
_MOST_GRID_NAMES = 128


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding with what the page draws for it."""

    finding: Finding
    job: JobReport | None
    gain: ExpectedGain | None
    series: evidence.PeerSeries | None
    series_figure: str | None
    late: evidence.LatePairs | None
    late_figure: str | None


@dataclass(frozen=True, slots=True)
class TimelineView:
    """The timeline of one iteration and, for its table, seconds by endpoint and kind of span."""

    iteration: int
    figure: str
    shown: int
    endpoints: int
    kinds: tuple[str, ...]
    totals: tuple[tuple[Position, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class JobPanel:
    """A job with what the page draws for it."""

    job: JobReport
    placed: Sequence[Position]
    suspects: frozenset[str]
    events: tuple[Event, ...]
    iterations_figure: str | None
    iteration_rows: list[iterations.IterationRow]
    timeline: TimelineView | None
    mean: MeanRates | None
    matrix: heatmap.Heat
    matrix_figure: str
    matrix_rows: list[tuple[str, str, str]]
    grid: list[tuple[int | None, list[list[Position]]]]
    grid_named: bool


def render_html(analysis: Analysis, names: Names) -> str:
    """The whole page; the same analysis and names always give the same bytes."""
    environment = _environment()
    loader = environment.loader or PackageLoader("flowprism.rendering")
    style = "".join(loader.get_source(environment, file)[0] for file in ("figures.css", "report.css"))
    report = analysis.report
    page = environment.get_template("report.html").render(
        report=report,
        verdict=phrases.verdict(report),
        findings=[_finding_view(analysis, finding, names) for finding in by_severity(report)],
        jobs=[_job_view(analysis, job, names) for job in report.jobs],
        names=names,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )
    return page + "\n"


@cache
def _environment() -> Environment:
    return templates_of("flowprism.rendering", units=units, wording=phrases, roles=heatmap.roles)


def _finding_view(analysis: Analysis, finding: Finding, names: Names) -> FindingView:
    job = job_of(analysis.report, finding)
    if job is None:
        return FindingView(finding, None, None, None, None, None, None)
    suspects = suspect_addresses(job, [finding], names)
    series = evidence.peer_series(finding, job, analysis.timelines, positions(job), suspects)
    figure = None if series is None else evidence.draw_peers(series, [finding], job, names)
    late = _late_pairs(analysis, finding, job, suspects, names)
    late_figure = None if late is None else evidence.draw_late_pairs(late, names)
    return FindingView(finding, job, compute_gain(job, finding), series, figure, late, late_figure)


def _late_pairs(
    analysis: Analysis, finding: Finding, job: JobReport, suspects: frozenset[str], names: Names
) -> evidence.LatePairs | None:
    if finding.kind not in evidence.LINK_KINDS:
        return None
    touched = suspects or behind_uplink(finding, names)
    return evidence.late_pairs(_pairs(analysis, job), analysis.timelines, touched, across=not suspects)


def _pairs(analysis: Analysis, job: JobReport) -> Frame:
    none = Frame(PAIRS, {column.name: [] for column in PAIRS})
    return analysis.pairs.get(job.id, none)


def _job_view(analysis: Analysis, job: JobReport, names: Names) -> JobPanel:
    findings = [f for f in by_severity(analysis.report) if f.job == job.id]
    events = tuple(e for e in analysis.report.events if e.job == job.id)
    placed = positions(job)
    suspects = suspect_addresses(job, findings, names)
    matrix = heatmap.heat(_pairs(analysis, job), analysis.timelines.addresses, placed, "volume")
    return JobPanel(
        job=job,
        placed=placed,
        suspects=suspects,
        events=events,
        iterations_figure=iterations.draw_iterations(job, findings, events) if job.iterations else None,
        iteration_rows=iterations.iteration_rows(job, findings) if job.iterations else [],
        timeline=_timeline_view(analysis.timelines, job, findings, placed, suspects, names),
        mean=_mean_rates(analysis, job, findings, placed, suspects, names),
        matrix=matrix,
        matrix_figure=heatmap.draw_heat(matrix, suspects, names),
        matrix_rows=heatmap.table(matrix, names, _MOST_TABLE_PAIRS),
        grid=_grid(placed),
        grid_named=len(placed) <= _MOST_GRID_NAMES,
    )


def _timeline_view(
    timelines: Timelines,
    job: JobReport,
    findings: list[Finding],
    placed: Sequence[Position],
    suspects: frozenset[str],
    names: Names,
) -> TimelineView | None:
    index = timeline.representative(job, findings, timelines)
    if index is None:
        return None
    spans = timeline.spans_of(timelines, job.id)
    spans = spans.take(spans["iteration"] == index)
    shown = timeline.selected(placed, suspects)
    figure = timeline.draw_timeline(spans, timelines, shown, suspects, names)
    kinds = tuple(SPAN_NAMES[code] for code in np.unique(spans["span"]).tolist())
    codes = {address: code for code, address in enumerate(timelines.addresses)}
    totals = tuple((p, _totals(spans, codes.get(p.address, -1), kinds)) for p in shown)
    return TimelineView(index, figure, len(shown), len(placed), kinds, totals)


def _mean_rates(
    analysis: Analysis,
    job: JobReport,
    findings: list[Finding],
    placed: Sequence[Position],
    suspects: frozenset[str],
    names: Names,
) -> MeanRates | None:
    """Rates over the mean iteration where spans are not known: of the first finding's iterations if there is one."""
    rates = analysis.rates.get(job.id)
    if rates is None or not len(rates) or not job.iterations:
        return None
    seconds = iteration_seconds(job)
    affected = (seconds[inside(job, one)] for one in findings)
    near_s = float(np.median(next((own for own in affected if len(own)), seconds)))
    return mean_rates(rates, analysis.timelines.addresses, placed, suspects, names, near_s)


def _totals(spans: Frame, endpoint: int, kinds: tuple[str, ...]) -> tuple[float, ...]:
    """Seconds of an endpoint by kind of span."""
    own = spans.take(spans["endpoint"] == endpoint)
    seconds = (own["end_ns"] - own["start_ns"]) / 1e9
    return tuple(float(seconds[own["span"] == SPAN_NAMES.index(kind)].sum()) for kind in kinds)


def _grid(placed: Sequence[Position]) -> list[tuple[int | None, list[list[Position]]]]:
    """Rows of the layout grid: per stage, the endpoints of each replica."""
    replicas = sorted({p.replica for p in placed})
    rows: dict[int | None, dict[int, list[Position]]] = {}
    for position in placed:
        rows.setdefault(position.stage, {}).setdefault(position.replica, []).append(position)
    return [(stage, [row.get(replica, []) for replica in replicas]) for stage, row in rows.items()]
