"""docs/diagnosis.md gives the thresholds that diagnosis works with."""

import ast
from dataclasses import asdict

from diagnose.options import MODEL
from tests.house.checkout import ROOT, rows


def thresholds() -> dict[str, float]:
    """module.NAME -> value of every number that a module of diagnose/ gives a name."""
    found: dict[str, float] = {}
    for path in (ROOT / "diagnose").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign):
                found |= {f"{path.stem}.{name}": value for name, value in named_numbers(node)}
    return found


def named_numbers(node: ast.Assign) -> list[tuple[str, float]]:
    """Names and values of `NAME = number` and of `A, B = number, number`."""
    (target,) = node.targets
    names, values = (n.elts if isinstance(n, ast.Tuple) else [n] for n in (target, node.value))
    return [
        (name.id, float(value.value))
        for name, value in zip(names, values, strict=False)
        if isinstance(name, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    ]


def test_thresholds_are_the_codes() -> None:
    """The page's table has every threshold of diagnose/ with its value, and no other."""
    table = {row[0].strip("`"): float(row[1]) for row in rows("docs/diagnosis.md", "Thresholds")}
    assert table == thresholds()


def test_every_threshold_has_a_reason() -> None:
    """A number without a reason is a guess."""
    assert [row[0] for row in rows("docs/diagnosis.md", "Thresholds") if len(row) != 3 or not row[2]] == []


def test_options_of_the_model_are_the_codes() -> None:
    """Each with its value and a reason, and no other."""
    table = {row[0].strip("`"): float(row[1]) for row in rows("docs/diagnosis.md", "Options of the model") if row[2]}
    assert table == {name: float(value) for name, value in asdict(MODEL).items()}
