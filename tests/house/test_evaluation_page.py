"""docs/evaluation.md describes the suite that there is."""

from flowprism.evaluation.scoreboard import TOTAL, read_scoreboard
from flowprism.evaluation.scoreboard_metrics import LOWER, MEANINGS
from flowprism.evaluation.scoreboard_text import cell
from flowprism.evaluation.suite import FAMILIES, list_cases
from flowprism.evaluation.targets import TARGETS
from tests.house.checkout import ROOT, rows

PAGE = "docs/evaluation.md"


def test_families_and_their_sizes() -> None:
    """Every family with as many cases as it has."""
    listed = {row[0].strip("`"): row[1] for row in rows(PAGE, "The cases")}
    assert listed == {family: str(len(list_cases("full", [family]))) for family in FAMILIES} | {"captures": ""}


def test_figures_and_their_meanings() -> None:
    """Word for word."""
    assert {row[0].strip("`"): row[1] for row in rows(PAGE, "The figures")} == MEANINGS


def test_targets() -> None:
    """Every target with its value, on the right side."""
    said = {row[0].strip("`"): row[1].split()[:3] for row in rows(PAGE, "The targets")}
    for target in TARGETS:
        value = target.value if target.bound else 100 * target.value
        assert said[target.figure] == ["at", "most" if target.figure in LOWER else "least", said[target.figure][2]]
        assert float(said[target.figure][2].strip(",")) == value
    assert len(said) == len(TARGETS)


def test_the_page_has_the_figures_of_the_stored_scoreboard() -> None:
    """Every figure of the medium suite's table, for every method, as the scoreboard prints it."""
    board = read_scoreboard(ROOT / "tests" / "data" / "scoreboard.json")
    table = rows(PAGE, "The medium suite")
    assert len(table) == 10
    for name, *cells in table:
        figure = name.split("`")[1]
        found = [board.figures[method][TOTAL].get(figure) for method in board.figures]
        assert cells == [cell(figure, f) for f in found]
