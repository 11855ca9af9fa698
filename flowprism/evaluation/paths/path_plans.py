"""Plans of paths against simulated truth: collisions, the optimum, and what becomes of a plan that is applied."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from datamodel.cluster.inventory import Inventory
from datamodel.document import Document
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reports.path_plan import JobPaths, PathPlan, PhaseLoad
from datamodel.reports.report import JobReport, Report
from datamodel.reports.truth import TrueJob
from diagnose.paths.follow_up import outcome
from diagnose.paths.path_options import PATHS
from diagnose.paths.placing.placement import Demand, bound_s
from diagnose.paths.shortest_routes import DirectedCables, ShortestRoutes, shortest_routes
from flowprism.evaluation.case_runner import run_numbered
from flowprism.evaluation.cases.paths import PathCase, path_case
from flowprism.evaluation.paths.best_placement import best_placement
from flowprism.evaluation.paths.true_loads import COUNTS, CableNumbers, SentConnections, cable_loads_s, with_interfaces
from flowprism.evaluation.paths.true_ports import TrueWays, with_true_ports
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.progress import Progress
from flowprism.rendering.formats.path_plan_files import path_plan_csv
from simulate.case import Case, simulate_case
from simulate.network.fabric import Fabric
from simulate.scenarios.source_ports import with_source_ports

PATHS_FAMILY = "paths"
CASES = {"full": 200, "medium": 32, "small": 4}
# Loads this near to the threshold of a collision are one to some and none to others.
_BORDER = 0.01
_MILP_SECONDS = 5.0
# Queue pairs of a connection differ by parts of a message: so much apart, connections are equal.
_EQUAL = 1.001
_MEAN, _WORST, _SEEN, _FREE = 0.01, 0.03, 0.02, 0.01

MEANINGS = {
    "collision_precision": "share of the collisions reported that are true",
    "collision_recall": "share of the true collisions that are reported",
    "jobs_found": "share of jobs that are in the plan",
    "plan_within_1": "share of cases whose slowest loads, the plan applied, are at most 1 % above a program's bound",
    "plan_within_3": "share of cases at most 3 % above it",
    "plan_near_program": "share of cases at most 1 % above the best placement that the program finds in five seconds",
    "at_bound": "share of single jobs of equal connections whose plan meets the bound exactly",
    "ports_answered": "share of connections to be moved that get a port, where the hash can be learnt",
    "ports_right": "share of ports given that lead over the planned cable, whatever the hash",
    "kept": "share of moved connections that leave by the planned doors once the exported file is applied",
    "predicted_within_2": "share of jobs alone on the fabric whose slowest load is then as predicted within 2 %",
    "shared_within_2": "the same of jobs that share uplinks with others, whose part changes as iterations get shorter",
    "free_within_1": "share of jobs whose iteration is then within 1 % of one without any collision",
}


class PathOutcome(Document):
    """What came of one case.

    Attributes:
        case, about: its name, and what it is.
        collisions: reported and true; reported alone; true alone.
        jobs: in the plan, and in truth.
        excess: slowest loads, the plan applied, over the least that is possible, as far as that is known, less 1.
        above_program: the same over the best placement that the program found; below 0 where that is slower, None
            where it found none in its time.
        at_bound: whether a single job of equal connections meets the bound; None of others.
        moves: connections to be moved; those with a port; those whose port is right.
        affine: whether the hash can be learnt.
        kept: connections by the planned doors of those moved; None where not all got a port.
        predicted, free: by job, errors of the slowest load and of the iteration.
    """

    case: str
    about: str
    collisions: tuple[int, int, int]
    jobs: tuple[int, int]
    excess: float
    above_program: float | None
    at_bound: bool | None
    moves: tuple[int, int, int]
    affine: bool
    kept: tuple[int, int] | None = None
    predicted: tuple[float, ...] = ()
    free: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Planned:
    """A case with its report and plan.

    Attributes:
        jobs: by id in the plan, the job's report and its truth.
        spine: (n,) that each connection of `sent` takes.
    """

    case: Case
    fabric: Fabric
    report: Report
    plan: PathPlan
    jobs: dict[str, tuple[JobReport, TrueJob]]
    sent: SentConnections
    spine: Int

    def own(self, job: str) -> Bool:
        """(n,) connections of a job."""
        inside = set(self.jobs[job][0].endpoints)
        member = np.array([address in inside for address in self.fabric.addresses()], np.bool_)
        return np.asarray(member[self.sent.src] & member[self.sent.dst])

    def folded(self, job: str, phase: PhaseLoad) -> Float:
        """(n,) mean bytes of each connection in a phase, without the first iteration: its beginning may be missing."""
        steps = [(step.start_ns, step.end_ns) for step in self.jobs[job][0].iterations]
        return self.sent.folded(steps[1:], phase.begin_ratio, phase.end_ratio)

    def slowest_s(self, paths: JobPaths) -> list[float]:
        """Time of the slowest cable of each phase of a job."""
        return [float(self.loads(paths.job, phase)[0].max()) for phase in paths.phases]

    def loads(self, job: str, phase: PhaseLoad) -> tuple[Float, Int]:
        """(time of each cable with a connection of the job that counts, connections of any that count) in a phase."""
        values, own, spine = self.folded(job, phase), self.own(job), self.spine
        load, counts = cable_loads_s(self.fabric, self.sent, spine, values)
        _, mine = cable_loads_s(self.fabric, self.sent, spine, np.where(own, values, 0.0), load)
        return np.where(mine > 0, load, 0.0), np.where(mine > 0, counts, 0)


def run_path_cases(
    size: str, numbers: Sequence[int] | None = None, progress: Progress | None = None
) -> list[PathOutcome]:
    """Run the family `paths`.

    Args:
        size: of the suite.
        numbers: of the cases; None for all of the size.
        progress: called with the number of finished cases.
    """
    return run_numbered(run_path_case, CASES[size], numbers, progress)


def run_path_case(number: int) -> PathOutcome:
    """Simulate, plan, apply the exported file and simulate again.

    Where the plan gives a connection no port, the simulator's own hash does: placements are judged in all cases.
    """
    drawn = path_case(number)
    before = _planned(drawn, number)
    moved = [one for one in before.plan.connections if one.action != "keep"]
    given = [one for one in moved if one.action == "set"]
    ways = TrueWays.of(before.fabric)
    right = sum(bool(ways.leads(one, np.array([one.new_src_port or 0]))[0]) for one in given)
    after = _applied(drawn, number, with_true_ports(before.plan, before.fabric))
    slowest, least, found_s, equal = _against_best(after)
    found = PathOutcome(
        case=f"{PATHS_FAMILY}-{number:03}",
        about=drawn.scenario.about,
        collisions=_collisions(before, after, min(found_s / slowest, 1.0) if slowest else 1.0),
        jobs=(len(before.jobs), len(before.case.truth.jobs)),
        excess=round(max(slowest / least - 1, 0.0), 6) if least else 0.0,
        above_program=_above(slowest, found_s),
        at_bound=slowest <= least * _EQUAL if equal else None,
        moves=(len(moved), len(given), right),
        affine=drawn.affine,
    )
    return found if len(given) < len(moved) else _compared(found, drawn, number, before, after)


def _applied(drawn: PathCase, number: int, plan: PathPlan) -> _Planned:
    """The case once the exported file is applied."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.csv"
        file.write_text(path_plan_csv(plan))
        return _planned(replace(drawn, scenario=with_source_ports(drawn.scenario, file)), number)


def _compared(found: PathOutcome, drawn: PathCase, number: int, before: _Planned, after: _Planned) -> PathOutcome:
    """The outcome with what the exported file did, as against what was predicted."""
    free = {one.id: _iteration_ns(one) for one in simulate_case(drawn.free(), number).truth.jobs}
    counts = outcome(before.plan, after.plan).applied
    expected = {one.job: sum(p.planned_s for p in one.phases) for one in before.plan.jobs}
    seen = {one.job: sum(after.slowest_s(one)) for one in after.plan.jobs if one.job in after.jobs}
    truth = [own for _, own in after.jobs.values()]
    return found.model_copy(
        update={
            "kept": (counts.get("kept", 0), sum(counts.values())),
            "predicted": tuple(round(abs(expected[n] / seen[n] - 1), 5) for n in seen if n in expected and seen[n]),
            "free": tuple(round(_iteration_ns(one) / free[one.id] - 1, 5) for one in truth),
        }
    )


def _planned(drawn: PathCase, number: int) -> _Planned:
    case, fabric = simulate_case(drawn.scenario, number), drawn.scenario.fabric
    flows = case.readings["flows"].flows
    reading = replace(case.readings["flows"], flows=with_interfaces(flows, fabric))
    analysis = analyze_reading(reading, ("a case",), case.inventory, AnalysisOptions(tables=False))
    plan = analysis.plan or PathPlan(window=analysis.report.window)
    by_ends = {frozenset(one.endpoints): one for one in case.truth.jobs}
    known = {one.job for one in plan.jobs}
    jobs = {
        one.id: (one, by_ends[frozenset(one.endpoints)])
        for one in analysis.report.jobs
        if one.id in known and frozenset(one.endpoints) in by_ends
    }
    sent = SentConnections.of(flows, fabric)
    return _Planned(case, fabric, analysis.report, plan, jobs, sent, fabric.spine(sent.src, sent.dst, sent.port))


def _against_best(after: _Planned) -> tuple[float, float, float, bool]:
    """Slowest loads in sum: (the plan's, a bound of the best, the program's); whether all connections are equal."""
    phases = [(one.job, p) for one in after.plan.jobs if one.job in after.jobs for p in one.phases]
    if not phases:
        return 0.0, 0.0, 0.0, False
    slowest = sum(sum(after.slowest_s(one)) for one in after.plan.jobs if one.job in after.jobs)
    demand, routes, cables = _demand(after, phases)
    least = float(bound_s(demand, routes, cables).sum())
    found_s = least
    if slowest > least * (1 + 1e-6):
        best = best_placement(demand, routes, cables, _MILP_SECONDS)
        least, found_s = max(least, min(best.bound_s, best.found_s)), best.found_s
    sizes = demand.bytes[demand.own & (demand.bytes > 0)]
    equal = len(after.plan.jobs) == 1 and len(phases) == 1 and bool(sizes.max() <= sizes.min() * _EQUAL)
    return slowest, least, found_s, equal


def _above(slowest: float, found_s: float) -> float | None:
    if found_s == np.inf:
        return None
    return round(slowest / found_s - 1, 6) if found_s else 0.0


def _demand(after: _Planned, phases: Sequence[tuple[str, PhaseLoad]]) -> tuple[Demand, ShortestRoutes, DirectedCables]:
    inventory: Inventory = after.case.inventory
    cables, fabric, sent = DirectedCables.of_inventory(inventory), after.fabric, after.sent
    number = {name: n for n, name in enumerate(cables.switches)}
    if fabric.bonded:
        code = np.array([number[fabric.address(nic)] for nic in range(fabric.endpoints)])
        ends = np.stack([code[nic] for nic in (sent.src, sent.dst)], axis=1)
    else:
        names = [[fabric.leaf_name(n, plane) for n in range(fabric.leaves)] for plane in range(fabric.planes)]
        leaf = np.array([[number[name] for name in own] for own in names])
        ends = np.stack([leaf[sent.plane, fabric.leaf_of_nic(nic)] for nic in (sent.src, sent.dst)], axis=1)
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    carried = np.stack([after.folded(job, p) for job, p in phases], axis=1)
    long = np.flatnonzero(carried.sum(axis=1) >= COUNTS * carried.sum(axis=1).max())
    own = np.stack([after.own(job) for job, _ in phases], axis=1)[long]
    carried, nothing = carried[long], np.zeros((len(cables.tail), len(phases)))
    return Demand(pair.ravel()[long], carried, own & (carried > 0), nothing), shortest_routes(cables, pairs), cables


def _collisions(before: _Planned, after: _Planned, best: float) -> tuple[int, int, int]:
    """(reported and true, reported alone, true alone), by job and directed cable.

    A collision is by the slowest load of the best placement: what the plan came to, by the share that is possible.
    """
    fabric, known_jobs = before.fabric, before.jobs.keys() & after.jobs.keys()
    planned = {one.job: _slowest_of(before, after, one.job) for one in after.plan.jobs if one.job in known_jobs}
    true: set[tuple[str, int]] = set()
    unclear: set[tuple[str, int]] = set()
    for one in before.plan.jobs:
        known = one.job in before.jobs and len(planned.get(one.job, ())) == len(one.phases)
        for phase, least_s in zip(one.phases, planned[one.job], strict=True) if known else ():
            load, counts = before.loads(one.job, phase)
            ratio = load / max(least_s * best, 1e-12)
            some = counts >= 2
            true |= {(one.job, n) for n in np.flatnonzero(some & (ratio >= PATHS.collides_ratio)).tolist()}
            near = np.abs(ratio / PATHS.collides_ratio - 1) <= _BORDER
            unclear |= {(one.job, n) for n in np.flatnonzero(some & near).tolist()}
    numbers = CableNumbers(fabric)
    said = {(one.job, numbers.number(one.link)) for one in before.plan.collisions}
    true, said = true - unclear, said - unclear
    return len(said & true), len(said - true), len(true - said)


def _slowest_of(before: _Planned, after: _Planned, job: str) -> list[float]:
    """Slowest loads of a job's phases once the plan is applied, for as many bytes as iterations were seen to have."""
    sent = []
    for one in (before, after):
        phases = next((paths.phases for paths in one.plan.jobs if paths.job == job), ())
        own = one.own(job)
        sent.append(sum(float(one.folded(job, phase)[own].sum()) for phase in phases))
    paths = next(paths for paths in after.plan.jobs if paths.job == job)
    return [load_s * sent[0] / sent[1] for load_s in after.slowest_s(paths)]


def _iteration_ns(job: TrueJob) -> float:
    return float(np.median([end - start for start, end in job.iterations[1:]]))


def figures(outcomes: Sequence[PathOutcome]) -> dict[str, float]:
    """Return the figures of `MEANINGS` over some cases; those that nothing was measured for are left out."""
    both, said, true = (sum(one.collisions[n] for one in outcomes) for n in range(3))
    affine = [one for one in outcomes if one.affine]
    applied = [one for one in outcomes if one.kept is not None]
    counts = {
        "collision_precision": (both, both + said),
        "collision_recall": (both, both + true),
        "jobs_found": (sum(one.jobs[0] for one in outcomes), sum(one.jobs[1] for one in outcomes)),
        "plan_within_1": _share([one.excess <= _MEAN for one in outcomes]),
        "plan_within_3": _share([one.excess <= _WORST for one in outcomes]),
        "plan_near_program": _share([one.above_program <= _MEAN for one in outcomes if one.above_program is not None]),
        "at_bound": _share([one.at_bound for one in outcomes if one.at_bound is not None]),
        "ports_answered": (sum(one.moves[1] for one in affine), sum(one.moves[0] for one in affine)),
        "ports_right": (sum(one.moves[2] for one in outcomes), sum(one.moves[1] for one in outcomes)),
        "kept": (sum(one.kept[0] for one in applied if one.kept), sum(one.kept[1] for one in applied if one.kept)),
        "predicted_within_2": _share([e <= _SEEN for one in applied if one.jobs[1] == 1 for e in one.predicted]),
        "shared_within_2": _share([e <= _SEEN for one in applied if one.jobs[1] > 1 for e in one.predicted]),
        "free_within_1": _share([error <= _FREE for one in applied for error in one.free]),
    }
    return {name: good / of for name, (good, of) in counts.items() if of}


def _share(marks: Sequence[bool]) -> tuple[int, int]:
    return sum(marks), len(marks)


def outcomes_text(outcomes: Sequence[PathOutcome]) -> str:
    """Return a line for each case, and one for each figure."""
    head = f"{'case':<10}{'about':<60}{'collisions':>12}{'false':>6}{'missed':>7}{'excess':>9}{'moves':>6}{'ports':>6}"
    lines = [
        f"{one.case:<10}{one.about:<60}{one.collisions[0]:>12}{one.collisions[1]:>6}{one.collisions[2]:>7}"
        f"{100 * one.excess:>8.2f}%{one.moves[0]:>6}{one.moves[2]:>6}"
        f"{'' if not one.predicted else f'  predicted {100 * max(one.predicted):.2f} %'}"
        f"{'' if not one.free else f'  free {100 * max(one.free):.2f} %'}"
        for one in outcomes
    ]
    mean = f"mean excess {100 * np.mean([one.excess for one in outcomes]):.3f} %, worst "
    worst = f"{100 * max(one.excess for one in outcomes):.2f} %"
    said = [f"{name:<20}{100 * value:.2f} %" for name, value in figures(outcomes).items()]
    return "\n".join([head, *lines, "", mean + worst, *said])
