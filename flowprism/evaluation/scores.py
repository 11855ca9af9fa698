"""Marks of a report against the truth of a case: what the layout, the iterations and the findings were worth.

Every mark lies in [0, 1], more is better, unless listed in `LOWER_IS_BETTER`. Reported jobs are matched to true ones
one to one by the endpoints they share, the best Jaccard index first; a job that shares less than half is not matched.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import get_args

from datamodel.reports.findings import Finding, Subject, Suspect
from datamodel.reports.report import JobReport, Report, ShownKind
from datamodel.reports.truth import AcceptedSubject, TrueFault, TrueJob, Truth
from datamodel.service.incidents import Incident

LOWER_IS_BETTER = frozenset({"timeline", "wrong_sizes", "false", "duplicates", "onset"})

MEANINGS = {
    "jobs": "pairwise F1 of 'these two endpoints train together'",
    "sizes": "share of the known layout sizes that are right; null is not an answer",
    "wrong_sizes": "layout sizes answered wrongly (a count)",
    "groups": "mean over jobs and kinds of group of the pairwise F1 of 'these two share a group'",
    "stages": "share of pipeline chains whose stage order is exactly right",
    "iterations": "F1 of the iteration ends found; one constant offset is allowed",
    "timeline": "mean relative error of the iteration durations",
    "faults": "faults named with the right kind and an accepted subject",
    "located": "faults named with an accepted subject, whatever the kind",
    "false": "warnings and critical findings that no fault explains (a count)",
    "duplicates": "further findings of a fault that is already explained (a count)",
    "onset": "mean distance of a named fault's start from the truth, in iterations",
}

_SIZES = ("tp", "cp", "ep", "dp", "pp")
_LEAST_JACCARD = 0.5
# An end is found where it lies within a quarter of an iteration; offsets are tried in steps of a twentieth.
_REACH, _STEP = 4, 20
_OFFSET_ITERATIONS = 1.5
WITHIN_95 = 1.96  # standard errors

Group = Sequence[str]


@dataclass(frozen=True, slots=True)
class JobScores:
    """What one true job came to.

    Attributes:
        id: the true job's.
        endpoints_exact: it was reported with exactly its endpoints.
        sizes: whether each known size is right.
        wrong_sizes: how many were answered wrongly.
        answered: whether each known size is answered at all.
        groups: F1 of each kind of group.
        stages: share of chains in the right order; empty where it has none.
        iterations: F1 of the ends; empty where the truth knows none.
        errors: relative error of each iteration that was found from end to end.
        predicted: mean relative error that its report predicts; None where it does not.
        within: of each of `errors` whose standard error is reported, whether it lies in the 95 % interval.
        hidden: kinds of result that its report says its feed does not show.
        found: whether it is reported at all.
    """

    id: str
    endpoints_exact: bool
    sizes: tuple[bool, ...]
    wrong_sizes: int
    groups: tuple[float, ...]
    stages: tuple[float, ...]
    iterations: tuple[float, ...]
    errors: tuple[float, ...]
    predicted: float | None = None
    within: tuple[bool, ...] = ()
    hidden: frozenset[str] = frozenset()
    found: bool = True
    answered: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultScores:
    """What one fault came to.

    Attributes:
        fault: it.
        named, located: weight of the best finding with an accepted subject, of the right kind and of any.
        duplicates: further findings that name it.
        onset: distance of its start in the best of them, in iterations; empty where that is unknown.
        explained: numbers of the findings that name it.
    """

    fault: TrueFault
    named: float
    located: float
    duplicates: int
    onset: tuple[float, ...]
    explained: frozenset[int]


@dataclass(frozen=True, slots=True)
class CaseScores:
    """What a report came to, job by job and fault by fault.

    Attributes:
        pairs: F1 of "these two train together".
        jobs, faults: of the truth.
        findings: of the report, those about the feed left out.
        true_job: the true job of each of them; None where its job is none.
        false: numbers of the loud ones that no fault explains.
        invented: reported jobs that are none.
    """

    pairs: float
    jobs: tuple[JobScores, ...]
    faults: tuple[FaultScores, ...]
    findings: tuple[Finding, ...]
    true_job: tuple[str | None, ...]
    false: tuple[int, ...]
    invented: int


def score_case(report: Report, truth: Truth) -> CaseScores:
    """Hold a report against the truth of its case."""
    matched = _match_jobs(report, truth)
    true_ids = {job.id: true_id for true_id, job in matched.items()}
    findings = tuple(f for f in report.findings if f.kind != "feed")
    faults = tuple(_mark_fault(fault, findings, true_ids) for fault in truth.faults)
    explained = {n for fault in faults for n in fault.explained}
    return CaseScores(
        pairs=pair_f1([j.endpoints for j in report.jobs], [j.endpoints for j in truth.jobs]),
        jobs=tuple(_mark_job(matched.get(true.id), true) for true in truth.jobs),
        faults=faults,
        findings=findings,
        true_job=tuple(true_ids.get(f.job or "") for f in findings),
        false=tuple(n for n, f in enumerate(findings) if f.severity != "info" and n not in explained),
        invented=len(report.jobs) - len(matched),
    )


def compute_scores(report: Report, truth: Truth) -> dict[str, float]:
    """All marks of one case, by the names in `MEANINGS`."""
    case = score_case(report, truth)
    iterations = [f1 for job in case.jobs for f1 in job.iterations]
    errors = [error for job in case.jobs for error in job.errors]
    needed = [fault for fault in case.faults if not fault.fault.optional]
    return {
        "jobs": case.pairs,
        "sizes": _mean([right for job in case.jobs for right in job.sizes], 1.0),
        "wrong_sizes": sum(job.wrong_sizes for job in case.jobs),
        "groups": _mean([f1 for job in case.jobs for f1 in job.groups], 1.0),
        "stages": _mean([share for job in case.jobs for share in job.stages], 1.0),
        "iterations": _mean(iterations, 1.0),
        "timeline": _mean(errors, 1.0 if iterations else 0.0),
        "faults": _mean([fault.named for fault in needed], 1.0),
        "located": _mean([fault.located for fault in needed], 1.0),
        "false": len(case.false),
        "duplicates": sum(fault.duplicates for fault in needed),
        "onset": _mean([onset for fault in needed for onset in fault.onset], 0.0),
    }


def misses_requirement(found: dict[str, float], name: str, need: float) -> bool:
    """Whether a mark does not meet a need: at most `need` for those in `LOWER_IS_BETTER`, at least `need` otherwise."""
    return found[name] > need if name in LOWER_IS_BETTER else found[name] < need


def pair_f1(found: Iterable[Group], true: Iterable[Group]) -> float:
    """F1 of "these two share a group" over unordered pairs; a pair that several groups share counts once for each.

    Groups of one say nothing and are left out; a group reported twice costs precision and earns nothing.
    """
    said = [frozenset(g) for g in found if len(set(g)) > 1]
    real = [frozenset(g) for g in true if len(set(g)) > 1]
    if not said and not real:
        return 1.0
    holders: dict[str, list[frozenset[str]]] = {}
    for group in real:
        for member in group:
            holders.setdefault(member, []).append(group)
    hits = 0
    for group in set(said):
        together = Counter(holder for member in group for holder in holders.get(member, ()))
        hits += sum(math.comb(n, 2) for n in together.values())
    all_real, all_said = (sum(math.comb(len(g), 2) for g in groups) for groups in (set(real), said))
    return 2 * min(hits, all_real, all_said) / (all_real + all_said)


def _mean(values: Sequence[float], of_none: float) -> float:
    return fmean(values) if values else of_none


def _match_jobs(report: Report, truth: Truth) -> dict[str, JobReport]:
    """True job id -> reported job."""
    candidates = []
    for true in truth.jobs:
        for n, job in enumerate(report.jobs):
            both, either = len({*true.endpoints} & {*job.endpoints}), len({*true.endpoints} | {*job.endpoints})
            if either and both / either >= _LEAST_JACCARD:
                candidates.append((-both / either, true.id, n))
    matched: dict[str, int] = {}
    for _, true_id, n in sorted(candidates):
        if true_id not in matched and n not in matched.values():
            matched[true_id] = n
    return {true_id: report.jobs[n] for true_id, n in matched.items()}


def _mark_job(job: JobReport | None, true: TrueJob) -> JobScores:
    said = {name: getattr(job.layout, name) if job else None for name in _SIZES}
    groups, stages = _mark_groups(job, true)
    iterations, errors, within = _mark_iterations(job, true)
    return JobScores(
        id=true.id,
        endpoints_exact=job is not None and set(job.endpoints) == set(true.endpoints),
        sizes=tuple(said.get(name) == size for name, size in true.layout.items()),
        wrong_sizes=sum(said.get(name) not in {None, size} for name, size in true.layout.items()),
        groups=groups,
        stages=stages,
        iterations=iterations,
        errors=errors,
        predicted=job.detectability.timeline_error_ratio if job else None,
        within=within,
        hidden=frozenset(k for k in get_args(ShownKind) if job.detectability.hides(k)) if job else frozenset(),
        found=job is not None,
        answered=tuple(said.get(name) is not None for name in true.layout),
    )


def _mark_iterations(
    job: JobReport | None, true: TrueJob
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[bool, ...]]:
    """F1 of the ends, the relative error of each iteration between ends that were found, and whether it was allowed."""
    if not true.iterations:
        return (), (), ()
    true_ends = [end for _, end in true.iterations]
    found = sorted(job.iterations, key=lambda i: i.end_ns) if job else []
    ends = [i.end_ns for i in found]
    hits = match_ends(ends, true_ends)
    errors, within = [], []
    for (n, m), (n_next, m_next) in pairwise(hits):
        if m_next == m + 1:
            real = true_ends[m_next] - true_ends[m]
            off, bound = abs(ends[n_next] - ends[n] - real), found[n_next].duration_error_ns
            errors.append(off / real)
            if bound is not None and n_next == n + 1:
                within.append(off <= WITHIN_95 * bound)
    return (2 * len(hits) / (len(ends) + len(true_ends)),), tuple(errors), tuple(within)


def _mark_groups(job: JobReport | None, true: TrueJob) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """F1 of each kind of group, and the share of chains in the right order."""
    groups: list[float] = []
    stages: list[float] = []
    for kind in _SIZES:
        found: tuple[Group, ...] = getattr(job.groups, kind) if job else ()
        if kind in true.groups:
            groups.append(pair_f1(found, true.groups[kind]))
        elif true.layout.get(kind) == 1 and any(len(set(g)) > 1 for g in found):
            groups.append(0.0)  # a kind invented where the truth says there is none
        if kind == "pp" and kind in true.groups:
            chains = {tuple(chain) for chain in found}
            stages.append(_mean([tuple(chain) in chains for chain in true.groups[kind]], 1.0))
    return tuple(groups), tuple(stages)


def match_ends(found: Sequence[int], true: Sequence[int]) -> list[tuple[int, int]]:
    """Index pairs (found, true) of iteration ends in ns, in order, after taking off the best constant offset."""
    if not found or not true:
        return []
    period = median([b - a for a, b in pairwise(true)]) if len(true) > 1 else 1e9
    step = period / _STEP
    probes = [(f, t) for f in (*found[:5], *found[-5:]) for t in (*true[:5], *true[-5:])]
    near = {round((f - t) / step) for f, t in probes if abs(f - t) < _OFFSET_ITERATIONS * period} | {0}
    tried = [_match_at(found, true, steps * step, period / _REACH) for steps in sorted(near, key=abs)]
    return min(tried, key=lambda at: (-len(at[0]), at[1]))[0]


def _match_at(
    found: Sequence[int], true: Sequence[int], offset_ns: float, reach_ns: float
) -> tuple[list[tuple[int, int]], float]:
    """Each true end with the nearest later-unused found end in reach, and the summed distance in ns."""
    hits: list[tuple[int, int]] = []
    cost, first = 0.0, 0
    for m, end in enumerate(true):
        while first < len(found) and found[first] - offset_ns < end - reach_ns:
            first += 1
        last = first
        while last < len(found) and found[last] - offset_ns <= end + reach_ns:
            last += 1
        if last > first:
            best = min(range(first, last), key=lambda n: (abs(found[n] - offset_ns - end), n))
            hits.append((best, m))
            cost += abs(found[best] - offset_ns - end)
            first = best + 1
    return hits, cost


def _mark_fault(fault: TrueFault, findings: Sequence[Finding], true_ids: dict[str, str]) -> FaultScores:
    worth = {
        n: weight(finding, fault.accept)
        for n, finding in enumerate(findings)
        if true_ids.get(finding.job or "", fault.job) == fault.job
    }
    right = [n for n, w in worth.items() if w and findings[n].kind in fault.kinds]
    return FaultScores(
        fault=fault,
        named=max((worth[n] for n in right), default=0.0),
        located=max(worth.values(), default=0.0),
        duplicates=max(len(right) - fault.periods, 0),
        onset=_onset(fault, [findings[n] for n in right]),
        explained=frozenset(right),
    )


def _onset(fault: TrueFault, right: Sequence[Finding]) -> tuple[float, ...]:
    """How far off the best of the findings that name a fault dates it, in iterations; nothing where that is unknown."""
    if not right or not fault.start_ns or not fault.iteration_ns:
        return ()
    return (min(abs(f.start_ns - fault.start_ns) for f in right) / fault.iteration_ns,)


def weight(finding: Finding | Incident, accepted: Sequence[AcceptedSubject]) -> float:
    """What a finding's subject is worth: 1 where accepted, 1/n where n suspects or n ids hold an accepted one."""
    if _accepts(accepted, finding.subject):
        return 1.0
    if any(_accepts(accepted, suspect) for suspect in finding.suspects):
        return 1 / len(finding.suspects)
    ids = set(finding.subject.ids)
    for one in accepted:
        if one.type == finding.subject.type and len(one.ids) == 1 and one.ids[0] in ids:
            return 1 / len(ids)
    return 0.0


def names_alone(finding: Finding, accepted: Sequence[AcceptedSubject]) -> bool:
    """Whether a finding names what is accepted, and suspects nothing else."""
    suspects = finding.suspects or (finding.subject,)
    return _accepts(accepted, finding.subject) and all(_accepts(accepted, suspect) for suspect in suspects)


def _accepts(accepted: Sequence[AcceptedSubject], subject: Subject | Suspect) -> bool:
    ids = set(subject.ids)
    for one in accepted:
        whole = one.ids == "*" or ids == set(one.ids)
        if one.type == subject.type and (whole or (one.within and ids and ids <= set(one.ids))):
            return True
    return False
