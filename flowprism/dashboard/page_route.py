"""What goes wrong on a page is told on a page."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from datamodel.errors import NotAllowedError, StorageError
from flowprism.dashboard.showing import show

_WORDS = {
    400: "This address asks for something that there is not",
    401: "Log in first",
    403: "This is not for you to do",
    404: "There is nothing here",
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
            except NotAllowedError as error:
                return await run_in_threadpool(problem, request, 403, str(error))
            except StorageError as error:
                return await run_in_threadpool(problem, request, 503, str(error))

        return told


def problem(request: Request, status: int, detail: str) -> Response:
    """The page that says what is wrong."""
    headline = _WORDS.get(status, HTTPStatus(status).phrase)
    viewer = getattr(request.state, "viewer", None)
    return show(request, viewer, "problem.html", status=status, alone=True, headline=headline, detail=detail)
