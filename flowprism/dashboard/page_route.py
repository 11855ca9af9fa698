"""Errors of pages are answered with an error page, and those of the API as before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as AnyHTTPException

from datamodel.errors import PermissionDeniedError, StorageError
from flowprism.dashboard.page_templates import render_page

_WORDS = {
    400: "This address asks for something that there is not",
    401: "Log in first",
    403: "This is not for you to do",
    404: "There is nothing here",
    405: "This address is not for looking at",
    503: "The service cannot answer now",
}


class PageRoute(APIRoute):
    """A route that answers errors with a page too: the problem in a sentence, and a link onward."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Answer a request."""
        answer = super().get_route_handler()

        async def answer_with_page(request: Request) -> Response:
            try:
                return await answer(request)
            except RequestValidationError as error:
                said = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors()[:3])
                return await run_in_threadpool(problem, request, 400, said)
            except HTTPException as error:
                return await run_in_threadpool(problem, request, error.status_code, str(error.detail))
            except PermissionDeniedError as error:
                return await run_in_threadpool(problem, request, 403, str(error))
            except StorageError as error:
                return await run_in_threadpool(problem, request, 503, str(error))

        return answer_with_page


def add_problem_page(app: FastAPI, programs: str) -> None:
    """Answer browsers with an error page for addresses that no route has.

    Args:
        app: its present handler keeps answering clients that accept no HTML.
        programs: path prefix of the API, where the present handler answers all clients.
    """
    before = cast("Callable[[Request, Exception], Awaitable[Response]]", app.exception_handlers[AnyHTTPException])

    async def answer_unrouted(request: Request, error: Exception) -> Response:
        looked_at = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(programs)
        if looked_at and isinstance(error, AnyHTTPException):
            plain = (
                str(error.detail) == HTTPStatus(error.status_code).phrase
            )  # the error gives no more than its status code
            said = f"No page can be looked at under {request.url.path}" if plain else str(error.detail)
            return await run_in_threadpool(problem, request, error.status_code, said)
        return await before(request, error)

    app.add_exception_handler(AnyHTTPException, answer_unrouted)


def problem(request: Request, status: int, detail: str) -> Response:
    """Render the error page."""
    headline = _WORDS.get(status, HTTPStatus(status).phrase)
    viewer = getattr(request.state, "viewer", None)
    return render_page(request, viewer, "problem.html", status=status, alone=True, headline=headline, detail=detail)
