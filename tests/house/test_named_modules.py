"""What strings name, imports: programs that tests and processes start, `python -m`, names to be replaced in tests."""

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.checkout import ROOT, files, packages

_ROOTS = "|".join(sorted(packages() | {"tests", "benchmarks"}))
_DOTTED = re.compile(rf"(?:{_ROOTS})(?:\.[A-Za-z_]\w*)+")
_FROM = re.compile(rf"(?:^|[\n;'\"])[ \t]*from ((?:{_ROOTS})[\w.]*) import (\([^)]*\)|[\w, ]+)")
_IMPORT = re.compile(rf"(?:^|[\n;'\"])[ \t]*import ((?:{_ROOTS})[\w.]*)")
_COMMAND = re.compile(rf"-m[ \",']+((?:{_ROOTS})(?:\.\w+)*)")

# Dotted names that are no modules: files, and loggers of tests.
_FILES = (".yaml", ".yml", ".json", ".log")
_LOGGERS = {"flowprism.x"}


def names_in_text(text: str) -> Iterator[str]:
    """Dotted names of what a program in a string imports."""
    for module, listed in _FROM.findall(text):
        yield from (
            f"{module}.{name.split(' as ')[0].strip()}" for name in listed.strip("()").split(",") if name.strip()
        )
    yield from _IMPORT.findall(text)
    if _DOTTED.fullmatch(text) and not text.endswith(_FILES) and text not in _LOGGERS:
        yield text


def names_in_code(source: str) -> Iterator[str]:
    """Dotted names in the strings of a module, docstrings left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from names_in_text(node.value)


@cache
def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or what a module holds."""
    parts = name.split(".")
    found: object = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        name = ".".join(parts[:depth])
        if hasattr(found, "__path__") and importlib.util.find_spec(name) is not None:
            importlib.import_module(name)
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def test_modules_named_in_strings_import() -> None:
    """A renamed module or function is renamed in strings as well, where no type checker looks."""
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files()
        if path.suffix == ".py" and path != Path(__file__)
        for name in names_in_code(path.read_text())
        if not resolves(name)
    }
    assert missing == set()


def test_modules_started_by_commands_exist() -> None:
    """`python -m` in the Makefile, in containers, in units and in pages starts a module that is there."""
    suffixes = {"", ".md", ".yml", ".yaml", ".service", ".sh"}
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files()
        if path.suffix in suffixes and path.name != "CHANGELOG.md" and not path.is_relative_to(ROOT / "tests" / "data")
        for name in _COMMAND.findall(path.read_text(errors="ignore"))
        if importlib.util.find_spec(name) is None
    }
    assert missing == set()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("PROGRAM = 'from flowprism.cli import main; main([])'", ["flowprism.cli.main"]),
        ("run(['-m', 'flowprism.demo'])", ["flowprism.demo"]),
        ("'''from capture.old_name import Decoder'''; x = 'a'", []),
        (
            "PROGRAM = '''\nfrom capture.reader import (\n    a,\n    b,\n)\n'''",
            ["capture.reader.a", "capture.reader.b"],
        ),
        ("name = 'flowprism.yaml'", []),
    ],
)
def test_names_are_found_in_programs(source: str, names: list[str]) -> None:
    """Programs in strings, arguments of `-m` and imports over several lines are seen; docstrings and files are not."""
    assert list(names_in_code(source)) == names


def test_a_name_that_is_gone_is_missed() -> None:
    """Neither a module that is gone nor a function that is gone resolves."""
    assert resolves("flowprism.cli.main")
    assert not resolves("capture.old_name")
    assert not resolves("capture.reader.old_name")
