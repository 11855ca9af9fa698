"""The scoreboard, `flowprism.scoreboard/v1`: figures by method and family, the targets missed, and every case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from datamodel.document import Document
from datamodel.errors import InputError
from flowprism.evaluation.outcome import CaseOutcome
from flowprism.evaluation.scoreboard_metrics import LOWER, Metric, compute_metrics
from flowprism.evaluation.targets import TARGETS, Target
from flowprism.evaluation.trial import METHODS, OURS, SILENT, Trial
from flowprism.inputs.document_file import read_document

TOTAL = "total"


class Miss(Document):
    """A target that a family, or all of them together, misses, and the cases that cost it."""

    figure: str
    target: float
    value: float
    family: str
    cases: tuple[str, ...]


class Scoreboard(Document):
    """What a suite came to.

    Attributes:
        suite: which cases: full, medium, small, or those named.
        figures: method -> family or "total" -> figure.
        missed: targets of our own method.
        cases: each case's outcome.
    """

    schema_: Literal["flowprism.scoreboard/v1"] = Field(default="flowprism.scoreboard/v1", alias="schema")
    suite: str
    figures: dict[str, dict[str, dict[str, Metric]]]
    missed: tuple[Miss, ...]
    cases: tuple[CaseOutcome, ...]


def scoreboard(suite: str, trials: Sequence[Trial]) -> Scoreboard:
    """All figures of a suite's trials."""
    families = list(dict.fromkeys(t.outcome.family for t in trials))
    of = {family: [t for t in trials if t.outcome.family == family] for family in families} | {TOTAL: list(trials)}
    made = {method: {name: _answered(some, method) for name, some in of.items()} for method in METHODS}
    return Scoreboard(
        suite=suite,
        figures=made,
        missed=tuple(
            m for target in TARGETS for name, some in of.items() for m in _missed(target, name, some, made[OURS][name])
        ),
        cases=tuple(t.outcome for t in trials),
    )


def _answered(trials: Sequence[Trial], method: str) -> dict[str, Metric]:
    silent = SILENT.get(method, frozenset())
    return {name: figure for name, figure in compute_metrics(trials, method).items() if name not in silent}


def read_scoreboard(path: Path) -> Scoreboard:
    """A kept scoreboard.

    Raises:
        InputError: the file cannot be read or is none.
    """
    return read_document(path, Scoreboard, "scoreboard")


def write_scoreboard(board: Scoreboard, path: Path) -> None:
    """Keep a scoreboard, a line a case, so that two versions can be compared line by line too.

    Raises:
        InputError: the file cannot be written.
    """
    head = board.model_copy(update={"cases": ()}).model_dump_json(by_alias=True, indent=1)
    cases = ",\n".join(f"  {case.model_dump_json()}" for case in board.cases)
    try:
        path.write_text(head.removesuffix('"cases": []\n}') + f'"cases": [\n{cases}\n ]\n}}\n')
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def misses_target(target: Target, figure: Metric) -> bool:
    """Whether a figure misses a target."""
    value = figure.high if target.bound else figure.value
    return value > target.value if target.figure in LOWER else value < target.value


def _missed(target: Target, family: str, trials: Sequence[Trial], found: dict[str, Metric]) -> list[Miss]:
    figure = found.get(target.figure)
    if figure is None or not misses_target(target, figure):
        return []
    cases = tuple(t.outcome.name for t in trials if _costs(target, t))
    if target.bound and family != TOTAL and not cases:
        return []  # too few iterations of its own to show it: nothing was false
    value = figure.high if target.bound else figure.value
    return [Miss(figure=target.figure, target=target.value, value=value, family=family, cases=cases)]


def _costs(target: Target, trial: Trial) -> bool:
    """Whether a case is one of those that keep a figure from its best."""
    o = trial.outcome.methods[OURS]
    return {
        "jobs_exact": not o.jobs_exact,
        "layout_exact": o.layouts_wrong > 0,
        "layout_open": o.layouts_open > 0,
        "timeline_error": (o.timeline_error or 0.0) > target.value,
        "faults": any(f.named < 1 for f in o.faults),
        "false_per_10k": o.clean_false > 0,
    }[target.figure]
