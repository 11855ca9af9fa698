"""The API's own description."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from flowprism.service.api.description import examples
from flowprism.service.stores import Stores
from tests.flowprism.service.api.client import client

# Answers that are no JSON documents, nothing at all, or somebody's secret.
WITHOUT_EXAMPLE = {"plan", "files", "report", "trace", "stream"}


def described(stores: Stores) -> dict[str, Any]:
    """What the application says of itself."""
    answer = client(stores).get("/api/v1/openapi.json")
    assert answer.status_code == 200
    said: dict[str, Any] = answer.json()
    return said


def test_every_route_tells_its_problems(demo: Stores) -> None:
    """One schema for all of them, and none of FastAPI's own."""
    said = described(demo)
    for operations in said["paths"].values():
        for operation in operations.values():
            assert {"401", "403", "422", "429", "503"} <= set(operation["responses"])
            for status, response in operation["responses"].items():
                if status >= "400":
                    assert set(response["content"]) == {"application/problem+json"}
            assert operation["summary"]
            assert operation["description"]
            assert operation["tags"]
    assert "HTTPValidationError" not in str(said)


def test_examples_are_answers(demo: Stores) -> None:
    """Each is of a route that there is, and of its schema; every route with a document has one."""
    said = described(demo)
    routes = {
        f"{method.upper()} {path}": operation["responses"]
        for path, operations in said["paths"].items()
        for method, operation in operations.items()
    }
    for name, example in examples().items():
        (response,) = [one for status, one in routes[name].items() if status.startswith("2")]
        schema = response["content"]["application/json"]["schema"]
        jsonschema.validate(example, {**schema, "components": said["components"]})
        assert response["content"]["application/json"]["example"] == example
    own = {name for name in routes if name.startswith("GET") and not _is_of_access(name)}
    assert own - set(examples()) == {name for name in own if name.rpartition("/")[2] in WITHOUT_EXAMPLE}


def _is_of_access(name: str) -> bool:
    return any(part in name for part in ("/users", "/tokens", "/audit"))


@pytest.mark.parametrize("kind", ["JobRow", "Incident", "FabricLink", "TimelinePage", "Problem"])
def test_documents_are_described(demo: Stores, kind: str) -> None:
    """By name, closed: a field that is not described is never sent."""
    assert described(demo)["components"]["schemas"][kind]["additionalProperties"] is False
