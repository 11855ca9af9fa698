"""The part of docs/api.md that is made from the API's own description.

`python -m flowprism.service.api.reference docs/api.md` writes it again.
"""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.api.description import examples
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.stores import Stores
from storage.database.connection import Database

BEGIN = "<!-- made by python -m flowprism.service.api.reference docs/api.md -->\n"
_ADDRESS = "http://127.0.0.1:8080"
_WIDTH, _MOST_LINES = 120, 2  # of an example

# What stands in the place of names in paths, and what is sent, in the examples.
NAMES: dict[str, str | int] = {
    "job": "ecb4d6de",
    "incident": "d6b9cd4aa4c0",
    "policy": "default",
    "window_start_ns": 1795188000000000000,
    "window_end_ns": 1795188060000000000,
    "name": "ann",
    "token": "k3v9",
}
BODIES: dict[str, dict[str, Any]] = {
    "POST /api/v1/incidents/{incident}/acknowledge": {"text": "looking at it"},
    "POST /api/v1/incidents/{incident}/accept": {"text": "batch size 512 since Monday"},
    "POST /api/v1/incidents/{incident}/mute": {"reason": "part ordered", "until_ns": 1795274460000000000},
    "POST /api/v1/incidents/{incident}/unmute": {"text": "part came"},
    "POST /api/v1/incidents/{incident}/comment": {"text": "cable swapped"},
    "POST /api/v1/scan-requests": {"policy": "default", "jobs": ["ecb4d6de"]},
    "PUT /api/v1/inventory": {"hosts": [{"name": "s1", "endpoints": [{"address": "10.1.1.1", "gpu": 0}]}]},
    "POST /api/v1/inventory/import": {"hosts": [{"name": "s2", "endpoints": [{"address": "10.1.2.1", "gpu": 0}]}]},
    "PUT /api/v1/me/password": {"old": "the old one", "new": "correct horse battery staple"},
    "PUT /api/v1/users/{name}": {"role": "operator", "tenant": "research"},
    "POST /api/v1/tokens": {"scopes": ["read"], "expires_days": 30},
}


def main(arguments: list[str]) -> int:
    """Replace the made part of a page; 2 and a sentence where there is no such page."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m flowprism.service.api.reference FILE\n")
        return 2
    path = Path(arguments[0])
    written = path.read_text("utf-8").partition(BEGIN)[0]
    path.write_text(written + BEGIN + reference(described()), "utf-8")
    return 0


def described() -> dict[str, Any]:
    """The description of the whole application, over a database of nothing."""
    with TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/results.sqlite")
        said = application(Stores(database), Settings(), AccessSettings()).openapi()
        database.close()
    return said


def reference(whole: dict[str, Any]) -> str:
    """Every route with its parameters, what it takes, and an example, as Markdown."""
    lines: list[str] = []
    for tag in whole["tags"]:
        lines += ["", f"## {tag['name'].capitalize()}", "", tag["description"]]
        for path, operations in whole["paths"].items():
            for method, operation in operations.items():
                if operation.get("tags") == [tag["name"]]:
                    lines += _route(f"{method.upper()} {path}", operation)
    return "\n".join(lines) + "\n"


def _route(name: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"### {name}", "", " ".join(operation["description"].split()))
    asked = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    if asked:
        yield from ("", "| parameter | default | meaning |", "|---|---|---|")
        yield from (_parameter(one) for one in asked)
    yield from ("", "```", _command(name), "```")
    example = examples().get(name)
    if example is not None:
        shown = textwrap.wrap(json.dumps(example, ensure_ascii=False), _WIDTH, break_long_words=False)
        more = ["..."] if len(shown) > _MOST_LINES else []
        yield from ("", "```", *shown[:_MOST_LINES], *more, "```")
    elif any("content" in one for status, one in operation["responses"].items() if status.startswith("2")):
        yield from ("", f"Answers {_answer(operation)}.")


def _answer(operation: dict[str, Any]) -> str:
    """What a route without an example answers: a document by its name, or a kind of file."""
    content = next(one["content"] for status, one in operation["responses"].items() if status.startswith("2"))
    kinds = [kind for kind in content if kind != "application/json"]
    if kinds:
        return f"`{kinds[0]}`"
    named = content["application/json"]["schema"].get("$ref", "")
    return f"a `{named.rpartition('/')[2]}` (see `/api/v1/openapi.json`)"


def _parameter(one: dict[str, Any]) -> str:
    schema = one["schema"]
    default = json.dumps(schema["default"]) if schema.get("default") is not None else ""
    said = one.get("description", schema.get("description", ""))
    choices = _choices(schema)
    return f"| {one['name']} | {default} | {said}{'; ' if said and choices else ''}{choices} |"


def _choices(schema: dict[str, Any]) -> str:
    """The values that a parameter may have, where they are few."""
    for part in (schema, schema.get("items", {}), *schema.get("anyOf", [])):
        if "enum" in part:
            return ", ".join(f"`{value}`" for value in part["enum"])
    return ""


def _command(name: str) -> str:
    """How to ask with curl."""
    method, _, path = name.partition(" ")
    url = _ADDRESS + path.format(**NAMES)
    implied = method == "GET" or (method == "POST" and name in BODIES)
    parts = ["curl", *(() if implied else ("-X", method)), url]
    if name in BODIES:
        parts += ["-H", "Content-Type: application/json", "-d", json.dumps(BODIES[name])]
    return shlex.join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
