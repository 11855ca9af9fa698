"""Requests made up from the API's own description: no 500, and answers as described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation, BaseSchema
from schemathesis.specs.openapi.checks import positive_data_acceptance

from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from tests.flowprism.feed_plan.sample import InstantPlanner
from tests.flowprism.service.api.client import UNLIMITED
from tests.flowprism.service.serving import serving
from tests.flowprism.service.stored import stored_demo

# Refusing what the description allows is right where two parameters must fit together, or a cursor must be ours.
LEFT_OUT: list[Any] = [positive_data_acceptance]
NO_END = "/api/v1/stream"


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaseSchema]:
    """The description of a real server over the bundled capture."""
    stores = stored_demo(tmp_path_factory.mktemp("fuzz"))
    app = application(stores, Settings(), UNLIMITED)
    app.state.planner = InstantPlanner()
    with serving(app) as address:
        yield schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json").exclude(path=NO_END)
    stores.database.close()


def complaints(whole: BaseSchema, examples: int) -> list[str]:
    """What is wrong with answers to so many requests of each route and kind, by route."""
    found = []
    for result in whole.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        ways = (positive, too_long if has_names_only(operation) else negative)
        for ask in ways:
            try:
                ask(operation, examples)
            except (AssertionError, BaseExceptionGroup) as wrong:
                found.append(f"{operation.label}: {getattr(wrong, 'exceptions', wrong)}")
    return found


def has_names_only(operation: APIOperation[Any, Any, Any, Any]) -> bool:
    """Whether a route takes nothing, or nothing but names in its path. What is wrong with a name is long sought."""
    taken = [(one.definition["in"], one.definition["schema"].get("type")) for one in operation.iter_parameters()]
    return set(taken) <= {("path", "string")} and not list(operation.body)


def too_long(operation: APIOperation[Any, Any, Any, Any], _examples: int) -> None:
    """Ask for a name that is longer than any can be."""
    lengths = {one.name: one.definition["schema"]["maxLength"] for one in operation.iter_parameters()}
    if lengths:
        asked_for = operation.Case(path_parameters={name: "n" * (most + 1) for name, most in lengths.items()})
        assert asked_for.call_and_validate(excluded_checks=LEFT_OUT).status_code == 422


def positive(operation: APIOperation[Any, Any, Any, Any], examples: int) -> None:
    """Ask as the description allows."""
    asked(operation, GenerationMode.POSITIVE, examples)


def negative(operation: APIOperation[Any, Any, Any, Any], examples: int) -> None:
    """Ask as the description does not allow."""
    asked(operation, GenerationMode.NEGATIVE, examples)


def asked(operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, examples: int) -> None:
    """Ask a route as its description allows, or as it does not; each answer is held against the description."""

    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case[Any]) -> None:
        case.call_and_validate(excluded_checks=LEFT_OUT)

    ask()


@pytest.mark.slow
def test_many_requests_of_each_route(described: BaseSchema) -> None:
    """Whatever is asked, the answer is one that the description has."""
    assert complaints(described, 40) == []
