"""Templates of a package: what they show is escaped, and a name that is not known is an error."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates_of(package: str, **known: object) -> Environment:
    """The environment of a package's `templates`, in which the names given are known everywhere."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(known)
    return environment
