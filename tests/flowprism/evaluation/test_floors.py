"""What was reached is kept: the small suite is flawless, the medium one no worse than the scoreboard kept here."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.reports.report import Report
from datamodel.reports.truth import Truth
from flowprism.evaluation.case_runner import run_cases
from flowprism.evaluation.comparison import compare
from flowprism.evaluation.scoreboard import TOTAL, Scoreboard, read_scoreboard, scoreboard
from flowprism.evaluation.scoreboard_metrics import LOWER
from flowprism.evaluation.scoreboard_text import comparison_text
from flowprism.evaluation.scores import compute_scores
from flowprism.evaluation.suite import CaseName, list_cases
from flowprism.evaluation.trial import OURS, run_trial
from tests.flowprism.evaluation.test_scores import score
from tests.neighbours import SHARED

KEPT = Path(__file__).resolve().parents[2] / "data" / "scoreboard.json"


@pytest.mark.parametrize("case", list_cases("small"), ids=str)
def test_the_small_suite_is_flawless(case: CaseName, tmp_path: Path) -> None:
    """Jobs, layouts and faults are right, and nothing is false; the public scorer, where it is at hand, marks alike."""
    result = run_trial(case, tmp_path).outcome
    assert result.problem is None
    assert result.methods[OURS].flawless(), result.methods[OURS]
    report, truth = tmp_path / str(case) / "report.json", tmp_path / str(case) / "truth" / "truth.json"
    if (SHARED / "score" / "score.py").exists():
        ours = compute_scores(
            Report.model_validate_json(report.read_bytes()), Truth.model_validate_json(truth.read_bytes())
        )
        assert ours == pytest.approx(score(report, truth))


def fallen(new: Scoreboard, kept: Scoreboard) -> list[str]:
    """Figures of all cases together that are beyond the bad end of what was kept."""
    now, then = (board.figures[OURS][TOTAL] for board in (new, kept))
    return [
        name
        for name, old in then.items()
        if name not in now or (now[name].value > old.high if name in LOWER else now[name].value < old.low)
    ]


@pytest.mark.slow
def test_the_medium_suite_has_not_fallen() -> None:
    """No figure beyond its interval, and at least as many cases fixed as broken.

    After a change for the better keep the new one: `evaluate --suite medium --out tests/data/scoreboard.json`.
    """
    kept = read_scoreboard(KEPT)
    new = scoreboard("medium", run_cases(list_cases("medium")))
    found = compare(new, kept)
    assert fallen(new, kept) == [], comparison_text(found)
    assert len(found.broken) <= len(found.fixed), comparison_text(found)
    assert found.alone == ()


def test_a_fallen_scoreboard_is_noticed() -> None:
    """Were every job missed, the floors would say so."""
    kept = read_scoreboard(KEPT)
    lost = {name: figure.model_copy(update={"value": 0.0}) for name, figure in kept.figures[OURS][TOTAL].items()}
    ruined = kept.model_copy(update={"figures": kept.figures | {OURS: kept.figures[OURS] | {TOTAL: lost}}})
    assert {"jobs_exact", "layout_exact", "faults"} <= set(fallen(ruined, kept))
    assert fallen(kept, kept) == []
