"""What came of one case: the marks of each method, small enough to be kept and compared with another version's."""

from __future__ import annotations

from statistics import fmean

from datamodel.document import Document
from datamodel.reports.findings import Finding
from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from flowprism.evaluation.scores import CaseScores, FaultScores, JobScores, names_alone, score_case, weight

# Of each kind of finding, what a feed must show for it (`datamodel.reports.report.ShownKind`).
_SHOWN_BY: dict[str, str] = {
    "slow_uplink": "slow_link",
    "contention": "slow_link",
    "imbalance": "straggler",
}
# Of each kind of finding; which of the two hangs it is, is not asked.
_SYNDROMES: dict[str, str] = {
    "slow_link": "communication_slow",
    "slow_uplink": "communication_slow",
    "contention": "communication_slow",
    "straggler": "non_communication_slow",
    "imbalance": "non_communication_slow",
    "regression": "non_communication_slow",
    "hang": "hang",
}


class FaultOutcome(Document):
    """What one fault that asks to be found came to; weights as in `flowprism.evaluation.scores.weight`.

    Attributes:
        what: kind of fault.
        noticed: anything is said of its job that is not over before it begins.
        named, located: weight of the best finding, of the right kind and of any.
        onset_iterations: distance of its start; None where it is not named.
        in_set, alone: findings of the same syndrome name it: among others, and alone.
        syndrome: the most severe finding is of its syndrome.
        crossed: compute is blamed for a link, or a link for compute, at warning or above.
        shown: its job is found, and the report does not say that the feed hides such faults.
    """

    what: str
    noticed: bool
    named: float
    located: float
    onset_iterations: float | None
    in_set: bool = False
    alone: bool = False
    syndrome: bool = False
    crossed: bool = False
    shown: bool = True


class Delay(Document):
    """How long a fault was on when it was first named; null where it never was."""

    iterations: float | None
    seconds: float | None


class Outcome(Document):
    """What one method made of one case.

    Attributes:
        jobs, jobs_exact: true jobs, and whether all were found with exactly their endpoints and nothing else was.
        layouts_exact, layouts_wrong, layouts_open: jobs by what was said of their layout; open: a size is null.
        groups, stages, iterations: means over jobs of the F1 of groups, of chains in order, of ends found.
        timeline_error, timeline_iterations: mean relative error of so many iterations.
        predicted_error, predicted_seen: what reports predict of it, and what it was for those jobs; weighted alike.
        interval_iterations, covered: iterations with a standard error, and how many lie in the 95 % interval.
        shown_exact, shown_wrong, shown_open: layouts like those above, of jobs whose feed is said to show the layout.
        hidden: kinds of result that reports of jobs say their feed does not show.
        hidden_claims: layouts with a size, and loud findings, of what a report says its feed does not show.
        faults: those that ask to be found.
        loud, false, duplicates: warnings and critical findings, those no fault explains, further ones of a fault.
        clean_iterations, clean_false: iterations of jobs without any fault, and false findings about them or no job.
        delay: of the case's first fault; null where it was not measured.
    """

    jobs: int
    jobs_exact: bool
    layouts_exact: int
    layouts_wrong: int
    layouts_open: int
    groups: float | None
    stages: float | None
    iterations: float | None
    timeline_error: float | None
    timeline_iterations: int
    predicted_error: float | None = None
    predicted_seen: float | None = None
    interval_iterations: int = 0
    covered: int = 0
    shown_exact: int = 0
    shown_wrong: int = 0
    shown_open: int = 0
    hidden: int = 0
    hidden_claims: int = 0
    faults: tuple[FaultOutcome, ...]
    loud: int
    false: int
    duplicates: int
    clean_iterations: int
    clean_false: int
    delay: Delay | None = None

    def flawless(self) -> bool:
        """Whether nothing is wrong, missing or left open."""
        exact = self.jobs_exact and not self.layouts_wrong + self.layouts_open + self.false
        return exact and all(f.named == 1 for f in self.faults)


class CaseOutcome(Document):
    """What came of one case, by method; `problem` where our analysis failed."""

    name: str
    family: str
    about: str
    methods: dict[str, Outcome]
    problem: str | None = None


def outcome(report: Report, truth: Truth) -> tuple[Outcome, tuple[float, ...]]:
    """What a report came to, and the error of each iteration that it found."""
    case = score_case(report, truth)
    errors = tuple(error for job in case.jobs for error in job.errors)
    needed = [fault for fault in case.faults if not fault.fault.optional]
    # Uneven stages from the beginning may be named, but leave a job as clean as any.
    ill = {fault.fault.job for fault in case.faults if fault.fault.what != "uneven_stages"}
    verdicts = [_verdict(job) for job in case.jobs if job.sizes]
    shown = [_verdict(job) for job in case.jobs if job.sizes and job.found and "layout" not in job.hidden]
    predicted = [job for job in case.jobs if job.predicted is not None and job.errors]
    return (
        Outcome(
            jobs=len(case.jobs),
            jobs_exact=all(job.endpoints_exact for job in case.jobs) and not case.invented,
            layouts_exact=verdicts.count("exact"),
            layouts_wrong=verdicts.count("wrong"),
            layouts_open=verdicts.count("open"),
            groups=_mean([fmean(job.groups) for job in case.jobs if job.groups]),
            stages=_mean([fmean(job.stages) for job in case.jobs if job.stages]),
            iterations=_mean([fmean(job.iterations) for job in case.jobs if job.iterations]),
            timeline_error=_mean(errors),
            timeline_iterations=len(errors),
            predicted_error=_mean([job.predicted for job in predicted if job.predicted is not None]),
            predicted_seen=_mean([fmean(job.errors) for job in predicted]),
            interval_iterations=sum(len(job.within) for job in case.jobs),
            covered=sum(sum(job.within) for job in case.jobs),
            shown_exact=shown.count("exact"),
            shown_wrong=shown.count("wrong"),
            shown_open=shown.count("open"),
            hidden=sum(len(job.hidden) for job in case.jobs),
            hidden_claims=_hidden_claims(case),
            faults=tuple(_fault(fault, case) for fault in needed),
            loud=sum(f.severity != "info" for f in case.findings),
            false=len(case.false),
            duplicates=sum(fault.duplicates for fault in needed),
            clean_iterations=sum(len(job.iterations) for job in truth.jobs if job.id not in ill),
            clean_false=sum(case.true_job[n] not in ill for n in case.false),
        ),
        errors,
    )


def _verdict(job: JobScores) -> str:
    if job.wrong_sizes:
        return "wrong"
    return "exact" if all(job.sizes) else "open"


def _hidden_claims(case: CaseScores) -> int:
    """What is claimed although its report says that the feed does not show it."""
    hidden = {job.id: job.hidden for job in case.jobs}
    sizes = sum("layout" in job.hidden and any(job.answered) for job in case.jobs)
    loud = [(f, job) for f, job in zip(case.findings, case.true_job, strict=True) if f.severity != "info"]
    return sizes + sum(_shown_by(f.kind) in hidden.get(job or "", ()) for f, job in loud)


def _shown_by(kind: str) -> str:
    return _SHOWN_BY.get(kind, kind)


def _fault(fault: FaultScores, case: CaseScores) -> FaultOutcome:
    matching = _matching(fault, case)
    side = _SYNDROMES[fault.fault.kinds[0]]
    same = [case.findings[n] for n in matching if _SYNDROMES[case.findings[n].kind] == side]
    gravest = max((case.findings[n] for n in matching), key=lambda f: f.slowdown_ratio, default=None)
    return FaultOutcome(
        what=fault.fault.what,
        noticed=bool(matching),
        named=_short(fault.named),
        located=_short(fault.located),
        onset_iterations=_short(fault.onset[0]) if fault.onset else None,
        in_set=any(weight(f, fault.fault.accept) for f in same),
        alone=any(names_alone(f, fault.fault.accept) for f in same),
        syndrome=gravest is not None and _SYNDROMES[gravest.kind] == side,
        shown=any(
            job.id == fault.fault.job and job.found and _shown_by(fault.fault.kinds[0]) not in job.hidden
            for job in case.jobs
        ),
        crossed=any(_crosses(side, case.findings[n]) for n in matching if n in case.false),
    )


def _matching(fault: FaultScores, case: CaseScores) -> list[int]:
    """Numbers of the findings about its job that are not over before the fault begins."""
    since = fault.fault.start_ns or 0
    about = enumerate(zip(case.findings, case.true_job, strict=True))
    return [n for n, (f, job) in about if job == fault.fault.job and (f.end_ns is None or f.end_ns > since)]


def _crosses(side: str, finding: Finding) -> bool:
    """Whether a finding blames compute for what is communication's, or the other way round."""
    return {side, _SYNDROMES[finding.kind]} == {"communication_slow", "non_communication_slow"}


def _mean(values: list[float] | tuple[float, ...]) -> float | None:
    return _short(fmean(values)) if values else None


def _short(value: float) -> float:
    """Six figures: enough to compare, and files that people can read."""
    return float(f"{value:.6g}")
