"""The real application, asked without a network, by whomever a test wants."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
from fastapi import FastAPI

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from tests.flowprism.service.shared_routes import answer_as

ADMIN = Viewer("ann", "admin", None)
UNLIMITED = AccessSettings(requests_per_minute=10**9)
"""Answers however many requests a test can make: that depends on the machine."""


class Client:
    """Asks an application one request at a time."""

    def __init__(self, app: FastAPI) -> None:
        """Ask this one."""
        self.app = app

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - as httpx takes it
        """The answer to a request; an error of the application is its answer 500."""

        async def ask() -> httpx.Response:
            way = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1:8080") as asking:
                return await asking.request(method, path, **more)

        return anyio.run(ask)

    def get(self, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - as httpx takes it
        """The answer to a GET."""
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - as httpx takes it
        """The answer to a POST."""
        return self.request("POST", path, **more)


def client(stores: Stores, viewer: Viewer = ADMIN, settings: Settings | None = None) -> Client:
    """A client that asks as `viewer`; how one shows who one is is tested in `tests/flowprism/service/access`."""
    return Client(answer_as(application(stores, settings or Settings(), UNLIMITED), viewer))
