"""Responses to denied requests: a problem document (RFC 9457) for programs, the log-in page for people."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from flowprism.service.access.access_settings import Mode
from flowprism.service.http.problem_details import problem

_AGAIN = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>flowprism</title>
<meta http-equiv="refresh" content="0; url={0}"></head><body><p><a href="{0}">Continue</a></p></body></html>
"""


class AccessDenied(Exception):  # noqa: N818 - no error of ours: an answer
    """A request that is not let through."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        """Store the reason, a sentence for the caller."""
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def deny_rate(wait_s: float, what: str) -> AccessDenied:
    """Too often; and when it may be tried again."""
    seconds = max(1, round(wait_s + 0.5))
    return AccessDenied(429, f"{what}: try again in {seconds} s", {"Retry-After": str(seconds)})


def deny(request: Request, refusal: AccessDenied, mode: Mode) -> Response:
    """The answer to a request that was not let through."""
    if not is_page(request):
        return problem(refusal.status, refusal.detail, headers=refusal.headers)
    if refusal.status == HTTPStatus.UNAUTHORIZED and mode == "login":
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        if _came_by_a_link(request):
            return HTMLResponse(_AGAIN.format(escape(local_path(here), quote=True)))
        return RedirectResponse(f"/login?next={quote(local_path(here), safe='/')}", HTTPStatus.SEE_OTHER)
    return PlainTextResponse(f"{refusal.detail}\n", refusal.status, refusal.headers)


def is_page(request: Request) -> bool:
    """Whether a person's browser asks for something to show."""
    by_program = request.url.path.startswith(("/api/", "/metrics"))
    return not by_program and "text/html" in request.headers.get("accept", "")


def local_path(path: str) -> str:
    """A path on this service; "/" where it leads elsewhere, as `//host` and a backslash would."""
    plain = path.startswith("/") and path.isprintable() and "\\" not in path
    return path if plain and not path.startswith("//") else "/"


def _came_by_a_link(request: Request) -> bool:
    """Whether a link on another site led here: our cookie is not shown then, though the browser may have it.

    Asked to come again by a page of ours, it shows it (cookies are SameSite=Strict).
    """
    fetched = (request.headers.get("sec-fetch-site"), request.headers.get("sec-fetch-mode"))
    return request.method == "GET" and fetched == ("cross-site", "navigate")
