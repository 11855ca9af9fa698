"""The small suite, end to end: the same for any number of workers, kept and read back, held against its targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from datamodel.errors import InputError
from flowprism.evaluation.case_runner import run_cases
from flowprism.evaluation.comparison import compare
from flowprism.evaluation.outcome import CaseOutcome, FaultOutcome, Outcome
from flowprism.evaluation.scoreboard import read_scoreboard, scoreboard, write_scoreboard
from flowprism.evaluation.scoreboard_metrics import LOWER, MEANINGS, compute_metrics, is_better
from flowprism.evaluation.scoreboard_text import comparison_text, scoreboard_text
from flowprism.evaluation.suite import list_cases
from flowprism.evaluation.targets import TARGETS
from flowprism.evaluation.trial import OURS, Trial, run_trial

PERFECT = Outcome(
    jobs=1,
    jobs_exact=True,
    layouts_exact=1,
    layouts_wrong=0,
    layouts_open=0,
    groups=1.0,
    stages=1.0,
    iterations=1.0,
    timeline_error=0.0,
    timeline_iterations=10,
    faults=(),
    loud=0,
    false=0,
    duplicates=0,
    clean_iterations=100,
    clean_false=0,
)
FOUND = FaultOutcome(what="straggler", noticed=True, named=1.0, located=1.0, onset_iterations=0.1)


def trial(name: str, **changes: object) -> Trial:
    """A trial that went perfectly but for what is changed."""
    kept = CaseOutcome(
        name=name,
        family=name.split("-", maxsplit=1)[0],
        about="",
        methods={OURS: PERFECT.model_copy(update=changes)},
    )
    return Trial(kept, {OURS: (0.0,) * 10})


def test_predictions_are_held_against_what_was_seen() -> None:
    """A report that predicts twice the error it has; nine of ten iterations lie in its interval."""
    told = {"predicted_error": 0.002, "predicted_seen": 0.001, "interval_iterations": 10, "covered": 9}
    found = compute_metrics([trial("a-1", **told), trial("a-2", **told), trial("a-3")], OURS)
    assert (found["predicted"].value, found["predicted"].of) == (2.0, 2)
    assert (found["coverage"].value, found["coverage"].of) == (0.9, 20)


def test_what_a_feed_is_said_to_show_has_marks_of_its_own() -> None:
    """Of three layouts and two faults said to be shown; the fault that is said to be hidden counts in none of them."""
    missed = FOUND.model_copy(update={"in_set": False, "alone": False})
    seen = FOUND.model_copy(update={"in_set": True, "alone": False})
    hidden = missed.model_copy(update={"shown": False})
    told = {"shown_exact": 1, "shown_wrong": 1, "shown_open": 1, "hidden": 4, "hidden_claims": 1}
    found = compute_metrics([trial("a-1", faults=(seen, hidden, missed), **told)], OURS)
    marks = {name: (found[name].value, found[name].of) for name in found if name.startswith(("shown", "hidden"))}
    assert marks == {
        "shown_right": (0.5, 2),
        "shown_answered": (0.666667, 3),
        "shown_in_set": (0.5, 2),
        "shown_alone": (0.0, 2),
        "hidden_claims": (0.25, 4),
    }
    assert found["in_set"].of == 3


def test_perfect_cases_meet_every_target() -> None:
    """Given enough clean iterations to show that false findings are rare."""
    board = scoreboard("named", [trial(f"a-{n}", clean_iterations=1000, faults=(FOUND,)) for n in range(40)])
    assert board.missed == ()
    assert "every target is met" in scoreboard_text(board)


@pytest.mark.parametrize(
    ("target", "change"),
    [
        ("jobs_exact", {"jobs_exact": False}),
        ("layout_exact", {"layouts_exact": 0, "layouts_wrong": 1}),
        ("layout_open", {"layouts_exact": 0, "layouts_open": 1}),
        ("faults", {"faults": (FOUND.model_copy(update={"named": 0.0}),)}),
        ("false_per_10k", {"clean_false": 1, "false": 1, "loud": 1}),
    ],
)
def test_what_misses_a_target_is_named(target: str, change: dict[str, object]) -> None:
    """The family and the case that cost it."""
    good = [trial(f"a-{n}", clean_iterations=1000, faults=(FOUND,)) for n in range(30)]
    board = scoreboard("named", [*good, trial("b-7", **change)])
    (miss,) = [m for m in board.missed if m.figure == target and m.family == "b"]
    assert miss.cases == ("b-7",)
    assert "b-7" in scoreboard_text(board)


def test_targets_are_figures_with_a_meaning() -> None:
    """Every target is on a figure that there is, and only figures have a better direction."""
    assert {t.figure for t in TARGETS} <= set(MEANINGS)
    assert set(MEANINGS) > LOWER
    assert is_better("faults", 0.9, 0.8)
    assert is_better("timeline_error", 0.001, 0.002)


def test_false_findings_are_bounded_from_above() -> None:
    """None in 30,000 clean iterations leaves at most one in 10,000."""
    found = compute_metrics([trial("a-0", clean_iterations=30_000)], OURS)["false_per_10k"]
    assert (found.value, round(found.high, 2)) == (0.0, 1.0)


def test_timeline_is_over_iterations() -> None:
    """A case of many iterations weighs more, and the tail is that of iterations."""
    long = Trial(trial("a-0").outcome, {OURS: (0.0,) * 97})
    short = Trial(trial("a-1").outcome, {OURS: (0.3,) * 3})
    found = compute_metrics([long, short], OURS)
    assert found["timeline_error"].value == pytest.approx(0.009)
    assert found["timeline_p99"].value == pytest.approx(0.3)


def test_comparison_tells_what_turned(tmp_path: Path) -> None:
    """Cases that broke and fixed, figures beyond chance; through the file that is kept."""
    old = scoreboard("named", [trial(f"a-{n}", jobs_exact=n == 0) for n in range(50)])
    new = scoreboard("named", [trial(f"a-{n}", jobs_exact=n > 0) for n in range(50)])
    write_scoreboard(old, tmp_path / "old.json")
    assert read_scoreboard(tmp_path / "old.json") == old
    found = compare(new, read_scoreboard(tmp_path / "old.json"))
    assert found.broken == ("a-0",)
    assert len(found.fixed) == 49
    (jobs,) = [c for c in found.changes if c.figure == "jobs_exact" and c.family == "total"]
    assert jobs.improved
    assert jobs.sure
    assert "total jobs_exact: 2.0 % -> 98.0 %, better, beyond chance" in comparison_text(found)


def test_an_equal_scoreboard_has_nothing_to_tell() -> None:
    """No change, no case turned."""
    board = scoreboard("named", [trial("a-0")])
    found = compare(board, board)
    assert (found.changes, found.fixed, found.broken, found.alone) == ((), (), (), ())


def test_what_is_no_scoreboard_is_refused(tmp_path: Path) -> None:
    """With the file's name."""
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match=r"x\.json: no scoreboard"):
        read_scoreboard(tmp_path / "x.json")


def test_a_failing_case_is_an_outcome(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An analysis that raises costs its case everything, and the board says what it was."""

    def broken(*_: object) -> object:
        raise ZeroDivisionError("a ring of none")

    monkeypatch.setattr("flowprism.evaluation.trial.METHODS", {OURS: broken})
    case = list_cases("small", ["mirrors"])[0]
    result = run_trial(case, tmp_path)
    assert result.outcome.problem == f"{OURS}: ZeroDivisionError: a ring of none"
    assert not result.outcome.methods[OURS].jobs_exact
    assert f"{case} failed: " in scoreboard_text(scoreboard("named", [result]))


@pytest.mark.slow
def test_workers_do_not_matter(tmp_path: Path) -> None:
    """One process or two: the same file, byte by byte."""
    cases = list_cases("small", ["layouts"])
    assert len(cases) > 3  # more than workers, so that one may overtake another
    for workers in (1, 2):
        write_scoreboard(scoreboard("named", run_cases(cases, workers)), tmp_path / f"{workers}.json")
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
