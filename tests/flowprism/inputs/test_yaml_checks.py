"""YAML that is small as text and huge once read."""

from __future__ import annotations

import pytest
import yaml

from flowprism.inputs.yaml_checks import check_bounds, repeated_key

DEEP = "a: " + "[" * 65 + "]" * 65
LAUGHS = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))])


@pytest.mark.parametrize(
    ("text", "problem"),
    [(DEEP, "too many levels"), (LAUGHS, "aliases that stand for too much"), ("[" * 10**6, "too many|maximum nesting")],
)
def test_bombs_are_found(text: str, problem: str) -> None:
    """Before anything is built of them."""
    with pytest.raises(yaml.MarkedYAMLError, match=problem):
        check_bounds(text)


@pytest.mark.parametrize("text", ["", "a: &x [1, 2]\nb: *x\nc: *x", "a: &x [*x]", "a: " + "[" * 60 + "]" * 60])
def test_what_is_small_passes(text: str) -> None:
    """Aliases are allowed, also one that leads back to itself."""
    check_bounds(text)


@pytest.mark.parametrize(("text", "is_repeated"), [("a: &x {b: *x, c: &y [*y]}", False), ("a: {b: 1, b: 2}", True)])
def test_a_loop_has_no_repeated_key(text: str, is_repeated: bool) -> None:
    """The search for repeated keys ends where an alias leads back."""
    root = yaml.compose(text)
    assert root is not None
    assert (repeated_key(root) is not None) == is_repeated
