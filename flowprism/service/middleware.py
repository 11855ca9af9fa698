"""What stands before the application: headers on all answers, a watch on all requests, the guard, bounded bodies."""

from __future__ import annotations

import structlog
from fastapi import FastAPI
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from flowprism.service.access import access_routes, login
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.accounts.user_accounts import nobody_can_administer
from flowprism.service.access.guard import Guard
from flowprism.service.access.login import LoginLimits
from flowprism.service.access.security_headers import SecurityHeaders
from flowprism.service.config.settings import Settings
from flowprism.service.monitoring import request_monitor
from flowprism.service.monitoring.request_metrics import HttpMetrics
from flowprism.service.stores import Stores

_LOG = structlog.get_logger(__name__)


def add_middleware(app: FastAPI, stores: Stores, settings: Settings, access: AccessSettings) -> None:
    """Add access control, and the routes for log-in and user management.

    The server must leave what proxies say of a client to us: uvicorn with `proxy_headers=False`.
    """
    if todo := nobody_can_administer(stores.database, access):
        _LOG.warning(todo)
    app.state.login_limits = LoginLimits(access.login_failures)
    app.include_router(login.router)
    app.include_router(access_routes.router)
    app.include_router(request_monitor.router)
    app.state.metrics = request_monitor.new_registry(stores, settings)
    app.state.http_metrics = HttpMetrics(app.state.metrics)
    # The last one added is the first one asked.
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=access.most_body_bytes)
    app.add_middleware(Guard, database=stores.database, settings=access)
    app.add_middleware(request_monitor.RequestMonitor, metrics=app.state.http_metrics)
    app.add_middleware(SecurityHeaders)
