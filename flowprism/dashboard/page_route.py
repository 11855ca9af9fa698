"""What goes wrong on a page is told on a page."""

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
    """A route whose errors are pages too: what is wrong in a sentence, and the way on."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Answer a request."""
        answer = super().get_route_handler()

        async def told(request: Request) -> Response:
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

        return told


def add_problem_page(app: FastAPI, programs: str) -> None:
    """Tell browsers on a page, too, what no route of a page answers: an address that there is not.

    Args:
        app: whose handler of such errors goes on answering everybody else.
        programs: what addresses for programs begin with; they are answered as before, whoever asks.
    """
    before = cast("Callable[[Request, Exception], Awaitable[Response]]", app.exception_handlers[AnyHTTPException])

    async def told(request: Request, error: Exception) -> Response:
        looked_at = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(programs)
        if looked_at and isinstance(error, AnyHTTPException):
            plain = str(error.detail) == HTTPStatus(error.status_code).phrase  # nobody has said more than the number
            said = f"No page can be looked at under {request.url.path}" if plain else str(error.detail)
            return await run_in_threadpool(problem, request, error.status_code, said)
        return await before(request, error)

    app.add_exception_handler(AnyHTTPException, told)


def problem(request: Request, status: int, detail: str) -> Response:
    """The page that says what is wrong."""
    headline = _WORDS.get(status, HTTPStatus(status).phrase)
    viewer = getattr(request.state, "viewer", None)
    return render_page(request, viewer, "problem.html", status=status, alone=True, headline=headline, detail=detail)
