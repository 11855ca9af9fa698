"""Classes of traffic: is all of it taken for what it is, with every job and none that is not there?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from datamodel.document import Document
from datamodel.frame import Frame, concat
from datamodel.reconstructed.traffic import TRAFFIC_CLASSES
from datamodel.reports.report import JobReport, Report
from datamodel.reports.truth import TrueJob, Truth
from flowprism.evaluation.case_runner import run_numbered
from flowprism.evaluation.cases.classes import KINDS, KNOWN, class_case
from flowprism.evaluation.scores import score_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.progress import Progress
from simulate.bursts import BURSTS
from simulate.case import flow_reading
from simulate.inventory import simulated_inventory
from simulate.scenario_runs import iter_runs
from simulate.true_traffic import true_traffic, weight_syncs_ns

CLASSES = "classes"
# Rounds of all kinds.
ROUNDS = {"full": 7, "medium": 3, "small": 1}

MEANINGS = {
    "class_bytes": "share of bytes whose class is right, mean over cases",
    "class_bytes_worst": "the same of the worst case",
    "jobs_exact": "share of cases with exactly the jobs that there are, by their endpoints",
    "iterations": "mean F1 of the iteration ends found",
    "quiet": "share of cases without a warning or critical finding: nothing is wrong in any",
    "sync_close": "share of jobs of reinforcement learning whose time of a synchronization is right within 2 %",
}
CLOSE = 0.02
WORTH_NAMING = 0.001  # of all bytes: less lies in headers


class ClassOutcome(Document):
    """What came of one case.

    Attributes:
        case, about: its name, kind and what the analysis was given.
        right: share of bytes whose class is right.
        confused: true class and the one given to most of what is wrong of it, with their share of all bytes.
        jobs: whether exactly the true jobs were found.
        findings: warnings and critical findings.
        iterations: mean F1 of the iteration ends of its jobs; None without a job.
        sync_error: relative error of the time of a synchronization; None where there is none to find.
    """

    case: str
    about: str
    right: float
    confused: str = ""
    jobs: bool
    findings: int
    iterations: float | None = None
    sync_error: float | None = None


def run_class_cases(
    size: str, numbers: Sequence[int] | None = None, progress: Progress | None = None
) -> list[ClassOutcome]:
    """Run the family `classes`.

    Args:
        size: of the suite.
        numbers: of the cases; None for all of the size.
        progress: called with the number of finished cases.
    """
    return run_numbered(run_class_case, ROUNDS[size] * len(KINDS), numbers, progress)


def run_class_case(number: int) -> ClassOutcome:
    """Simulate and analyze one case."""
    case = class_case(number)
    runs = list(iter_runs(case.scenario, number))
    bursts = concat(BURSTS, [one.bursts for one in runs])
    reading = flow_reading(case.scenario, [one.flows for one in runs])
    inventory = None if case.known == KNOWN[2] else simulated_inventory(case.scenario)
    analysis = analyze_reading(reading, (), inventory, AnalysisOptions(tables=False))
    jobs = [job for one in runs for job in one.jobs]
    book = case.scenario.fabric.addresses()
    true, found = _cells(true_traffic(bursts), book), _cells(analysis.traffic, analysis.timelines.addresses)
    right, confused = _right(true, found)
    return ClassOutcome(
        case=f"{CLASSES}-{number:03}",
        about=case.scenario.about,
        right=right,
        confused=confused,
        jobs=_members(jobs) == _members(analysis.report.jobs),
        findings=sum(f.severity != "info" for f in analysis.report.findings),
        iterations=_iterations(analysis.report, jobs),
        sync_error=_sync_error(bursts, jobs, analysis.report),
    )


def _members(jobs: Sequence[TrueJob] | Sequence[JobReport]) -> list[list[str]]:
    return sorted(sorted(job.endpoints) for job in jobs)


def _iterations(report: Report, jobs: Sequence[TrueJob]) -> float | None:
    marks = [f1 for job in score_case(report, Truth(jobs=tuple(jobs))).jobs for f1 in job.iterations]
    return fmean(marks) if marks else None


Cells = dict[tuple[str, int], int]


def _cells(traffic: Frame, addresses: Sequence[str]) -> Cells:
    """(endpoint, class) -> bytes sent and received."""
    cells: Cells = {}
    volume = traffic["sent_bytes"] + traffic["received_bytes"]
    rows = zip(traffic["endpoint"].tolist(), traffic["traffic_class"].tolist(), volume.tolist(), strict=True)
    for endpoint, kind, size in rows:
        cell = (addresses[endpoint], kind)
        cells[cell] = cells.get(cell, 0) + size
    return cells


def _right(true: Cells, found: Cells) -> tuple[float, str]:
    """Share of bytes in the right cell, and what most of the others are taken for. Records hold headers too."""
    total = sum(true.values())
    scale = total / max(sum(found.values()), 1)
    missing = {cell: size - scale * found.get(cell, 0) for cell, size in true.items()}
    missing = {cell: size for cell, size in missing.items() if size > 0}
    wrong = sum(missing.values()) / max(total, 1)
    if wrong < WORTH_NAMING:
        return 1 - wrong, ""
    endpoint, kind = max(missing, key=lambda cell: missing[cell])
    beyond = {k: scale * found.get((endpoint, k), 0) - true.get((endpoint, k), 0) for k in range(len(TRAFFIC_CLASSES))}
    other = max(beyond, key=lambda k: beyond[k])
    return 1 - wrong, f"{TRAFFIC_CLASSES[kind]} as {TRAFFIC_CLASSES[other]}"


def _sync_error(bursts: Frame, jobs: Sequence[TrueJob], report: Report) -> float | None:
    for number, job in enumerate(jobs):
        syncs = weight_syncs_ns(bursts, number)
        if len(syncs):
            true_s = float(np.median(syncs[:, 1] - syncs[:, 0])) / 1e9
            same = (j for j in report.jobs if set(j.endpoints) == set(job.endpoints))
            known = next((j.post_training for j in same), None)
            return 1.0 if known is None else round(abs(known.sync_s / true_s - 1), 5)
    return None


def figures(outcomes: Sequence[ClassOutcome]) -> dict[str, float]:
    """Return the figures of `MEANINGS` over some cases; those that nothing was measured for are left out."""
    syncs = [one.sync_error for one in outcomes if one.sync_error is not None]
    measured = {
        "class_bytes": [one.right for one in outcomes],
        "jobs_exact": [float(one.jobs) for one in outcomes],
        "iterations": [one.iterations for one in outcomes if one.iterations is not None],
        "quiet": [float(not one.findings) for one in outcomes],
        "sync_close": [float(error <= CLOSE) for error in syncs],
    }
    found = {name: sum(values) / len(values) for name, values in measured.items() if values}
    return found | ({"class_bytes_worst": min(one.right for one in outcomes)} if outcomes else {})


def outcomes_text(outcomes: Sequence[ClassOutcome]) -> str:
    """Return a line for each case, and one for each figure."""
    names = f"{'right':>9}{'jobs':>6}{'iterations':>12}{'findings':>10}{'sync error':>12}  confused"
    lines = [
        f"{one.case:<14}{one.about:<50}{100 * one.right:>7.2f} %{'yes' if one.jobs else 'no':>6}"
        f"{'' if one.iterations is None else f'{100 * one.iterations:.1f} %':>12}{one.findings:>10}"
        f"{'' if one.sync_error is None else f'{100 * one.sync_error:.2f} %':>12}  {one.confused}"
        for one in outcomes
    ]
    said = [f"{name:<18}{100 * value:.2f} %" for name, value in figures(outcomes).items()]
    return "\n".join([f"{'case':<14}{'about':<50}{names}", *lines, "", *said])
