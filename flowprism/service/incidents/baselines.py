"""Baselines of jobs over successive scans. Plain functions: what is known and a window in, what is known then out.

A slowdown that began before the window is no change inside it. It is found by the baseline: what an iteration took when
nothing slowed it down. What was found when it began is still so while iterations take as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.timeline import SPAN_NAMES
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event, Evidence, Finding, FindingKind, Subject
from datamodel.reports.report import JobReport, Report, Window
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import Baseline
from diagnose.baseline import WindowPace, lasting_slowdown, pooled, slowdown, window_pace
from diagnose.diagnosis import DiagnosisOptions
from diagnose.finding_text import finding_id, percent, severity
from flowprism.analysis.scan_verdict import SEVERITIES
from flowprism.service.incidents.incident_matcher import match_findings
from strategy.assumptions import BY_CONVENTION
from strategy.options import LayoutOptions

# What makes iterations longer, and ends when they are as short as before.
SLOWING: frozenset[FindingKind] = frozenset(
    {"straggler", "slow_link", "slow_uplink", "imbalance", "regression", "contention"}
)
# A layout that is less sure is no change of one. What the convention leaves open is answered alike in every window.
MIN_CONFIDENCE = 0.9
# Two windows place the begin of one slowdown apart by less than so many iterations.
SAME_ONSET_ITERATIONS = 3.0
METRIC = "iteration time against the baseline"
_RECEIVED = SPAN_NAMES.index("pp_recv")  # the sender's span has the same bytes
_OPTIONS = DiagnosisOptions()


@dataclass(frozen=True, slots=True)
class ComparedWindow:
    """A window in the light of baselines.

    Attributes:
        report: its report: slowdowns that last are added, those that a baseline accepts are left out.
        baselines: of its jobs, those that are new or were measured.
        events: baselines that were reset.
        over: incidents that ended without a fix, by id, and why.
    """

    report: Report
    baselines: tuple[Baseline, ...] = ()
    events: tuple[Event, ...] = ()
    over: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Job:
    """What becomes of one job."""

    findings: list[Finding]
    baseline: Baseline
    events: list[Event] = field(default_factory=list)
    over: dict[str, str] = field(default_factory=dict)


def compare_window(
    analysis: Analysis, known: Mapping[str, Baseline], incidents: Sequence[Incident], doubted: Mapping[str, str]
) -> ComparedWindow:
    """Compare a window's jobs with their baselines.

    1. A job without a baseline, or whose layout has changed, begins one: what its fastest iterations take.
    2. Slowdowns that began when an accepted baseline did, or between the windows that show an old and a new layout, are
       left out.
    3. A slowdown without a place that began with a known incident is that incident: windows that hold little of the
       time before it locate less.
    4. An incident that this window does not show lasts while its latest iterations are slower than the baseline; one
       that is only suspected does so where the window shows nothing of the time before it. Where no incident is known,
       the whole window must be slower.
    5. What takes as long is averaged into the baseline, and a quicker pace replaces it. A slower one never does.

    Args:
        analysis: of the window, under lasting names.
        known: baselines in force, by job.
        incidents: that are suspected or open.
        doubted: jobs that holes of the feed touch: nothing is compared.
    """
    report, moved = analysis.report, _moved_bytes(analysis)
    found: dict[str, _Job] = {}
    for job in report.jobs:
        if job.id in doubted or job.detectability.smallest_slowdown_ratio is None:
            continue
        own = _Job([f for f in report.findings if f.job == job.id], _in_force(job, known.get(job.id), report))
        _compare(job, own, [one for one in incidents if one.job == job.id], moved.get(job.id), report.window)
        found[job.id] = own
    others = [f for f in report.findings if f.job not in found]
    order = {one: n for n, one in enumerate(reversed(SEVERITIES))}
    findings = sorted(
        [*others, *(f for own in found.values() for f in own.findings)],
        key=lambda f: (order[f.severity], f.start_ns, f.id),
    )
    return ComparedWindow(
        report.model_copy(update={"findings": tuple(findings)}),
        tuple(own.baseline for own in found.values() if own.baseline != known.get(own.baseline.job)),
        tuple(event for own in found.values() for event in own.events),
        {name: why for own in found.values() for name, why in own.over.items()},
    )


def _in_force(job: JobReport, known: Baseline | None, report: Report) -> Baseline:
    """The baseline of a job, or the one that begins with this window."""
    layout, window = job.layout, report.window
    least = MIN_CONFIDENCE * (LayoutOptions().whole_host if BY_CONVENTION in layout.assumed else 1.0)
    sizes = (layout.tp, layout.cp, layout.ep, layout.dp, layout.pp) if layout.confidence >= least else ()
    if known is None:
        return Baseline(job.id, window.start_ns, window.end_ns, sizes=sizes)
    if not known.sizes or not sizes:
        return replace(known, sizes=known.sizes or sizes)
    changed = any(
        now is not None and then is not None and now != then for now, then in zip(sizes, known.sizes, strict=True)
    )
    return Baseline(job.id, window.start_ns, window.end_ns, "layout", sizes=sizes) if changed else known


def _compare(job: JobReport, own: _Job, incidents: list[Incident], moved: Float | None, window: Window) -> None:
    base, period_ns = own.baseline, (job.period_s or 0.0) * 1e9
    slack_ns = round(SAME_ONSET_ITERATIONS * period_ns)
    if base.origin != "measured":
        _leave_out(own, incidents, slack_ns)
    ends = np.array([one.end_ns for one in job.iterations], np.int64)
    incidents = [one for one in incidents if one.kind in SLOWING and one.id not in own.over]
    if len(ends):
        _join(own, incidents, int(ends[0]), slack_ns)
    ours = ends > base.measured_from_ns
    least = max(_OPTIONS.least_slowdown_ratio, (job.detectability.smallest_slowdown_ratio or 1.0) - 1)
    if np.count_nonzero(ours) <= _OPTIONS.fewest_iterations:
        return
    pace = window_pace(ends[ours], least, None if moved is None else moved[ours], base.iteration_bytes)
    if pace is None:
        return
    if base.iteration_ns is None:
        own.baseline = _measured(base, pace.duration_ns, pace.iterations, pace)
        if base.origin != "measured":
            own.events.append(_new(own.baseline))
        return
    edge_ns = int(ends[ours][0])
    before = [one for one in incidents if one.state == "open" or not _is_settled(one, own, ends)]
    slow = _still_slow(job, own, before, pace, least) or _slow_before(job, own, pace, least, (edge_ns, window.end_ns))
    changed = None if slow else pooled(pace, base.iteration_ns, base.iterations)
    if changed is not None:
        own.baseline = _measured(base, *changed, pace)


def _leave_out(own: _Job, incidents: list[Incident], slack_ns: int) -> None:
    """Leave out slowdowns that the baseline accepts, and note their incidents."""
    base = own.baseline
    spans_ns = base.since_ns - slack_ns, base.made_ns

    def is_accepted(one: Finding | Incident) -> bool:
        return one.kind in SLOWING and spans_ns[0] <= one.start_ns <= spans_ns[1]

    own.findings = [one for one in own.findings if not is_accepted(one)]
    own.over |= {one.id: "accepted as the baseline" for one in incidents if is_accepted(one)}


def _join(own: _Job, incidents: list[Incident], first_ns: int, slack_ns: int) -> None:
    """Make a slowdown without a place one with the located incident that began with it, or before the window.

    An incident without a place is over where one with a place turns out to have begun with it.
    """
    located = [one for one in incidents if one.kind != "regression" and one.end_ns is None]
    shown = {located[n].id for n in match_findings(located, own.findings).values()}
    for found in [one for one in own.findings if one.kind == "regression"]:
        causes = [one for one in located if found.start_ns <= max(one.start_ns, first_ns) + slack_ns]
        if causes:
            own.findings.remove(found)
            own.findings += [_attributed(found, one) for one in causes if one.id not in shown]
            shown |= {one.id for one in causes}
    onsets_ns = [one.start_ns for one in own.findings if one.kind in SLOWING and one.kind != "regression"]
    for one in incidents:
        if one.kind == "regression" and any(abs(one.start_ns - onset_ns) <= slack_ns for onset_ns in onsets_ns):
            own.over[one.id] = "it has been located"


def _attributed(found: Finding, incident: Incident) -> Finding:
    """A finding as the incident describes it, with its own time, size and evidence."""
    same = ("kind", "cause", "start_ns", "confidence", "subject", "suspects", "summary", "action")
    name = finding_id(incident.job or "", incident.kind, incident.subject.identity, incident.start_ns)
    grade = min(severity(found.slowdown_ratio), incident.worst_severity, key=SEVERITIES.index)
    update = {one: getattr(incident, one) for one in same} | {"id": name, "severity": grade}
    return found.model_copy(update=update)


def _is_settled(incident: Incident, own: _Job, ends: Int) -> bool:
    """Whether a window says by itself if a suspicion is right: it shows enough of the time before, or another cause."""
    before = int(np.count_nonzero(ends <= incident.start_ns))
    return before >= _OPTIONS.fewest_iterations or any(one.kind in SLOWING for one in own.findings)


def _still_slow(job: JobReport, own: _Job, incidents: list[Incident], pace: WindowPace, least: float) -> bool:
    """Add a finding for each incident that this window does not show, and that has not ended; return whether any is."""
    base = own.baseline
    ratio = lasting_slowdown(pace, base.iteration_ns or 1.0, base.iterations, least)
    shown = match_findings(incidents, own.findings).values()
    lasting = [
        one for n, one in enumerate(incidents) if n not in shown and one.end_ns is None and one.id not in own.over
    ]
    if ratio is None or not lasting:
        return False
    own.findings += [_lasting(job, one, base, pace, ratio) for one in lasting]
    return True


def _slow_before(job: JobReport, own: _Job, pace: WindowPace, least: float, window_ns: tuple[int, int]) -> bool:
    """Add a finding where a whole window is slow and nothing in it says why; return whether it is slow."""
    base = own.baseline
    ratio = slowdown(pace, base.iteration_ns or 1.0, base.iterations, least)
    if ratio is not None and not any(one.kind in SLOWING for one in own.findings):
        own.findings.append(_unlocated(job, base, pace.duration_ns, ratio, window_ns))
    return ratio is not None


def _lasting(job: JobReport, incident: Incident, base: Baseline, pace: WindowPace, ratio: float) -> Finding:
    """A finding of an incident that began before the window, and lasts."""
    window_ns = job.iterations[0].end_ns, job.iterations[-1].end_ns
    kept = tuple(one for one in incident.evidence if one.metric != METRIC)
    return _attributed(
        _unlocated(job, base, pace.latest_ns, ratio, window_ns).model_copy(
            update={"evidence": (_evidence(job, base, pace.latest_ns, window_ns), *kept)}
        ),
        incident,
    )


def _unlocated(
    job: JobReport, base: Baseline, iteration_ns: float, ratio: float, window_ns: tuple[int, int]
) -> Finding:
    """A finding that a job is slower than its baseline, since before a window."""
    subject = Subject(type="job", ids=(job.id,))
    return Finding(
        id=finding_id(job.id, "regression", subject.ids, window_ns[0]),
        job=job.id,
        kind="regression",
        severity=severity(ratio),
        start_ns=window_ns[0],
        end_ns=None,
        confidence=0.6,
        slowdown_ratio=round(ratio, 4),
        subject=subject,
        evidence=(_evidence(job, base, iteration_ns, window_ns),),
        summary=f"The whole job takes {percent(ratio)} longer per iteration than its baseline, since before this "
        "window: what changed was not observed.",
        action="Look for what changed: software, batch size, power or clock limits, a shared service. "
        "Accept the incident if the change was intended.",
    )


def _evidence(job: JobReport, base: Baseline, iteration_ns: float, window_ns: tuple[int, int]) -> Evidence:
    usual_ns = base.iteration_ns or 0.0
    value, usual = round(iteration_ns / 1e9, 6), round(usual_ns / 1e9, 6)
    return Evidence(metric=METRIC, value=value, baseline=usual, unit="s", where=job.id, window_ns=window_ns)


def _measured(base: Baseline, iteration_ns: float, iterations: int, pace: WindowPace) -> Baseline:
    volume = base.iteration_bytes or pace.moved_bytes
    return replace(base, iteration_ns=iteration_ns, iterations=iterations, iteration_bytes=volume)


def _new(base: Baseline) -> Event:
    by = f"accepted by {base.author}" if base.origin == "accepted" else "the layout has changed"
    detail = f"{by}: {(base.iteration_ns or 0) / 1e9:.3g} s an iteration"
    return Event(job=base.job, kind="new_baseline", start_ns=base.made_ns, end_ns=base.made_ns, detail=detail)


def _moved_bytes(analysis: Analysis) -> dict[str, Float]:
    """Job -> (iterations,) bytes of the spans of each of its iterations; those of jobs whose spans are known."""
    spans, found = analysis.timelines.spans, dict[str, Float]()
    iterations = {job.id: job.iterations for job in analysis.report.jobs}
    for code, name in enumerate(analysis.timelines.jobs):
        steps = iterations.get(name, ())
        if not steps:
            continue
        number = spans["iteration"].astype(np.int64) - steps[0].index
        inside = (spans["job"] == code) & (number >= 0) & (number < len(steps)) & (spans["span"] != _RECEIVED)
        moved = np.bincount(number[inside], spans["bytes"][inside], len(steps))
        if moved.any():
            found[name] = np.asarray(moved, np.float64)
    return found
