"""docs/api.md tells of every route as the API describes itself, and its notebook runs."""

from __future__ import annotations

import re
import shlex
from typing import Any

import jsonschema
import pytest

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.api.reference import BEGIN, BODIES, described, reference
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from tests.flowprism.service.serving import serving
from tests.flowprism.service.stored import stored_demo
from tests.house.checkout import ROOT

PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """What the API says of itself."""
    return described()


def test_the_reference_is_what_the_api_says(whole: dict[str, Any]) -> None:
    """Where it is not: python -m flowprism.service.api.reference docs/api.md."""
    assert PAGE.partition(BEGIN)[2] == reference(whole)


def test_every_route_that_takes_a_body_has_an_example(whole: dict[str, Any]) -> None:
    """A command line that asks for it; what it sends is what the route takes."""
    for path, operations in whole["paths"].items():
        for method, operation in operations.items():
            name = f"{method.upper()} {path}"
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            assert (name in BODIES) == (body is not None), name
            if body is None:
                continue
            section = PAGE.split(f"\n### {name}\n")[1].split("\n### ")[0]
            command = shlex.split(re.findall(r"```\n(curl .*)\n```", section)[0])
            pattern = re.sub(r"\\{[a-z_]+\\}", "[^/?]+", re.escape(path))
            assert any(re.fullmatch(f"http://127.0.0.1:8080{pattern}", word) for word in command)
            jsonschema.validate(BODIES[name], {**body["schema"], "components": whole["components"]})


def test_every_parameter_is_named(whole: dict[str, Any]) -> None:
    """A route's section has the names of its query parameters, also where they are described above."""
    for path, operations in whole["paths"].items():
        for method, operation in operations.items():
            section = PAGE.split(f"\n### {method.upper()} {path}\n")[1].split("\n### ")[0]
            asked = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
            assert [name for name in asked if f"`{name}`" not in section] == []


def test_every_status_is_told(whole: dict[str, Any]) -> None:
    """Each error that some route may answer stands in the table."""
    told = set(re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE))
    may = {
        status for operations in whole["paths"].values() for one in operations.values() for status in one["responses"]
    }
    assert {status for status in may if status >= "400"} <= told


def test_the_notebook_runs(tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]) -> None:
    """As it stands, against the bundled capture."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    stores = stored_demo(tmp_path_factory.mktemp("notebook"))
    with serving(application(stores, Settings(), AccessSettings())) as address:
        exec(code.replace("http://127.0.0.1:8080", address), {})  # noqa: S102 - our own page
    stores.database.close()
    said = capsys.readouterr().out
    assert "llama-demo" in said
    assert re.search(r"\d+ waits of \d+ spans", said)
