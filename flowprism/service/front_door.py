"""What stands before the application: headers on all answers, a watch on all requests, the guard, bounded bodies."""

from __future__ import annotations

import structlog
from fastapi import FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from flowprism.service import watching
from flowprism.service.access import login, routes
from flowprism.service.access.guard import Guard
from flowprism.service.access.headers import SecurityHeaders
from flowprism.service.access.login import LoginLimits
from flowprism.service.access.people import nobody_can_administer
from flowprism.service.access.settings import AccessSettings
from flowprism.service.http_metrics import HttpMetrics
from flowprism.service.settings import Settings
from flowprism.service.shelf import Shelf

_LOG = structlog.get_logger(__name__)


def add_front_door(app: FastAPI, shelf: Shelf, settings: Settings, access: AccessSettings) -> None:
    """Let nobody past but who may, and add the routes by which people log in and are managed.

    The server must leave what proxies say of a client to us: uvicorn with `proxy_headers=False`.
    """
    if todo := nobody_can_administer(shelf.database, access):
        _LOG.warning(todo)
    app.state.login_limits = LoginLimits(access.login_failures)
    app.include_router(login.router)
    app.include_router(routes.router)
    app.include_router(watching.router)
    app.state.metrics = watching.new_registry(shelf, settings)
    app.state.http_metrics = HttpMetrics(app.state.metrics)
    # The last one added is the first one asked.
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=access.most_body_bytes)
    app.add_middleware(Guard, database=shelf.database, settings=access)
    app.add_middleware(watching.Watch, metrics=app.state.http_metrics)
    app.add_middleware(SecurityHeaders)
