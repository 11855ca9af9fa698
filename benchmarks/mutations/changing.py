"""Applying a mutation to the source of a module."""

from __future__ import annotations

import ast

from benchmarks.mutations.declared import Mutation


def mutated(source: str, mutation: Mutation) -> str:
    """The module's source with the one rule broken.

    Raises:
        LookupError: the module has no such constant or function any more.
    """
    tree = ast.parse(source)
    value = ast.parse(mutation.becomes, mode="eval").body
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == mutation.name:
            node.body = [ast.Return(value)]
            return ast.unparse(ast.fix_missing_locations(tree))
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [mutation.name]:
            node.value = value
            return ast.unparse(ast.fix_missing_locations(tree))
    raise LookupError(f"{mutation.module} has no {mutation.name} to mutate")
