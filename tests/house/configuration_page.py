"""The tables of docs/configuration.md, from the settings' own classes: `python -m tests.house.configuration_page`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from flowprism.service.config.settings import Settings
from tests.house.checkout import ROOT

PAGE = ROOT / "docs" / "configuration.md"
BEGIN, END = "<!-- tables: written by tests/house/configuration_page.py -->\n", "<!-- end of the tables -->\n"


def tables() -> str:
    """Every section with its settings, and every kind of item that settings hold, as Markdown."""
    parts: list[str] = []
    for name, field in Settings.model_fields.items():
        parts += _tables(name, _models(field.annotation)[0])
    return "\n".join(parts)


def _tables(where: str, model: type[BaseModel]) -> Iterator[str]:
    doc = " ".join((model.__doc__ or "").split())
    doc = re.sub(r"^The section `\w+`[:.] ?", "", doc)
    level = "##" if "." not in where else "###"
    yield f"{level} `{where}`\n\n{doc[:1].upper()}{doc[1:]}\n\n| setting | default | meaning |\n|---|---|---|"
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        yield f"| `{name}` | {_default(field)} | {field.description or _always(field.annotation)} |"
        inner += [(f"{where}.{name}{_brackets(field.annotation)}", found) for found in _models(field.annotation)]
    yield ""
    for place, found in inner:
        yield from _tables(place, found)


def _default(field: Any) -> str:  # noqa: ANN401 - pydantic's FieldInfo
    if field.default is PydanticUndefined and field.default_factory is None:
        return "must be set"
    value = field.get_default(call_default_factory=True)
    return f"`{json.dumps(_plain(value))}`"


def _always(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    """What a setting that has one value only must be."""
    values = get_args(annotation)
    return f"always `{values[0]}`" if len(values) == 1 and isinstance(values[0], str) else ""


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name)) for name in sorted(value.model_fields_set)}
    if isinstance(value, tuple | list | frozenset):
        return [_plain(one) for one in value]
    return str(value.value if isinstance(value, Enum) else value) if isinstance(value, Path | Enum) else value


def _models(annotation: Any) -> list[type[BaseModel]]:  # noqa: ANN401 - any annotation
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _models(argument)]


def _brackets(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    return ".NAME" if "dict" in str(annotation) else "[]" if "tuple" in str(annotation) else ""


def main() -> None:
    """Put the tables into the page anew."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
