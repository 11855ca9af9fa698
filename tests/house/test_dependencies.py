"""docs/dependencies.md, setup.cfg, constraints.txt and the imports agree."""

import ast
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

import pytest

from tests.house.checkout import ROOT, distributions, files, packages, rows, settings

TABLES = ["At run time", "For notebooks", "For development"]


def declared(table: str) -> set[str]:
    """Distributions that setup.cfg asks for: those of the program, of notebooks, or of the other extras together."""
    if table == "At run time":
        return distributions(settings()["options"]["install_requires"])
    extras = {name: distributions(value) for name, value in settings()["options.extras_require"].items()}
    notebook = extras.pop("notebook")
    return notebook if table == "For notebooks" else set().union(*extras.values()) - {"flowprism"}


def imported() -> set[str]:
    """Distributions that modules of the rooms import, other than our own and Python's."""
    names: set[str] = set()
    rooms = packages()
    for path in files():
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in rooms:
            names |= top_level_imports(path.read_text())
    owners = packages_distributions()
    return {owners[name][0] for name in names - rooms - set(sys.stdlib_module_names)}


def top_level_imports(source: str) -> set[str]:
    """First parts of all absolute imports in a module, wherever they stand."""
    found: set[str] = set()
    statements: list[ast.AST] = [ast.parse(source)]
    while statements:  # expressions, most of a tree, are left out
        node = statements.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        for part in ("body", "handlers", "orelse", "finalbody", "cases"):
            statements += getattr(node, part, [])
    return found


@pytest.mark.parametrize("table", TABLES)
def test_every_dependency_has_its_row(table: str) -> None:
    """The page lists what setup.cfg asks for, no more and no less."""
    assert declared(table) == {row[0] for row in rows("docs/dependencies.md", table)}


@pytest.mark.parametrize("table", TABLES)
def test_every_row_gives_licence_and_reason(table: str) -> None:
    """A row without a licence or a reason says nothing."""
    assert [row[0] for row in rows("docs/dependencies.md", table) if len(row) != 3 or not all(row)] == []


def test_rooms_import_what_is_declared() -> None:
    """What a room imports is declared, and what is declared is imported by some room."""
    assert imported() == declared("At run time") | declared("For notebooks")


def test_every_dependency_is_pinned() -> None:
    """constraints.txt gives the exact version of every declared dependency."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0].lower() for line in lines if "==" in line}
    asked = set().union(*map(declared, TABLES))
    assert {name for name in asked if name.lower() not in pinned} == set()


# Licences that go with Apache-2.0, by what their names have in common.
FREE = re.compile(r"MIT|BSD|Apache|PSF|ISC|MPL", re.IGNORECASE)


def installed(name: str, found: dict[str, str]) -> dict[str, str]:
    """Licence, as it says itself, of each distribution that one brings, itself included."""
    try:
        one = distribution(name)
    except PackageNotFoundError:  # for another system or Python
        return found
    said = one.metadata.json
    classifiers = [text for text in said.get("classifier", ()) if text.startswith("License")]
    found[one.name] = str(said.get("license_expression") or "; ".join(classifiers) or said.get("license", ""))
    for required in one.requires or ():
        other = re.match(r"[\w.-]+", required)
        if other and "extra ==" not in required and other[0].lower() not in {known.lower() for known in found}:
            installed(other[0], found)
    return found


def test_what_runs_has_licences_that_go_with_ours() -> None:
    """Indirect dependencies too: none is under the GPL, and none says nothing."""
    licences = installed("flowprism", {})
    assert len(licences) > len(declared("At run time"))
    assert {name: said for name, said in licences.items() if not FREE.search(said) or "GPL" in said} == {}
