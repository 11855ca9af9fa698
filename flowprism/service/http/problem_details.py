"""Errors as `application/problem+json` (RFC 9457): what is wrong, in one sentence, without what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field
from starlette.exceptions import HTTPException

from datamodel.document import Document
from datamodel.errors import LimitExceededError, PermissionDeniedError, StorageError

PREFIX = "/api/"
MEDIA_TYPE = "application/problem+json"
RETRY_S = 5  # a database that was stopped is back sooner or later; asking more often does not help


class InvalidField(Document):
    """One part of a request that cannot be taken."""

    where: str = Field(description="e.g. `query limit` or `body text`")
    problem: str


class Problem(Document):
    """What is wrong with a request, or why it cannot be answered now."""

    type: str = "about:blank"
    title: str = Field(description="the status in words")
    status: int
    detail: str = ""
    errors: tuple[InvalidField, ...] = ()


def add_problem_handlers(app: FastAPI) -> None:
    """Make every error of the API a problem document."""
    app.add_exception_handler(RequestValidationError, _unprocessable)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(PermissionDeniedError, _not_allowed)
    app.add_exception_handler(LimitExceededError, _too_much)
    app.add_exception_handler(StorageError, _unavailable)


def problem(
    status: int, detail: str = "", errors: tuple[InvalidField, ...] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """Build the response of a problem."""
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors)
    return Response(problem.model_dump_json(), status, headers, MEDIA_TYPE)


async def _unprocessable(_: Request, error: Exception) -> Response:
    wrong = error.errors() if isinstance(error, RequestValidationError) else ()
    parts = tuple(InvalidField(where=_where(one), problem=str(one["msg"])) for one in wrong)
    return problem(422, "; ".join(f"{part.where}: {part.problem}" for part in parts[:3]), parts)


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return problem(error.status_code, str(error.detail), headers=error.headers)


async def _not_allowed(_: Request, error: Exception) -> Response:
    return problem(403, str(error))


async def _too_much(_: Request, error: Exception) -> Response:
    return problem(422, str(error))


async def _unavailable(_: Request, error: Exception) -> Response:
    return problem(503, str(error), headers={"Retry-After": str(RETRY_S)})


def _where(one: Mapping[str, Any]) -> str:
    return " ".join(str(part) for part in one["loc"])
