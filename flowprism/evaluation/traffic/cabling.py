"""Swapped cables: does sFlow with interface numbers show each, and none where the inventory is right?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.cluster.inventory import Endpoint, Inventory
from datamodel.document import Document
from datamodel.reports.findings import Finding
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.evaluation.case_runner import run_numbered
from flowprism.evaluation.cases.training import Training, draw, hosts_of
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.progress import Progress
from simulate.case import simulate_case
from simulate.export.feed_spec import FeedSpec, Point
from simulate.scenarios.base_job import GPUS_PER_HOST, fabric_for
from simulate.scenarios.scenario import BackgroundTraffic, Scenario
from simulate.training.plan import Plan

CABLING = "cabling"
CASES = {"full": 100, "medium": 25, "small": 5}
MEANINGS = {
    "swaps_found": "share of swapped or moved cables that a finding names, with the right lines for the inventory",
    "swaps_alone": "share of these cases without a finding about another cable",
    "quiet": "share of right inventories without a finding about cables",
}
ITERATIONS = 4
_SECONDS = 10.0
_TRAINING = Training(
    (Plan(tp=8, dp=2, pp=2), Plan(tp=8, dp=4), Plan(tp=4, dp=4, pp=2), Plan(tp=8, dp=3, pp=2)),
    models=("llama2-7b",),
    batches=(2,),
    units=2,
)
_RATES = (512, 1024, 2048, 4096)
_POINTS: tuple[tuple[Point, ...], ...] = (
    ("source",),
    ("source", "destination"),
    ("source", "spine", "destination"),
    ("source", "delivery"),
)
_FREE_PORT = 9_000  # on no simulated leaf


class CablingOutcome(Document):
    """What came of one case.

    Attributes:
        case, about: its name, and what was wrong with the inventory.
        found: a finding names the cables, with the right lines.
        alone: and no other finding is about cables.
        quiet: with the right inventory there is none.
    """

    case: str
    about: str
    found: bool
    alone: bool
    quiet: bool


def run_cabling_cases(
    size: str, numbers: Sequence[int] | None = None, progress: Progress | None = None
) -> list[CablingOutcome]:
    """Run the family `cabling`.

    Args:
        size: of the suite.
        numbers: of the cases; None for all of the size.
        progress: called with the number of finished cases.
    """
    return run_numbered(run_cabling_case, CASES[size], numbers, progress)


def run_cabling_case(number: int) -> CablingOutcome:
    """Simulate one fabric, and analyze it with a wrong inventory and with the right one."""
    random = np.random.default_rng(np.random.SeedSequence([number, *b"cabling"]))
    case = simulate_case(_scenario(number, random), number)
    reading = case.readings["sflow"]
    wrong, swapped, about = _miswired(case.inventory, number, random)
    findings = _about_cables(reading, wrong)
    lines = [_endpoint(case.inventory, name) for name in swapped]
    named = [f for f in findings if set(f.subject.ids) == set(swapped)]
    right = [f for f in named if all(_says(f, line) for line in lines)]
    return CablingOutcome(
        case=f"{CABLING}-{number:03}",
        about=about,
        found=bool(right),
        alone=len(findings) == len(right),
        quiet=not _about_cables(reading, case.inventory),
    )


def _scenario(number: int, random: np.random.Generator) -> Scenario:
    """A small job, on plain leaves or on rails, seen by sFlow at one to three switches of each path."""
    rails = bool(random.integers(2))
    drawn = draw(_TRAINING, random, ITERATIONS)
    hosts = hosts_of(drawn.job.plan)
    fabric = fabric_for(
        (hosts + 2) * GPUS_PER_HOST,
        services=2,
        rail_optimised=rails,
        hosts_per_leaf=2,
        spines=int(random.integers(2, 5)),
    )
    feed = FeedSpec("sflow", _RATES[number % len(_RATES)], _POINTS[int(random.integers(len(_POINTS)))])
    return Scenario("", "", fabric, (drawn.job,), feeds=(feed,), bustle=BackgroundTraffic(seconds=_SECONDS))


def _miswired(inventory: Inventory, number: int, random: np.random.Generator) -> tuple[Inventory, tuple[str, ...], str]:
    """The inventory with cables of ranks that are not so, which endpoints, and in words."""
    hosts = inventory.hosts
    ranks = [e for h in hosts[:-4] for e in h.endpoints]
    one = ranks[int(random.integers(len(ranks)))]
    if number % 4 == 3:
        spare = next(s.name for s in inventory.switches if s.role == "leaf" and s.name != one.switch)
        moved = one.model_copy(update={"switch": spare, "port": _FREE_PORT})
        return _with(inventory, {one: moved}), one.all_addresses[:1], f"{one.address} moved from {spare}"
    others = [e for e in ranks if e != one and (number % 2 == 0 or e.switch != one.switch)]
    other = others[int(random.integers(len(others)))]
    exchanged = {
        one: one.model_copy(update={"switch": other.switch, "port": other.port}),
        other: other.model_copy(update={"switch": one.switch, "port": one.port}),
    }
    names = (one.all_addresses[0], other.all_addresses[0])
    return _with(inventory, exchanged), names, f"{names[0]} and {names[1]} exchanged"


def _with(inventory: Inventory, changed: dict[Endpoint, Endpoint]) -> Inventory:
    hosts = tuple(
        host.model_copy(update={"endpoints": tuple(changed.get(e, e) for e in host.endpoints)})
        for host in inventory.hosts
    )
    return inventory.model_copy(update={"hosts": hosts})


def _about_cables(reading: IngestResult, inventory: Inventory) -> list[Finding]:
    report = analyze_reading(reading, (), inventory, AnalysisOptions(tables=False)).report
    return [f for f in report.findings if f.cause == "cabling"]


def _endpoint(inventory: Inventory, name: str) -> Endpoint:
    return next(e for h in inventory.hosts for e in h.endpoints if name in e.all_addresses)


def _says(finding: Finding, true: Endpoint) -> bool:
    """Whether the line that a finding gives for an endpoint is the true one."""
    return true.model_dump_json(exclude_none=True, exclude_defaults=True) in finding.action.replace(
        '": ', '":'
    ).replace(", ", ",")


def figures(outcomes: Sequence[CablingOutcome]) -> dict[str, float]:
    """Return the figures of `MEANINGS` over some cases."""
    if not outcomes:
        return {}
    marks = {
        "swaps_found": [one.found for one in outcomes],
        "swaps_alone": [one.alone for one in outcomes],
        "quiet": [one.quiet for one in outcomes],
    }
    return {name: sum(values) / len(values) for name, values in marks.items()}


def outcomes_text(outcomes: Sequence[CablingOutcome]) -> str:
    """Return a line for each case, and one for each figure."""
    head = f"{'case':<14}{'about':<50}{'found':>7}{'alone':>7}{'quiet':>7}"
    words = {True: "yes", False: "no"}
    lines = [
        f"{one.case:<14}{one.about:<50}{words[one.found]:>7}{words[one.alone]:>7}{words[one.quiet]:>7}"
        for one in outcomes
    ]
    said = [f"{name:<14}{100 * value:.2f} %" for name, value in figures(outcomes).items()]
    return "\n".join([head, *lines, "", *said])
