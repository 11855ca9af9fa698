"""Families with figures of their own from the command line: run the cases, print what came of each, and the figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from datamodel.document import Document
from datamodel.errors import InputError
from flowprism.cli.arguments.score_requirements import parse_requirement
from flowprism.cli.progress_bars import progress_bars
from flowprism.evaluation import consecutive_scans, membership_changes
from flowprism.evaluation.consecutive_scans import WINDOWS, run_window_cases
from flowprism.evaluation.fleet import fleet_cases
from flowprism.evaluation.fleet.fleet_cases import FLEET, run_fleet_cases
from flowprism.evaluation.membership_changes import MEMBERSHIP, run_membership_cases
from flowprism.evaluation.paths import path_plans
from flowprism.evaluation.paths.path_plans import PATHS_FAMILY, run_path_cases
from flowprism.evaluation.traffic import cabling, traffic_classes
from flowprism.evaluation.traffic.cabling import CABLING, run_cabling_cases
from flowprism.evaluation.traffic.traffic_classes import CLASSES, run_class_cases
from flowprism.progress import Progress
from flowprism.service.incidents.incident_lifecycle import IncidentOptions


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """Outcomes of some cases, their figures, and both as text."""

    cases: Sequence[Document]
    figures: Mapping[str, float]
    text: str


def _windows(size: str, numbers: Sequence[int] | None, progress: Progress | None) -> _Outcomes:
    cases, quiet = run_window_cases(size, numbers=numbers, progress=progress), IncidentOptions().quiet_scans
    return _Outcomes(cases, consecutive_scans.figures(cases, quiet), consecutive_scans.outcomes_text(cases, quiet))


def _membership(size: str, numbers: Sequence[int] | None, progress: Progress | None) -> _Outcomes:
    cases = run_membership_cases(size, numbers, progress)
    return _Outcomes(cases, membership_changes.figures(cases), membership_changes.outcomes_text(cases))


def _paths(size: str, numbers: Sequence[int] | None, progress: Progress | None) -> _Outcomes:
    cases = run_path_cases(size, numbers, progress)
    return _Outcomes(cases, path_plans.figures(cases), path_plans.outcomes_text(cases))


def _classes(size: str, numbers: Sequence[int] | None, progress: Progress | None) -> _Outcomes:
    cases = run_class_cases(size, numbers, progress)
    return _Outcomes(cases, traffic_classes.figures(cases), traffic_classes.outcomes_text(cases))


def _cabling(size: str, numbers: Sequence[int] | None, progress: Progress | None) -> _Outcomes:
    cases = run_cabling_cases(size, numbers, progress)
    return _Outcomes(cases, cabling.figures(cases), cabling.outcomes_text(cases))


def _fleet(size: str, numbers: Sequence[int] | None, progress: Progress | None) -> _Outcomes:
    cases = run_fleet_cases(size, numbers, progress)
    return _Outcomes(cases, fleet_cases.figures(cases), fleet_cases.outcomes_text(cases))


_Runner = Callable[[str, Sequence[int] | None, Progress | None], _Outcomes]
_FAMILIES: dict[str, tuple[_Runner, Mapping[str, str]]] = {
    WINDOWS: (_windows, consecutive_scans.MEANINGS),
    MEMBERSHIP: (_membership, membership_changes.MEANINGS),
    PATHS_FAMILY: (_paths, path_plans.MEANINGS),
    CLASSES: (_classes, traffic_classes.MEANINGS),
    CABLING: (_cabling, cabling.MEANINGS),
    FLEET: (_fleet, fleet_cases.MEANINGS),
}


def family_apart(families: Sequence[str], cases: Sequence[str]) -> str | None:
    """Return the family with figures of its own that is asked for, as a whole or by the names of cases.

    Raises:
        InputError: it is asked for together with other families: its cases have no scoreboard.
    """
    asked = [*families, *(text.rpartition("-")[0] for text in cases)]
    name = next((one for one in asked if one in _FAMILIES), None)
    if name is not None and any(one != name for one in asked):
        raise InputError(f"--family {name} has figures of its own: run it without other families")
    return name


def score_apart(
    family: str, size: str, cases: Sequence[str], needs: Sequence[str], out: Path | None, *, as_json: bool
) -> bool:
    """Print what came of each case and the figures; return whether all needs are met.

    Raises:
        InputError: a need is none, a case has no number, or the file cannot be written.
    """
    run, meanings = _FAMILIES[family]
    wanted = [parse_requirement(text, meanings, "figure") for text in needs]
    numbers = [_number(family, text) for text in cases] or None
    with progress_bars() as progress:
        found = run(size, numbers, progress)
    said = json.dumps({"figures": found.figures, "cases": [one.model_dump() for one in found.cases]})
    if out is not None:
        try:
            out.write_text(said + "\n", "utf-8")
        except OSError as error:
            raise InputError(f"{out}: {error.strerror or error}") from error
    typer.echo(said if as_json else found.text)
    short = [(name, need) for name, need in wanted if found.figures.get(name, 0.0) < need]
    for name, need in short:
        typer.echo(f"falls short: {name} is {found.figures.get(name, 0.0):.4g}, needed >= {need:g}", err=True)
    return not short


def _number(family: str, text: str) -> int:
    number = text.removeprefix(f"{family}-")
    if not number.isdecimal():
        raise InputError(f"--case {text}: expected {family}-NUMBER, as in {family}-004")
    return int(number)
