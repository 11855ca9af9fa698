"""The suite from the command line: run its cases, print the scoreboard, keep it, compare it, hold it against needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from flowprism.cli.arguments.score_requirements import parse_requirement
from flowprism.cli.progress_bars import progress_bars
from flowprism.evaluation.case_runner import run_cases
from flowprism.evaluation.comparison import compare
from flowprism.evaluation.scoreboard import TOTAL, Scoreboard, read_scoreboard, scoreboard, write_scoreboard
from flowprism.evaluation.scoreboard_metrics import LOWER, MEANINGS, Metric
from flowprism.evaluation.scoreboard_text import comparison_text, scoreboard_text
from flowprism.evaluation.suite import CaseName, Size, list_cases, parse_case
from flowprism.evaluation.trial import OURS


@dataclass(frozen=True, slots=True)
class SuiteArguments:
    """Which cases the user wants run, and how."""

    size: Size
    families: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    captures: Path | None = None
    keep: Path | None = None
    workers: int | None = None

    def names(self) -> list[CaseName]:
        """The cases."""
        if self.cases:
            return [parse_case(text) for text in self.cases]
        return list_cases(self.size, self.families, self.captures)


def score_suite(
    arguments: SuiteArguments, needs: Sequence[str], out: Path | None, against: Path | None, *, as_json: bool
) -> bool:
    """Print the scoreboard to stdout, and to stderr which needs are not met; whether all are.

    Raises:
        InputError: there is no such case, a need is none, or a file cannot be read or written.
    """
    wanted = [parse_requirement(text, MEANINGS, "figure") for text in needs]
    earlier = read_scoreboard(against) if against else None
    cases = arguments.names()
    with progress_bars() as progress:
        trials = run_cases(cases, arguments.workers, arguments.keep, progress)
    board = scoreboard("named" if arguments.cases else arguments.size, trials)
    if out is not None:
        write_scoreboard(board, out)
    typer.echo(board.model_dump_json(by_alias=True) if as_json else scoreboard_text(board))
    if earlier is not None:
        typer.echo(comparison_text(compare(board, earlier)), err=as_json)
    return _all_met(board, wanted)


def _all_met(board: Scoreboard, wanted: Sequence[tuple[str, float]]) -> bool:
    """Whether the figures of all cases together meet the needs; a figure that nothing was measured for does not."""
    found = board.figures[OURS][TOTAL]
    short = [(name, need) for name, need in wanted if not _meets(found.get(name), name, need)]
    for name, need in short:
        said = f"{found[name].value:.4g}" if name in found else "not measured"
        typer.echo(f"falls short: {name} is {said}, needed {'<=' if name in LOWER else '>='} {need:g}", err=True)
    return not short


def _meets(figure: Metric | None, name: str, need: float) -> bool:
    if figure is None:
        return False
    return figure.value <= need if name in LOWER else figure.value >= need
