"""Two scoreboards side by side: which figures moved beyond chance, and which cases turned."""

from __future__ import annotations

from dataclasses import dataclass

from flowprism.evaluation.outcome import CaseOutcome
from flowprism.evaluation.scoreboard import Scoreboard
from flowprism.evaluation.scoreboard_metrics import Metric, is_better
from flowprism.evaluation.trial import OURS


@dataclass(frozen=True, slots=True)
class MetricChange:
    """A figure that is another than before.

    Attributes:
        family, figure: which.
        old, new: values.
        improved: whether the new one is better.
        sure: their intervals do not meet.
    """

    family: str
    figure: str
    old: float
    new: float
    improved: bool
    sure: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one version to another, on the cases that both ran.

    Attributes:
        changes: of figures, family by family.
        fixed, broken: cases that are flawless now and were not, and the other way round.
        alone: cases that only one of them ran.
    """

    changes: tuple[MetricChange, ...]
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    alone: tuple[str, ...]


def compare(new: Scoreboard, old: Scoreboard) -> Comparison:
    """What is better and what is worse than before."""
    now, then = ({case.name: case for case in board.cases} for board in (new, old))
    both = [name for name in now if name in then]
    return Comparison(
        changes=tuple(_changes(new, old)),
        fixed=tuple(n for n in both if _flawless(now[n]) and not _flawless(then[n])),
        broken=tuple(n for n in both if _flawless(then[n]) and not _flawless(now[n])),
        alone=tuple(sorted(now.keys() ^ then.keys())),
    )


def _flawless(case: CaseOutcome) -> bool:
    return case.problem is None and case.methods[OURS].flawless()


def _changes(new: Scoreboard, old: Scoreboard) -> list[MetricChange]:
    found = []
    for family, figures in new.figures.get(OURS, {}).items():
        before = old.figures.get(OURS, {}).get(family, {})
        for name, figure in figures.items():
            if name in before and before[name].value != figure.value:
                found.append(_change(family, name, before[name], figure))
    return found


def _change(family: str, name: str, old: Metric, new: Metric) -> MetricChange:
    apart = new.low > old.high or new.high < old.low
    return MetricChange(family, name, old.value, new.value, is_better(name, new.value, old.value), apart)
