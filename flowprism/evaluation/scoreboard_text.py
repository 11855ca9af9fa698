"""The scoreboard as people read it: methods side by side, ours by family, what was missed and where."""

from __future__ import annotations

from collections.abc import Iterable

from flowprism.evaluation.comparison import Comparison, MetricChange
from flowprism.evaluation.scoreboard import TOTAL, Miss, Scoreboard
from flowprism.evaluation.scoreboard_metrics import MEANINGS, Metric
from flowprism.evaluation.targets import TARGETS
from flowprism.evaluation.trial import OURS

_SHARES = {
    "jobs_exact", "layout_exact", "layout_wrong", "layout_open", "groups", "stages", "iterations", "noticed",
    "located", "faults", "precision", "duplicates", "delay_never", "timeline_error", "timeline_p99",
    "coverage", "shown_right", "shown_answered", "shown_in_set", "shown_alone", "hidden_claims",
}  # fmt: skip
_CASES_SHOWN = 8


def scoreboard_text(board: Scoreboard) -> str:
    """The whole scoreboard in lines of text."""
    parts = [
        f"{len(board.cases)} cases ({board.suite}); 95 % intervals in brackets\n",
        _table(["", *board.figures], _method_rows(board)),
        _table(["family", *(t.figure for t in TARGETS)], _family_rows(board)),
        *_problems(board),
        _misses(board.missed),
    ]
    return "\n".join(parts)


def comparison_text(found: Comparison) -> str:
    """What changed, the sure changes first."""
    lines = [f"against the earlier scoreboard: {len(found.fixed)} cases fixed, {len(found.broken)} broken"]
    lines += [f"  fixed: {_some(found.fixed)}"] if found.fixed else []
    lines += [f"  broken: {_some(found.broken)}"] if found.broken else []
    lines += [f"  run by one of them only: {_some(found.alone)}"] if found.alone else []
    lines += [_change(change) for change in sorted(found.changes, key=lambda c: (not c.sure, c.family != TOTAL))]
    return "\n".join(lines)


def _method_rows(board: Scoreboard) -> list[list[str]]:
    return [
        [name, *(cell(name, board.figures[method].get(TOTAL, {}).get(name)) for method in board.figures)]
        for name in MEANINGS
        if any(name in board.figures[method].get(TOTAL, {}) for method in board.figures)
    ]


def _family_rows(board: Scoreboard) -> list[list[str]]:
    ours = board.figures[OURS]
    return [[family, *(cell(t.figure, ours[family].get(t.figure)) for t in TARGETS)] for family in ours]


def _problems(board: Scoreboard) -> list[str]:
    return [f"{case.name} failed: {case.problem}" for case in board.cases if case.problem]


def _misses(missed: Iterable[Miss]) -> str:
    lines = []
    for miss in missed:
        wanted = f"{_number(miss.figure, miss.value)}, wanted {_number(miss.figure, miss.target)}"
        lines.append(f"missed: {miss.figure} in {miss.family}: {wanted}; {_some(miss.cases)}")
    return "\n".join(lines) or "every target is met"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _CASES_SHOWN
    return " ".join(names[:_CASES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _change(change: MetricChange) -> str:
    way, how = "better" if change.improved else "worse", "beyond chance" if change.sure else "within the intervals"
    old, new = (_number(change.figure, value) for value in (change.old, change.new))
    return f"  {change.family} {change.figure}: {old} -> {new}, {way}, {how}"


def cell(name: str, figure: Metric | None) -> str:
    """A figure with its interval; of false findings the upper bound."""
    if figure is None:
        return "-"
    if name == "false_per_10k":
        return f"{figure.value:.2f} (< {figure.high:.2f})"
    return f"{_number(name, figure.value)} [{_number(name, figure.low)}, {_number(name, figure.high)}]"


def _number(name: str, value: float) -> str:
    if name in {"timeline_error", "timeline_p99"}:
        return f"{100 * value:.3f} %"
    return f"{100 * value:.1f} %" if name in _SHARES else f"{value:.2f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]
    return "\n".join(lines) + "\n"
