"""`POST /login` and `POST /logout`, as forms of the dashboard send them. The page itself is the dashboard's."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote

import structlog
from fastapi import APIRouter, HTTPException, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from datamodel.service.result_rows import AuditEntry
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.accounts import login_sessions
from flowprism.service.access.accounts.user_accounts import LONGEST_NAME
from flowprism.service.access.denied_responses import is_page, local_path
from flowprism.service.access.limits import TokenBuckets
from flowprism.service.http.problem_details import problem
from storage.database.access import audit
from storage.database.connection import Database

router = APIRouter(tags=["access"], include_in_schema=False)
_LOG = structlog.get_logger(__name__)
_MOST_FORM_BYTES = 10_000
_FILL_S = 900.0
# One name may be tried from many places: its owner is locked out by ten strangers, not by one.
_MORE_FOR_A_NAME = 10
# Each takes a processor and 32 MiB for a moment; more at once would only make all wait.
_AT_ONCE = 2


@dataclass(slots=True)
class LoginLimits:
    """How many log-ins may still fail, by address and by name; and how many are tried at once."""

    failures: int
    addresses: TokenBuckets = field(init=False)
    names: TokenBuckets = field(init=False)
    at_once: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """All of them."""
        self.addresses = TokenBuckets(self.failures, _FILL_S)
        self.names = TokenBuckets(self.failures * _MORE_FOR_A_NAME, _FILL_S)
        self.at_once = asyncio.Semaphore(_AT_ONCE)

    def take(self, address: str, name: str) -> float:
        """Begin an attempt; or for how many seconds to wait."""
        wait_s = self.addresses.take(address)
        if wait_s:
            return wait_s
        wait_s = self.names.take(name)
        if wait_s:
            self.addresses.give_back(address)
        return wait_s

    def succeeded(self, address: str, name: str) -> None:
        """The attempt was no failure."""
        self.addresses.give_back(address)
        self.names.give_back(name)


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Log in with `name`, `password` and `next`, the page to go on to; a failure leads back to the log-in page."""
    settings: AccessSettings = request.app.state.access
    if settings.mode != "login":
        raise HTTPException(404, f"log-in is off: access.mode is {settings.mode}")
    form = await _form(request)
    name, following = form.get("name", ""), local_path(form.get("next", "/"))
    address = request.state.peer.address
    limits: LoginLimits = request.app.state.login_limits
    place = request.state.peer.neighbourhood
    wait_s = limits.take(place, name)
    if wait_s:
        request.app.state.http_metrics.login("wait")
        return _again(request, following, "wait", 429, wait_s)
    text = await _session(request, name, form.get("password", ""), limits)
    request.app.state.http_metrics.login("wrong" if text is None else "ok")
    if text is None:
        _LOG.warning("log-in failed", name=name[:LONGEST_NAME], address=address)
        return _again(request, following, "wrong", 401)
    limits.succeeded(place, name)
    _LOG.info("logged in", name=name, address=address)
    answer = RedirectResponse(following, 303)
    _set(answer, text, secure=request.state.secure, hours=settings.session_hours)
    return answer


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """Forget the log-in, here and in the browser."""
    text = _shown(request)
    if text:
        await run_in_threadpool(login_sessions.log_out, request.app.state.stores.database, text)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(
        _cookie(secure=request.state.secure), secure=request.state.secure, httponly=True, samesite="strict"
    )
    return answer


async def _session(request: Request, name: str, password: str, limits: LoginLimits) -> str | None:
    """A new log-in's text; the one the browser had is over, so that none is handed from one person to another."""
    database: Database = request.app.state.stores.database
    if not name.isprintable() or len(name) > LONGEST_NAME:
        return None
    hours, now_ns = request.app.state.access.session_hours, time.time_ns()
    async with limits.at_once:
        text = await run_in_threadpool(login_sessions.log_in, database, name, password, now_ns, hours)
    if text is not None:
        entry = AuditEntry(uuid.uuid4().hex, now_ns, name, "log in", name, {"address": request.state.peer.address})
        await run_in_threadpool(audit, database, entry)
        if before := _shown(request):
            await run_in_threadpool(login_sessions.log_out, database, before)
    return text


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form as browsers send it, the last of each name."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_FORM_BYTES:
            raise HTTPException(413, "this is no log-in form")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise HTTPException(400, "this is no log-in form") from None
    return {name: values[-1] for name, values in fields.items()}


def _again(request: Request, following: str, why: str, status: int, wait_s: float = 0.0) -> Response:
    """Back to the page, which says why; a program gets a problem document."""
    seconds = str(max(1, round(wait_s + 0.5)))
    if is_page(request):
        wait = f"&seconds={seconds}" if wait_s else ""
        return RedirectResponse(f"/login?problem={why}{wait}&next={quote(following, safe='/')}", 303)
    if wait_s:
        return problem(status, f"too many failures: try again in {seconds} s", headers={"Retry-After": seconds})
    return problem(status, "name and password do not fit")


def _set(answer: Response, text: str, *, secure: bool, hours: float) -> None:
    answer.set_cookie(
        _cookie(secure=secure), text, round(hours * 3600), path="/", secure=secure, httponly=True, samesite="strict"
    )


def _shown(request: Request) -> str | None:
    return request.cookies.get(_cookie(secure=request.state.secure))


def _cookie(*, secure: bool) -> str:
    return login_sessions.SECURE_NAME if secure else login_sessions.NAME
