"""The mutations can be made: their targets are there, and what comes out is another module."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

from benchmarks.mutations.changing import mutated
from benchmarks.mutations.declared import CASES, MUTATIONS, Mutation
from flowprism.evaluation.suite import named
from tests.house.checkout import ROOT


def test_there_are_enough() -> None:
    """Twenty at least, in both rooms, each once; the cases they are tried on exist."""
    assert len({(m.module, m.name) for m in MUTATIONS}) == len(MUTATIONS) >= 20
    assert {m.module.split(".", maxsplit=1)[0] for m in MUTATIONS} == set(CASES)
    assert all(str(named(case)) == case for cases in CASES.values() for case in cases)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.module}.{m.name}")
def test_the_target_is_there(mutation: Mutation) -> None:
    """By name, and the mutated module still compiles and differs."""
    path = ROOT / f"{mutation.module.replace('.', '/')}.py"
    source = path.read_text()
    changed = mutated(source, mutation)
    compile(changed, str(path), "exec")
    assert changed != ast.unparse(ast.parse(source))


def test_a_missing_target_is_told() -> None:
    """A rule that has moved cannot be passed over."""
    with pytest.raises(LookupError, match=r"strategy\.edges has no GONE to mutate"):
        mutated("HERE = 1\n", Mutation("strategy.edges", "GONE", "2", ""))


def test_a_function_answers_with_its_arguments() -> None:
    """What is returned may use them."""
    source = mutated("def twice(n: int) -> int:\n    return 2 * n\n", Mutation("m", "twice", "n", ""))
    space: dict[str, object] = {}
    exec(source, space)  # noqa: S102 -- the point of it
    assert callable(space["twice"])
    assert space["twice"](3) == 3


def test_mutated_names_are_real() -> None:
    """A constant that is mutated is one that the module has when it is imported."""
    assert all(hasattr(import_module(m.module), m.name) for m in MUTATIONS)
