"""The watch on the service: every request counted and logged, `/metrics`, `/healthz` and `/readyz`."""

from __future__ import annotations

import time
import uuid
from typing import Any

import structlog
from fastapi import APIRouter, HTTPException, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, disable_created_metrics, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flowprism.service.access.csrf import SAFE_METHODS
from flowprism.service.access.dependencies import require_viewer
from flowprism.service.config.settings import Settings
from flowprism.service.http.problem_details import problem
from flowprism.service.http.route_names import route_of
from flowprism.service.monitoring.database_metrics import StoredMetrics
from flowprism.service.monitoring.health import Check, checks
from flowprism.service.monitoring.request_metrics import HttpMetrics
from flowprism.service.stores import Stores

router = APIRouter(tags=["watching"])
_LOG = structlog.get_logger(__name__)
_LEFT = 499  # what others call it that a client did not wait for its answer


def new_registry(stores: Stores, settings: Settings) -> CollectorRegistry:
    """Metrics of one process."""
    disable_created_metrics()  # type: ignore[no-untyped-call] # when a counter began is when its process did
    registry = CollectorRegistry(auto_describe=False)
    registry.register(StoredMetrics(stores, settings))
    return registry


class RequestMonitor:
    """Counts and logs requests; an unexpected error is logged, and answered without details."""

    def __init__(self, app: ASGIApp, metrics: HttpMetrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and take note of it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        name, begun_s, status = uuid.uuid4().hex, time.monotonic(), _LEFT
        scope.setdefault("state", {})["request_id"] = name

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", name.encode())]
            await send(message)

        self._metrics.under_way.inc()
        with structlog.contextvars.bound_contextvars(request=name):
            try:
                await self.app(scope, receive, sending)
            except Exception:
                _LOG.exception("request failed", method=scope["method"], route=route_of(scope))
                if status != _LEFT:  # too late for another answer
                    raise
                await problem(500, "an error of ours; the log has it", headers={})(scope, receive, sending)
            finally:
                self._metrics.under_way.dec()
                self._take_note(scope, status, time.monotonic() - begun_s)

    def _take_note(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = scope["method"], route_of(scope)
        self._metrics.answered(method, route, status, seconds)
        state: dict[str, Any] = scope["state"]
        viewer, peer = state.get("viewer"), state.get("peer")
        say = _LOG.debug if method in SAFE_METHODS and status < 500 else _LOG.info
        say(
            "answered",
            method=method,
            route=route,
            status=status,
            seconds=round(seconds, 4),
            user=viewer.name if viewer else "",
            address=peer.address if peer else "",
        )


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request) -> Response:
    """Everything that Prometheus may know: of the whole service, so nothing for one tenant's people."""
    if not request.app.state.access.open_metrics and require_viewer(request).tenant is not None:
        raise HTTPException(403, "metrics are of all tenants")
    return Response(generate_latest(request.app.state.metrics), media_type=CONTENT_TYPE_LATEST)


@router.get("/healthz", include_in_schema=False)
def healthz() -> dict[str, str]:
    """Whether this process answers, its threads included: one that does not is to be started again."""
    return {"status": "ok"}


@router.get("/readyz", include_in_schema=False)
def readyz(request: Request, response: Response, strict: bool = False) -> dict[str, Any]:
    """Whether the service can answer, and is well: 503 where it cannot or, `strict`, where anything is not well.

    A service that scans no more can still show what it knows: it stays ready, and says what is wrong.
    """
    found = checks(request.app.state.stores, request.app.state.settings, time.time_ns())
    ready = all(check.well for check in found if check.needed or strict)
    response.status_code = 200 if ready else 503
    well = all(check.well for check in found)
    insider = getattr(request.state, "viewer", None)
    in_full = insider is not None and insider.tenant is None
    described = {check.name: _describe_check(check, in_full=in_full) for check in found}
    return {"status": ("ok" if well else "degraded") if ready else "not ready", "checks": described}


def _describe_check(check: Check, *, in_full: bool) -> str:
    """Strangers learn whether, not what."""
    return "ok" if check.well else (check.detail if in_full else "failed")
