"""Uneven work and whole-job slowdowns as findings."""

from __future__ import annotations

import numpy as np

from datamodel.reports.findings import Evidence, Finding, Severity, Subject
from diagnose.compute.stage_compute import StageCompute
from diagnose.finding_text import finding_id, percent, severity
from diagnose.job_view import JobView
from diagnose.model.uneven_work import UnevenWork
from diagnose.options import MODEL
from diagnose.pace_intervals import PaceInterval

Span = tuple[int, int | None]


def stage_finding(
    job: JobView, compute: StageCompute, stage: int, span_ns: Span, slowdown_ratio: float, confidence: float
) -> Finding:
    """Describe a pipeline whose work is uneven: no machine is at fault; `confidence`: how likely it is this stage's."""
    members = job.endpoints[job.stages == stage]
    names = job.names(members)
    window = job.measured_ns(span_ns)
    rest = np.delete(compute.most_ns, stage)
    evidence = Evidence(
        metric=f"compute of stage {stage} per micro-batch",
        value=round(float(compute.least_ns[stage]) / 1e9, 6),
        baseline=round(float(np.median(rest)) / 1e9, 6),
        unit="s",
        where=f"stage {stage} against the median of the {len(rest)} others",
        window_ns=window,
    )
    last = "the last stage" if stage == len(compute.most_ns) - 1 else f"stage {stage}"
    return Finding(
        id=finding_id(job.id, "imbalance", names, span_ns[0]),
        job=job.id,
        kind="imbalance",
        cause="stage",
        severity=severity(slowdown_ratio),
        start_ns=span_ns[0],
        end_ns=span_ns[1],
        confidence=round(min(confidence, MODEL.most_confidence), 4),
        slowdown_ratio=round(slowdown_ratio, 4),
        subject=Subject(type="group", ids=names, group="stage"),
        evidence=(evidence,),
        summary=f"The pipeline is unbalanced: {last} computes {compute.least_ns[stage] / 1e6:.0f} ms per micro-batch, "
        f"the others {np.median(rest) / 1e6:.0f} ms; with even stages an iteration would take "
        f"{100 * (1 - 1 / slowdown_ratio):.0f} % less. No machine is at fault.",
        action="Move layers from the heavy stage to the others; the last one also computes the output layer and loss.",
    )


def load_finding(job: JobView, waiting: UnevenWork, least_ratio: float, span_ns: Span) -> Finding:
    """Describe a job whose ranks arrive far apart, each time another one last; `least_ratio` is worth reporting."""
    wait_ratio = waiting.ratio
    ratio = 1 / (1 - min(wait_ratio, 0.9))
    window = job.measured_ns(span_ns)
    evidence = Evidence(
        metric="waiting for the last, share of the iteration",
        value=round(wait_ratio, 4),
        baseline=0.0,
        unit="",
        where=f"{'experts' if waiting.experts else 'groups'} of {job.id}",
        window_ns=window,
    )
    return Finding(
        id=finding_id(job.id, "imbalance", (job.id,), span_ns[0]),
        job=job.id,
        kind="imbalance",
        cause="experts" if waiting.experts else "load",
        severity=severity(ratio),
        start_ns=span_ns[0],
        end_ns=span_ns[1],
        confidence=round(min(waiting.exceeds(least_ratio), MODEL.most_confidence), 4),
        slowdown_ratio=round(ratio, 4),
        subject=Subject(type="job", ids=(job.id,)),
        evidence=(evidence,),
        summary=f"Work is uneven from rank to rank and iteration to iteration: waiting for the last rank costs "
        f"{100 * wait_ratio:.0f} % of the iteration, and the last one changes.",
        action="Look at the router's load balance and the capacity of experts; no machine is at fault."
        if waiting.experts
        else "Look at sequence lengths and sampling of the batches; no machine is at fault.",
    )


def regression_finding(
    job: JobView, period: PaceInterval, span_ns: Span, compute_probability: float | None = None
) -> Finding:
    """Describe a job that is slower as a whole.

    With `compute_probability`, compute grew everywhere as likely as that; else only the iteration time says that it is
    slower, as surely as chance makes no such run, and nobody can be sent anywhere.
    """
    window, slowdown_ratio = job.measured_ns(span_ns), period.slowdown_ratio
    compute = compute_probability is not None
    confidence = 1 - period.chance if compute_probability is None else compute_probability
    grade: Severity = severity(slowdown_ratio) if compute else "info"
    evidence = Evidence(
        metric="iteration time",
        value=round(period.duration_ns / 1e9, 6),
        baseline=round(period.duration_ns / slowdown_ratio / 1e9, 6),
        unit="s",
        where=job.id,
        window_ns=window,
    )
    reason = (
        "all ranks compute longer, in step"
        if compute
        else "no rank and no link stands out, so the cause is not located"
    )
    return Finding(
        id=finding_id(job.id, "regression", (job.id,), span_ns[0]),
        job=job.id,
        kind="regression",
        severity=grade,
        start_ns=span_ns[0],
        end_ns=span_ns[1],
        confidence=round(min(confidence, MODEL.most_confidence), 4),
        slowdown_ratio=round(slowdown_ratio, 4),
        subject=Subject(type="job", ids=(job.id,)),
        evidence=(evidence,),
        summary=f"The whole job takes {percent(slowdown_ratio)} longer per iteration: {reason}.",
        action="Look for what changed at that time: software, batch size, power or clock limits, a shared service.",
    )
