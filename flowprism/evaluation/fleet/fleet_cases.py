"""Runs the family `fleet`: repeat offenders of simulated months, with slow hosts and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from datamodel.document import Document
from diagnose.patterns.repeat_offenders import rank_hosts
from flowprism.evaluation.case_runner import run_numbered
from flowprism.evaluation.fleet.made_fleet import HARD, USUAL, made_fleet
from flowprism.progress import Progress

FLEET = "fleet"
CASES = {"full": 80, "medium": 16, "small": 4}
_FIRST = 10

MEANINGS = {
    "slow_in_first_ten": "least number of the five slow hosts among the first ten, of the usual fleets",
    "slow_in_first_ten_hard": "mean of the same, of the hard fleets",
    "slow_named": "share of slow hosts that are named, of the usual fleets",
    "slow_named_hard": "the same of the hard fleets",
    "named_right": "share of named hosts that are slow, mean over usual fleets with slow hosts (1 where none is named)",
    "named_right_hard": "the same of the hard fleets",
    "clean_unnamed": "share of fleets without a slow host in which none is named, usual and hard",
}


class FleetOutcome(Document):
    """What came of one month.

    Attributes:
        case: its name.
        hard: whether hosts have few jobs, jobs differ in noise, a stage is slow, and some first ranks do more.
        jobs_a_host: mean number of jobs with peers.
        slow: how many hosts are slow.
        first_ten: how many of them are among the first ten.
        named_right, named_wrong: hosts that are named, slow and healthy ones.
    """

    case: str
    hard: bool
    jobs_a_host: float
    slow: int
    first_ten: int
    named_right: int
    named_wrong: int


def run_fleet_cases(
    size: str, numbers: Sequence[int] | None = None, progress: Progress | None = None
) -> list[FleetOutcome]:
    """Run the cases of a size, or those of some numbers; `progress` is called with the number of finished ones."""
    return run_numbered(run_fleet_case, CASES[size], numbers, progress)


def run_fleet_case(number: int) -> FleetOutcome:
    """Draw and rank one month: odd numbers are clean, every second pair is hard."""
    hard, clean = number % 4 > 1, number % 2 == 1
    kind = HARD if hard else USUAL
    fleet = made_fleet(replace(kind, slow_hosts=0) if clean else kind, number)
    found = rank_hosts(fleet.seen)
    named = found.host[found.is_offender]
    right = int(np.isin(named, fleet.slow).sum())
    return FleetOutcome(
        case=f"{FLEET}-{number:03}",
        hard=hard,
        jobs_a_host=round(float(found.jobs.mean()), 2),
        slow=len(fleet.slow),
        first_ten=int(np.isin(found.host[:_FIRST], fleet.slow).sum()),
        named_right=right,
        named_wrong=len(named) - right,
    )


def figures(outcomes: Sequence[FleetOutcome]) -> dict[str, float]:
    """The figures of `MEANINGS`; those without a case are missing."""
    clean = [float(one.named_wrong == 0) for one in outcomes if not one.slow]
    found = {"clean_unnamed": float(np.mean(clean))} if clean else {}
    for suffix, hard in (("", False), ("_hard", True)):
        own = [one for one in outcomes if one.slow and one.hard == hard]
        if own:
            first = [one.first_ten for one in own]
            found[f"slow_in_first_ten{suffix}"] = float(np.mean(first) if hard else min(first))
            found[f"slow_named{suffix}"] = sum(one.named_right for one in own) / sum(one.slow for one in own)
            found[f"named_right{suffix}"] = float(np.mean([_right_share(one) for one in own]))
    return {name: found[name] for name in MEANINGS if name in found}


def _right_share(one: FleetOutcome) -> float:
    named = one.named_right + one.named_wrong
    return one.named_right / named if named else 1.0


def outcomes_text(outcomes: Sequence[FleetOutcome]) -> str:
    """Return a line for each case, and one for each figure."""
    head = f"{'case':<12}{'fleet':<8}{'jobs a host':>12}{'slow':>6}{'first ten':>11}{'named':>7}{'wrongly':>9}"
    lines = [
        f"{one.case:<12}{'hard' if one.hard else 'usual':<8}{one.jobs_a_host:>12.2f}{one.slow:>6}{one.first_ten:>11}"
        f"{one.named_right:>7}{one.named_wrong:>9}"
        for one in outcomes
    ]
    return "\n".join([head, *lines, "", *(f"{name:<24}{value:.4g}" for name, value in figures(outcomes).items())])
