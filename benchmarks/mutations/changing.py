"""Breaking one rule in the running program, and mending it again."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType, ModuleType

from benchmarks.mutations.declared import Mutation


@contextmanager
def broken(mutation: Mutation) -> Iterator[None]:
    """While it lasts every module that knows the constant or function has the mutated one.

    Raises:
        LookupError: the module has no such constant or function any more.
    """
    module = import_module(mutation.module)
    if not hasattr(module, mutation.name):
        raise LookupError(f"{mutation.module} has no {mutation.name} to mutate")
    sound = getattr(module, mutation.name)
    holders = [m for m in list(sys.modules.values()) if vars(m).get(mutation.name) is sound]
    changed = _changed(module, sound, mutation)
    for holder in holders:
        setattr(holder, mutation.name, changed)
    try:
        yield
    finally:
        for holder in holders:
            setattr(holder, mutation.name, sound)


def _changed(module: ModuleType, sound: object, mutation: Mutation) -> object:
    """The constant's new value, or a function of the same signature that only returns the new answer."""
    if not isinstance(sound, FunctionType):
        return eval(mutation.becomes, dict(vars(module)))  # noqa: S307 -- our own declarations
    source = ast.parse(textwrap.dedent(inspect.getsource(sound)))
    function = next(node for node in source.body if isinstance(node, ast.FunctionDef))
    function.body = [ast.Return(ast.parse(mutation.becomes, mode="eval").body)]
    function.decorator_list = []
    space = dict(vars(module))
    exec(ast.unparse(ast.fix_missing_locations(function)), space)  # noqa: S102 -- our own declarations
    return space[mutation.name]
