"""The API's own description, OpenAPI 3.1: error responses, required rights and examples of every route."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI

from flowprism.service.http.problem_details import MEDIA_TYPE, Problem

PREFIX = "/api/v1/"
_REFERENCE = "#/components/schemas/Problem"
_ALWAYS = {
    "401": "not logged in, and no token given",
    "403": "the caller may not",
    "422": "a parameter or the body cannot be taken; `errors` says where",
    "429": "too many requests; `Retry-After` says when to come again",
    "503": "the results database or the lake is away; `Retry-After` says when to come again",
}
_SOMETIMES = {
    "400": "the body is no text that could be read",
    "304": "the client has it already",
    "404": "there is none, or none that the caller may see",
    "409": "it would contradict what is there",
    "413": "the body is longer than this service takes",
}
_TAGS = {
    "jobs": "Training jobs: at a glance, one by one, their layouts, iterations and pace.",
    "timelines": "Timelines of endpoints and traffic matrices, as JSON or as Arrow streams.",
    "exports": "Files for people: the HTML report and the Perfetto trace.",
    "paths": "Uplinks, long connections and plans of their paths, and what became of those.",
    "incidents": "What is wrong, since when, because of what, and what people do about it.",
    "events": "What happened to jobs and is no fault.",
    "scans": "What was looked at, and asking to look now.",
    "feeds": "Exporters, components of the service, traffic by class, the fabric, repeat offenders.",
    "inventory": "What is known of the fabric beforehand.",
    "stream": "What is new, as it comes.",
    "access": "Access: users, tokens, the audit log.",
}


def describe(app: FastAPI) -> None:
    """Complete what FastAPI derives from the routes; it is made when it is asked for first."""
    derived = app.openapi

    def complete() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(derived())
        return app.openapi_schema

    app.openapi = complete  # type: ignore[method-assign]  # so its documentation says to extend it


@cache
def examples() -> dict[str, Any]:
    """Answers by "METHOD /path" as the routes spell it, cut short."""
    found: dict[str, Any] = json.loads((files("flowprism.service.api") / "examples.json").read_text("utf-8"))
    return found


def _completed(described: dict[str, Any]) -> dict[str, Any]:
    schemas = described.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schema.pop("$defs", {})
    schemas["Problem"] = schema
    described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    described["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    for path, method, operation in _operations(described):
        operation["security"] = [{"token": []}, {}]
        operation["responses"] = _responses(path, method, operation)
    return described


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in described["paths"].items():
        if path.startswith(PREFIX):
            for method, operation in operations.items():
                yield path, method.upper(), operation


def _responses(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    """What a route answers: its success with an example, and problems."""
    own = {status: response for status, response in operation["responses"].items() if status.startswith("2")}
    example = examples().get(f"{method} {path}")
    for response in own.values():
        if example is not None and "application/json" in response.get("content", {}):
            response["content"]["application/json"]["example"] = example
    texts = dict(_ALWAYS)
    if "{" in path or path.endswith(("/inventory", "/tokens", "/plan/files")):
        texts["404"] = _SOMETIMES["404"]
    if method != "GET":
        texts |= {status: _SOMETIMES[status] for status in ("400", "409", "413")}
    problems = {status: _problem(text) for status, text in texts.items()}
    unchanged = {"304": {"description": _SOMETIMES["304"]}} if method == "GET" else {}
    return dict(sorted((own | problems | unchanged).items()))


def _problem(description: str) -> dict[str, Any]:
    return {"description": description, "content": {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE}}}}
