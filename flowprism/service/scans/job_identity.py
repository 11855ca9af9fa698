"""Which job of a scan is which job that was known before: its name lasts while most of its endpoints do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from datamodel.analysis import Analysis
from datamodel.findings import Event, Finding
from datamodel.report import JobReport
from datamodel.result_rows import JobRecord

# A job and one that was known are the same when they share more than this of the endpoints of either.
LASTING_SHARE = 0.5

Told = TypeVar("Told", Finding, Event)


def assign_stable_ids(jobs: Sequence[JobReport], known: Sequence[JobRecord], window_end_ns: int) -> dict[str, str]:
    """Name that a report gives a job -> the name it has kept.

    Of all pairs that share most of the endpoints of both, those that share more come first, then those seen later;
    each job is taken once. Two different labels are two jobs, whoever lends the endpoints. A job that nobody knew
    keeps the name its endpoints give it, unless somebody else has that name still.

    Args:
        jobs: as a scan names them.
        known: jobs of former scans.
        window_end_ns: of the scan's window; part of a name that has to be made up.
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
    """An analysis with other names for its jobs, everywhere."""
    names = {old: new for old, new in names.items() if old != new}
    if not names:
        return analysis
    report, timelines = analysis.report, analysis.timelines
    told = report.model_copy(
        update={
            "jobs": tuple(job.model_copy(update={"id": names.get(job.id, job.id)}) for job in report.jobs),
            "events": _reworded(report.events, names),
            "findings": _reworded(report.findings, names),
        }
    )
    jobs = tuple(names.get(job, job) for job in timelines.jobs)
    pairs, rates = (
        {names.get(job, job): frame for job, frame in of.items()} for of in (analysis.pairs, analysis.rates)
    )
    return Analysis(told, replace(timelines, jobs=jobs), pairs, rates)


def _labelled_apart(job: JobReport, known: JobRecord) -> bool:
    return job.label is not None and known.label is not None and job.label != known.label


def _another(job: JobReport, window_end_ns: int) -> str:
    """A name for endpoints whose own name belongs to the job that had them before."""
    return hashlib.sha256(f"{','.join(sorted(job.endpoints))}|{window_end_ns}".encode()).hexdigest()[:8]


def _reworded(told: Sequence[Told], names: Mapping[str, str]) -> tuple[Told, ...]:
    """Findings or events in which every mention of a job has its lasting name, sentences included."""
    mention = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    return tuple(
        type(one).model_validate_json(mention.sub(lambda found: names[found[1]], one.model_dump_json()))
        if one.job in names or mention.search(one.model_dump_json())
        else one
        for one in told
    )
