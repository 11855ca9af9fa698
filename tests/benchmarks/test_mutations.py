"""The mutations can be made: their targets are there, change for everybody who uses them, and are mended again."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks.mutations.changing import broken
from benchmarks.mutations.declared import CASES, MUTATIONS, Mutation
from diagnose.compute import culprits, stragglers
from flowprism.evaluation.suite import parse_case


def test_there_are_enough() -> None:
    """Twenty at least, in both rooms, each once; the cases they are tried on exist."""
    assert len({(m.module, m.name) for m in MUTATIONS}) == len(MUTATIONS) >= 20
    assert {m.module.split(".", maxsplit=1)[0] for m in MUTATIONS} == set(CASES)
    assert all(str(parse_case(case)) == case for cases in CASES.values() for case in cases)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: f"{m.module}.{m.name}")
def test_the_target_is_there(mutation: Mutation) -> None:
    """By name, another one while it is broken, and the same again afterwards."""
    module = import_module(mutation.module)
    sound = getattr(module, mutation.name)
    with broken(mutation):
        assert getattr(module, mutation.name) is not sound
    assert getattr(module, mutation.name) is sound


def test_a_missing_target_is_told() -> None:
    """A rule that has moved cannot be passed over."""
    with (
        pytest.raises(LookupError, match=r"diagnose\.links\.slow_links has no GONE to mutate"),
        broken(Mutation("diagnose.links.slow_links", "GONE", "2", "")),
    ):
        pass


def test_a_function_changes_where_it_is_used() -> None:
    """Modules that imported it by name have the broken one too; what it returns may use its arguments."""
    with broken(Mutation("diagnose.compute.stragglers", "share_of_chain", "ratio", "")):
        assert culprits.share_of_chain is stragglers.share_of_chain  # type: ignore[attr-defined]
        assert stragglers.share_of_chain(None, None, "ratio") == "ratio"  # type: ignore[arg-type]


def test_a_constant_changes() -> None:
    """To the value of the expression."""
    with broken(Mutation("diagnose.compute.stragglers", "LATE", "0.1 + 0.1", "")):
        assert stragglers.LATE == 0.2
