"""The part of docs/api.md that is made from the API's own description.

`python -m flowprism.service.api.reference docs/api.md` writes it again.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.stores import Stores
from storage.database.connection import Database

BEGIN = "<!-- made by python -m flowprism.service.api.reference docs/api.md -->\n"
_ADDRESS = "http://127.0.0.1:8080"

# What stands in the place of names in paths, and what is sent, in the examples.
NAMES = {"incident": "d6b9cd4aa4c0", "name": "ann"}
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
    """Every route with its parameters, and an example of what it takes, as Markdown."""
    lines: list[str] = []
    for tag in whole["tags"]:
        lines += ["", f"## {tag['name'].capitalize()}", "", tag["description"]]
        described_above: set[str] = set()
        for path, operations in whole["paths"].items():
            for method, operation in operations.items():
                if operation.get("tags") == [tag["name"]]:
                    lines += _route(f"{method.upper()} {path}", operation, described_above)
    return "\n".join(lines) + "\n"


def _route(name: str, operation: dict[str, Any], described_above: set[str]) -> Iterator[str]:
    yield from ("", f"### {name}", "", " ".join(operation["description"].split()))
    asked = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    if asked:
        yield ""
        yield from _parameters(asked, described_above)
    if name in BODIES:
        yield from ("", "```", _command(name), "```")
    kind = _kind_of_file(operation)
    if kind:
        yield from ("", f"Answers `{kind}`.")


def _kind_of_file(operation: dict[str, Any]) -> str:
    """The media type of a route that only answers a file; empty for documents and tables."""
    answers = (
        one["content"] for status, one in operation["responses"].items() if status.startswith("2") and "content" in one
    )
    content: dict[str, Any] = next(answers, {})
    return "" if "application/json" in content else next(iter(content), "")


def _parameters(asked: list[dict[str, Any]], described_above: set[str]) -> Iterator[str]:
    """Describe each parameter once a section; add the new lines to `described_above`."""
    lines = [_parameter(one) for one in asked]
    yield from (line for line in lines if line not in described_above)
    again = [f"`{one['name']}`" for one, line in zip(asked, lines, strict=True) if line in described_above]
    if again:
        yield f"- as above: {', '.join(again)}"
    described_above.update(lines)


def _parameter(one: dict[str, Any]) -> str:
    schema = one["schema"]
    default = f" ({json.dumps(schema['default'])})" if schema.get("default") not in (None, []) else ""
    said = one.get("description", schema.get("description", ""))
    choices = _choices(schema)
    return f"- `{one['name']}`{default}: {said}{'; ' if said and choices else ''}{choices}"


def _choices(schema: dict[str, Any]) -> str:
    """The values that a parameter may have, where they are few."""
    for part in (schema, schema.get("items", {}), *schema.get("anyOf", [])):
        if "enum" in part:
            return ", ".join(f"`{value}`" for value in part["enum"])
    return ""


def _command(name: str) -> str:
    """How to send an example with curl."""
    method, _, path = name.partition(" ")
    url = _ADDRESS + path.format(**NAMES)
    how = () if method == "POST" else ("-X", method)
    return shlex.join(("curl", *how, url, "-H", "Content-Type: application/json", "-d", json.dumps(BODIES[name])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
