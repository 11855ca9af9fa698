"""Changes of a job's members, and what only looks so: is each recognized, with the place, the kind and the downtime?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.document import Document
from datamodel.reports.findings import Event, Place
from datamodel.reports.report import Report
from datamodel.reports.training_time import TrainingTime
from datamodel.reports.truth import TrueChange, TrueJob
from datamodel.telemetry.flows import Flows
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.evaluation.case_runner import run_numbered
from flowprism.evaluation.cases.membership import DISTRACTORS, KINDS, MembershipCase, membership_case
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.progress import Progress
from simulate.case import Case, simulate_case
from simulate.export.feed_spec import FeedSpec

MEMBERSHIP = "membership"
# Cases of each kind of change, and of each distractor.
CASES = {"full": (40, 16), "medium": (10, 4), "small": (2, 1)}
# Every so many-th case is seen through samples of 1 packet in so many besides.
SAMPLED_EVERY, SAMPLING_RATE = 4, 4096
# A place must be known so many iterations after the first complete one began.
ITERATIONS_TO_PLACE = 3
# Of the effective-training-time ratio: what counts as right, and what the unseen end of an optimizer step hides.
CLOSE, ROUNDED = 0.005, 0.005

MEANINGS = {
    "change_kind": "share of changes reported once, with the right kind",
    "change_place": "share whose leavers, joiners, replaced endpoints and stages are right",
    "place_in_three": "the same from the window that ends three iterations after the change",
    "change_down": "share whose downtime is right within one iteration",
    "account_bounds": "share whose effective-training-time ratio in truth lies within the bounds of the account",
    "account_close": "share of those without repeated progress whose ratio is right within 0.5 points",
    "one_job": "share of cases with as many jobs as there are",
    "no_change": "share of distractors that are not taken for a change",
    "sampled_kind": "as change_kind, from sFlow at 1 in 4,096",
    "sampled_place": "as change_place, but for stages, from sFlow at 1 in 4,096",
    "sampled_no_change": "as no_change, from sFlow at 1 in 4,096",
}


class MembershipOutcome(Document):
    """What came of one case; None where it was not measured.

    Attributes:
        case: its name.
        about: the change, or the distractor.
        kind: whether a change was reported once, with the right kind; of a distractor, whether none was.
        place: whether who left, who joined in whose place and their stages were right.
        early_place: the same in the window that ends three iterations after the change.
        down_error: of the downtime, in iterations.
        account: whether the true effective-training-time ratio is within the account's bounds.
        account_error: of the ratio where no progress was repeated.
        jobs: whether there are as many as in truth.
        sampled: as `kind`, from samples.
        sampled_place: whether who left and who joined in whose place were right, from samples.
    """

    case: str
    about: str
    kind: bool
    place: bool | None = None
    early_place: bool | None = None
    down_error: float | None = None
    account: bool | None = None
    account_error: float | None = None
    jobs: bool
    sampled: bool | None = None
    sampled_place: bool | None = None


def run_membership_cases(
    size: str, numbers: Sequence[int] | None = None, progress: Progress | None = None
) -> list[MembershipOutcome]:
    """Run the family `membership`: changes first, kind by kind, then distractors.

    Args:
        size: of the suite.
        numbers: of the cases; None for all of the size. Those beyond are further cases, in the same order of kinds.
        progress: called with the number of finished cases.
    """
    changes, others = CASES[size]
    named = [(kind, n) for kind in KINDS for n in range(changes)] + [(k, n) for k in DISTRACTORS for n in range(others)]

    def run_case(number: int) -> MembershipOutcome:
        kind, drawn = named[number % len(named)]
        drawn += number // len(named) * (changes if kind in KINDS else others)
        return run_membership_case(kind, drawn).model_copy(update={"case": f"{MEMBERSHIP}-{number:03}"})

    return run_numbered(run_case, len(named), numbers, progress)


def run_membership_case(kind: str, number: int) -> MembershipOutcome:
    """Simulate and analyze one case."""
    plan = membership_case(number, kind)
    samples = number % SAMPLED_EVERY == 0
    feeds = (FeedSpec("sflow", rate=SAMPLING_RATE),) if samples else ()
    case = simulate_case(replace(plan.scenario, feeds=feeds), number)
    flows = _without_gap(plan, case.readings["flows"].flows)
    report = _analyzed(case, flows)
    changes, seen = _changes(report), _changes(_sampled(plan, case)) if samples else None
    jobs = len(report.jobs) == len(case.truth.jobs)
    if kind not in KINDS:
        clean = None if seen is None else not seen
        return MembershipOutcome(case=kind, about=kind, kind=not changes, jobs=jobs, sampled=clean)
    truth = case.truth.jobs[0]
    spent = report.jobs[0].training_time if len(report.jobs) == 1 else None
    bounds = None if spent is None else spent.effective_ratio
    effective = _effective_ratio(truth, spent) if spent is not None else 0.0
    repeats = any(one.repeated for one in truth.changes)
    return MembershipOutcome(
        account=bounds is not None and bounds[0] - ROUNDED <= effective <= bounds[1] + ROUNDED,
        account_error=None if repeats or bounds is None else round(abs(bounds[1] - effective), 5),
        case=kind,
        about=f"{kind}, {plan.scenario.jobs[0].plan}",
        kind=_kind(changes, truth),
        place=_places_right(changes, truth.changes[0]),
        early_place=_early_place(case, flows, truth),
        down_error=_down_error(changes, truth),
        jobs=jobs,
        sampled=None if seen is None else _kind(seen, truth),
        sampled_place=None if seen is None else _members_right(seen, truth.changes[0]),
    )


def _changes(report: Report) -> list[Event]:
    return [event for event in report.events if event.change is not None]


def _sampled(plan: MembershipCase, case: Case) -> Report:
    """What samples show of the case."""
    reading = case.readings["sflow"]
    return _analyzed_feed(replace(reading, flows=_without_gap(plan, reading.flows)), case.inventory)


def _kind(changes: Sequence[Event], truth: TrueJob) -> bool:
    return [e.change.kind for e in changes if e.change is not None] == [one.kind for one in truth.changes]


def _effective_ratio(truth: TrueJob, spent: TrainingTime) -> float:
    """Time of iterations in the account's time, less that of those that are done again, by the whole time."""
    inside = [(max(start, spent.start_ns), min(end, spent.end_ns)) for start, end in truth.iterations]
    again = 0
    for one in truth.changes:
        later = [(start, end) for start, end in inside if start >= one.end_ns]
        again += sum(end - start for start, end in later[: one.repeated])
    return (sum(max(end - start, 0) for start, end in inside) - again) / (spent.end_ns - spent.start_ns)


def _down_error(changes: Sequence[Event], truth: TrueJob) -> float | None:
    if len(changes) != 1 or (found := changes[0].change) is None or found.down_ns is None:
        return None
    true = truth.changes[0]
    usual = float(np.median([end - start for start, end in truth.iterations]))
    return round(abs(found.down_ns - (true.end_ns - true.start_ns)) / usual, 4)


def _early_place(case: Case, flows: Flows, truth: TrueJob) -> bool:
    """Whether the window that ends three iterations after the change shows all places."""
    true = truth.changes[0]
    until_ns = [end for start, end in truth.iterations if start >= true.end_ns][ITERATIONS_TO_PLACE - 1]
    early = flows.take(np.flatnonzero(flows.frame["time_flow_end_ns"] <= until_ns))
    return _places_right(_changes(_analyzed(case, early)), true)


def _places_right(changes: Sequence[Event], true: TrueChange) -> bool:
    if not _members_right(changes, true) or (found := changes[0].change) is None:
        return False
    return {place.endpoint: place.pp for place in (*found.leavers, *found.joiners)} == true.stages


def _members_right(changes: Sequence[Event], true: TrueChange) -> bool:
    """Whether the one change names who left, and who joined in whose place."""
    if len(changes) != 1 or (found := changes[0].change) is None:
        return False

    def names(places: Sequence[Place]) -> tuple[str, ...]:
        return tuple(sorted(place.endpoint for place in places))

    replaces = {place.endpoint: place.replaces for place in found.joiners if place.replaces is not None}
    return (
        names(found.leavers) == tuple(sorted(true.leavers))
        and names(found.joiners) == tuple(sorted(true.joiners))
        and replaces == true.replaces
    )


def _without_gap(plan: MembershipCase, flows: Flows) -> Flows:
    """Some records of the case without those that a gap of the feed swallows."""
    if plan.gap is None:
        return flows
    frame = flows.frame
    begin, length = int(frame["time_flow_start_ns"].min()), int(np.ptp(frame["time_flow_end_ns"]))
    since, until = (begin + round(share * length) for share in plan.gap)
    lost = (frame["time_flow_end_ns"] > since) & (frame["time_flow_start_ns"] < until)
    if plan.gap_rail is not None:
        rail = np.array([int(address.rpartition(".")[2]) - 1 for address in flows.addresses])
        lost &= rail[frame["src_addr"]] == plan.gap_rail
    return flows.take(np.flatnonzero(~lost))


def _analyzed(case: Case, flows: Flows) -> Report:
    return _analyzed_feed(replace(case.readings["flows"], flows=flows), case.inventory)


def _analyzed_feed(reading: IngestResult, inventory: Inventory) -> Report:
    return analyze_reading(reading, (), inventory, AnalysisOptions(tables=False)).report


def figures(outcomes: Sequence[MembershipOutcome]) -> dict[str, float]:
    """Return the figures of `MEANINGS` over some cases; those that nothing was measured for are left out."""
    changes = [one for one in outcomes if one.place is not None]
    measured = {
        "change_kind": [one.kind for one in changes],
        "change_place": [bool(one.place) for one in changes],
        "place_in_three": [bool(one.early_place) for one in changes],
        "change_down": [one.down_error is not None and one.down_error <= 1 for one in changes],
        "account_bounds": [bool(one.account) for one in changes],
        "account_close": [one.account_error <= CLOSE for one in changes if one.account_error is not None],
        "one_job": [one.jobs for one in outcomes],
        "no_change": [one.kind for one in outcomes if one.place is None],
        "sampled_kind": [one.sampled for one in changes if one.sampled is not None],
        "sampled_place": [one.sampled_place for one in changes if one.sampled_place is not None],
        "sampled_no_change": [one.sampled for one in outcomes if one.place is None and one.sampled is not None],
    }
    return {name: sum(marks) / len(marks) for name, marks in measured.items() if marks}


def outcomes_text(outcomes: Sequence[MembershipOutcome]) -> str:
    """Return a line for each case, and one for each figure."""

    def mark(value: bool | None) -> str:
        return "" if value is None else "yes" if value else "no"

    head = f"{'case':<16}{'about':<62}{'kind':>5}{'place':>7}{'early':>7}{'jobs':>6}{'sampled':>9}{'down error':>12}"
    lines = [
        f"{one.case:<16}{one.about:<62}{mark(one.kind):>5}{mark(one.place):>7}{mark(one.early_place):>7}"
        f"{mark(one.jobs):>6}{mark(one.sampled):>9}{'' if one.down_error is None else f'{one.down_error:.3f}':>12}"
        for one in outcomes
    ]
    said = [f"{name:<18}{100 * value:.2f} %" for name, value in figures(outcomes).items()]
    return "\n".join([head, *lines, "", *said])
