"""Checks requests: authentication, rate limits, same site; audits changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from datamodel.errors import StorageError
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.audit_log import audit_request
from flowprism.service.access.authentication import Authentication, authenticate
from flowprism.service.access.csrf import SAFE_METHODS, check_same_site
from flowprism.service.access.denied_responses import AccessDenied, deny, deny_rate
from flowprism.service.access.limits import TokenBuckets
from flowprism.service.access.peers import peer_of
from storage.database.connection import Database

# Open without authentication: log-in, its page's files, and health.
OPEN_PATHS = frozenset({"/login", "/readyz"})
OPEN_FOLDER = "/static/"
ALIVE_PATH = "/healthz"  # whether this process lives does not depend on a database that answers
METRICS_PATH = "/metrics"


@dataclass(slots=True)
class Guard:
    """Stands before the application.

    Attributes:
        app: what answers requests that are let through, with `state.viewer` set.
        database: users, tokens, log-ins and the audit log.
        settings: means of authentication.
        clock: UTC, ns.
        asked: what each caller may still ask.
    """

    app: ASGIApp
    database: Database
    settings: AccessSettings
    clock: Callable[[], int] = time.time_ns
    asked: TokenBuckets = field(init=False)

    def __post_init__(self) -> None:
        """Begin with full buckets."""
        self.asked = TokenBuckets(self.settings.requests_per_minute, 60.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer why not."""
        if scope["type"] == "websocket":  # there are none; one that came by mistake would not be looked at below
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http" or scope["path"] == ALIVE_PATH or scope["path"].startswith(OPEN_FOLDER):
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        peer = peer_of(request, self.settings.trusted_proxies)
        request.state.peer, request.state.secure = peer, peer.secure
        try:
            who = await run_in_threadpool(self._look, request)
        except AccessDenied as refusal:
            await deny(request, refusal, self.settings.mode)(scope, receive, send)
            return
        except StorageError:
            away = AccessDenied(503, "the results database cannot be reached", {"Retry-After": "5"})
            await deny(request, away, self.settings.mode)(scope, receive, send)
            return
        if who is not None:
            request.state.viewer, request.state.identified = who.viewer, who
        writing = request.method not in SAFE_METHODS and who is not None
        await self.app(scope, receive, self._written_down(request, send) if writing else send)

    def _look(self, request: Request) -> Authentication | None:
        """Identify the caller; None where none is needed.

        Raises:
            Refusal: they are not let through.
            StorageError: the database cannot be reached.
        """
        peer, path = request.state.peer, request.url.path
        is_open = path in OPEN_PATHS or (path == METRICS_PATH and self.settings.open_metrics)
        who, problem = None, None
        try:
            who = authenticate(request, peer, self.database, self.settings, self.clock())
        except AccessDenied as refusal:
            problem = refusal
        except StorageError:
            if not is_open:
                raise
        key = f"address {peer.neighbourhood}" if who is None else f"{who.means} {who.token or who.viewer.name}"
        wait_s = self.asked.take(key)
        if wait_s:
            raise deny_rate(wait_s, "too many requests")
        if not is_open:
            _check(who, problem, path)
        check_same_site(request, peer, who)
        return who

    def _written_down(self, request: Request, send: Send) -> Send:
        """A change is in the audit log before its answer leaves."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                await run_in_threadpool(audit_request, self.database, request, message["status"], self.clock())
            await send(message)

        return sending


def _check(who: Authentication | None, problem: AccessDenied | None, path: str) -> None:
    if problem is not None:
        raise problem
    if who is None:
        raise AccessDenied(401, "log in, or show a token", {"WWW-Authenticate": "Bearer"})
    if who.metrics_only and path != METRICS_PATH:
        raise AccessDenied(403, "this token is for metrics only")
