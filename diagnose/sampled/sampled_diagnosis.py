"""All findings of a job that only samples show: what changed, when, and as far as counting statistics say, where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Finding
from diagnose.compute.compute_findings import regression_finding
from diagnose.diagnosis import DiagnosisOptions
from diagnose.job_view import JobView
from diagnose.options import MODEL
from diagnose.pace_intervals import PaceInterval, split_intervals
from diagnose.recurring_findings import merge_recurring
from diagnose.sampled.late_ring_members import late_in_rings, meet_first_in_rings
from diagnose.sampled.late_senders import Late, late_in_pipelines
from diagnose.sampled.message_delays import MessageDelays, messages_between_stages
from diagnose.sampled.ring_pace import RingPace, paced
from diagnose.sampled.sampled_findings import LEAST_PROBABLE, late_finding, ring_finding
from diagnose.sampled.sampled_job_view import IterationComparison, SampledView
from diagnose.sampled.suspect_links import suspects

# A slow link holds up messages too: a ring that lost this share of what iterations became longer shows it.
EXPLAINS = 0.1
# Rings that one link slows lose alike: those that lost this share of what the slowest one lost have its cause.
ALIKE = 0.5


# When this share of those that compute together is late, no one of them is the cause.
EVERYBODY = 0.6


@dataclass(frozen=True, slots=True)
class _Slow:
    """A slow period: which iterations are compared, since when, and by how much they are longer."""

    period: PaceInterval
    compared: IterationComparison
    span_ns: tuple[int, int | None]
    longer_ns: float


def diagnose_samples(view: SampledView, options: DiagnosisOptions, least_ratio: float | None) -> list[Finding]:
    """Findings of one job, by start.

    Iterations are compared with those of the job at its best, folded over one another, because one of them alone shows
    a few samples of each message. Each slow period is explained by a ring whose pace changed, or else by endpoints that
    are late after all they waited for, or not at all.

    Args:
        view: the job.
        options: what is worth reporting.
        least_ratio: smallest slowdown that these samples can show (`reconstruct.sampled.detectability`), 1.05 for 5 %;
            None where none can be told.
    """
    if least_ratio is None or view.job.iterations < options.fewest_iterations:
        return []
    found: list[Finding] = []
    for period in split_intervals(view.job.edges_ns, options.least_slowdown_ratio):
        if period.slow and period.slowdown_ratio >= least_ratio:
            found += _explained(view, _slow(view.job, period))
    return sorted(merge_recurring(found, []), key=lambda f: (f.start_ns, f.kind, f.id))


def unlocated(job: JobView, options: DiagnosisOptions) -> list[Finding]:
    """Slow periods of a job of which nothing but iterations is known: that it is slower, and not where."""
    if job.iterations < options.fewest_iterations:
        return []
    slow = [_slow(job, p) for p in split_intervals(job.edges_ns, options.least_slowdown_ratio) if p.slow]
    return merge_recurring([regression_finding(job, s.period, s.span_ns) for s in slow], [])


def _slow(job: JobView, period: PaceInterval) -> _Slow:
    edges = job.edges_ns
    end = None if period.last >= len(edges) - 1 else int(edges[period.last])
    longer = period.duration_ns * (1 - 1 / period.slowdown_ratio)
    compared = IterationComparison(period.iterations, np.array(period.baseline, np.int64))
    return _Slow(period, compared, (int(edges[period.first - 1]), end), longer)


def _explained(view: SampledView, slow: _Slow) -> list[Finding]:
    rings = paced(view, slow.compared)
    slowed = [r for r in rings if r.slow]
    most_ns = max((r.longer_ns for r in slowed), default=0.0)
    between = messages_between_stages(view, slow.compared)
    if slowed and most_ns >= EXPLAINS * slow.longer_ns:
        held = [r for r in slowed if r.longer_ns >= ALIKE * most_ns]
        return [_of_rings(view, slow, (held, rings), between)]
    if view.whole and len(between):
        return _of_late(view, slow, late_in_pipelines(view, between, slow.longer_ns))
    if view.whole and meet_first_in_rings(view):
        return _of_late(view, slow, late_in_rings(view, slow.compared, slow.longer_ns))
    return [regression_finding(view.job, slow.period, slow.span_ns)]


def _of_rings(
    view: SampledView, slow: _Slow, rings: tuple[list[RingPace], list[RingPace]], between: MessageDelays
) -> Finding:
    """The link that slow rings pass; `rings` are those that are slow, and all."""
    found = suspects(view, rings, between, slow.compared)
    if found is None or found.probability[0] < LEAST_PROBABLE:
        return regression_finding(view.job, slow.period, slow.span_ns)
    return ring_finding(view, *rings, found, (slow.span_ns, slow.period.slowdown_ratio))


def _of_late(view: SampledView, slow: _Slow, late: Late) -> list[Finding]:
    number = view.computing()
    seen = np.unique(number[late.endpoints[np.isfinite(late.excess_ns)]])
    surely = np.unique(number[late.endpoints[late.surely]])
    if len(seen) and len(surely) >= EVERYBODY * len(seen):
        return [regression_finding(view.job, slow.period, slow.span_ns, len(surely) / len(seen))]
    groups = np.unique(number[late.endpoints[late.late]])
    if 0 < len(groups) <= MODEL.most_culprits:
        members = [_members(late, number, int(g)) for g in groups]
        return [late_finding(view, m, late, (slow.span_ns, slow.period.slowdown_ratio)) for m in members]
    return [regression_finding(view.job, slow.period, slow.span_ns)]


def _members(late: Late, number: Int, group: int) -> Int:
    return np.asarray(late.endpoints[number[late.endpoints] == group], np.int64)
