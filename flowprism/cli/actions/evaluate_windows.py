"""The family of consecutive windows from the command line: run its cases, print what came of each, and figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from datamodel.errors import InputError
from flowprism.cli.arguments.score_requirements import parse_requirement
from flowprism.cli.progress_bars import progress_bars
from flowprism.evaluation.consecutive_scans import MEANINGS, WINDOWS, figures, outcomes_text, run_window_cases
from flowprism.service.incidents.incident_lifecycle import IncidentOptions


def asks_for_windows(families: Sequence[str], cases: Sequence[str]) -> bool:
    """Return whether the family is asked for, as a whole or by the names of cases.

    Raises:
        InputError: it is asked for together with other families: its cases are no reports, and have no scoreboard.
    """
    asked = [text == WINDOWS for text in families] + [text.startswith(f"{WINDOWS}-") for text in cases]
    if any(asked) and not all(asked):
        raise InputError(f"--family {WINDOWS} has figures of its own: run it without other families")
    return any(asked)


def score_windows(size: str, cases: Sequence[str], needs: Sequence[str], out: Path | None, *, as_json: bool) -> bool:
    """Print what came of each case and the figures; return whether all needs are met.

    Raises:
        InputError: a need is none, a case has no number, or the file cannot be written.
    """
    wanted = [parse_requirement(text, MEANINGS, "figure") for text in needs]
    numbers = [_number(text) for text in cases] or None
    with progress_bars() as progress:
        outcomes = run_window_cases(size, numbers=numbers, progress=progress)
    quiet_scans = IncidentOptions().quiet_scans
    found = figures(outcomes, quiet_scans)
    said = json.dumps({"figures": found, "cases": [one.model_dump() for one in outcomes]})
    if out is not None:
        try:
            out.write_text(said + "\n", "utf-8")
        except OSError as error:
            raise InputError(f"{out}: {error.strerror or error}") from error
    typer.echo(said if as_json else outcomes_text(outcomes, quiet_scans))
    short = [(name, need) for name, need in wanted if found.get(name, 0.0) < need]
    for name, need in short:
        typer.echo(f"falls short: {name} is {found.get(name, 0.0):.4g}, needed >= {need:g}", err=True)
    return not short


def _number(text: str) -> int:
    number = text.removeprefix(f"{WINDOWS}-")
    if not number.isdecimal():
        raise InputError(f"--case {text}: expected {WINDOWS}-NUMBER, as in {WINDOWS}-004")
    return int(number)
