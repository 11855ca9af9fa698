"""Matches the jobs of a scan with known ones: a job keeps its name while it keeps most of its endpoints."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event, Finding
from datamodel.reports.path_plan import PathPlan
from datamodel.reports.report import JobReport
from datamodel.service.result_rows import JobRecord

# A job and one that was known are the same when they share more than this of the endpoints of either.
LASTING_SHARE = 0.5

Reported = TypeVar("Reported", Finding, Event)


def assign_stable_ids(jobs: Sequence[JobReport], known: Sequence[JobRecord], window_end_ns: int) -> dict[str, str]:
    """Map the name that a report gives each job to its stable name.

    Pairs of a new and a known job that share most of the endpoints of both are matched greedily: larger shares first,
    then jobs seen later. Jobs with different labels never match, even on the same endpoints. A job without a match
    keeps the name derived from its endpoints, unless a known job still has that name.

    Args:
        jobs: as a scan names them.
        known: jobs of former scans.
        window_end_ns: of the scan's window; part of the hash for a job whose own name is taken.
    """
    by_address: dict[str, list[int]] = {}
    for n, before in enumerate(known):
        for address in before.endpoints:
            by_address.setdefault(address, []).append(n)
    pairs = []
    for j, job in enumerate(jobs):
        shared: dict[int, int] = {}
        for address in job.endpoints:
            for n in by_address.get(address, ()):
                shared[n] = shared.get(n, 0) + 1
        for n, count in shared.items():
            share = count / max(len(job.endpoints), len(known[n].endpoints))
            if share > LASTING_SHARE and not _labelled_apart(job, known[n]):
                pairs.append((-share, -known[n].last_seen_ns, known[n].id, job.id, j, n))
    names: dict[str, str] = {}
    for *_, j, n in sorted(pairs):
        if jobs[j].id not in names and known[n].id not in names.values():
            names[jobs[j].id] = known[n].id
    taken = {before.id for before in known} | set(names.values())
    for job in jobs:
        if job.id not in names:
            names[job.id] = job.id if job.id not in taken else _another(job, window_end_ns)
    return names


def renamed(analysis: Analysis, names: Mapping[str, str]) -> Analysis:
    """Return the analysis with its jobs renamed in report, timelines, pairs, rates, patterns and plan of paths."""
    names = {old: new for old, new in names.items() if old != new}
    if not names:
        return analysis
    report, timelines = analysis.report, analysis.timelines
    renamed_report = report.model_copy(
        update={
            "jobs": tuple(job.model_copy(update={"id": names.get(job.id, job.id)}) for job in report.jobs),
            "events": _reworded(report.events, names),
            "findings": _reworded(report.findings, names),
        }
    )
    jobs = tuple(names.get(job, job) for job in timelines.jobs)
    pairs, rates, patterns, functions = (
        {names.get(job, job): frame for job, frame in of.items()}
        for of in (analysis.pairs, analysis.rates, analysis.patterns, analysis.functions)
    )
    plan = None if analysis.plan is None else _renamed_plan(analysis.plan, names)
    return replace(
        analysis,
        report=renamed_report,
        timelines=replace(timelines, jobs=jobs),
        pairs=pairs,
        rates=rates,
        patterns=patterns,
        functions=functions,
        plan=plan,
    )


def _renamed_plan(plan: PathPlan, names: Mapping[str, str]) -> PathPlan:
    parts = {
        name: tuple(one.model_copy(update={"job": names.get(one.job, one.job)}) for one in getattr(plan, name))
        for name in ("jobs", "collisions", "balance", "connections")
    }
    return plan.model_copy(update={**parts, "findings": _reworded(plan.findings, names)})


def _labelled_apart(job: JobReport, known: JobRecord) -> bool:
    return job.label is not None and known.label is not None and job.label != known.label


def _another(job: JobReport, window_end_ns: int) -> str:
    """Derive a name from endpoints and window, for a job whose own name an earlier job has."""
    return hashlib.sha256(f"{','.join(sorted(job.endpoints))}|{window_end_ns}".encode()).hexdigest()[:8]


def _reworded(reported: Sequence[Reported], names: Mapping[str, str]) -> tuple[Reported, ...]:
    """Rename the jobs in findings or events, including in their sentences."""
    mention = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    return tuple(
        type(one).model_validate_json(mention.sub(lambda found: names[found[1]], one.model_dump_json()))
        if one.job in names or mention.search(one.model_dump_json())
        else one
        for one in reported
    )
