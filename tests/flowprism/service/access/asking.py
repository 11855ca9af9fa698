"""The real application behind its door, asked by browsers, programs and proxies, from wherever a test wants."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
from fastapi import FastAPI

from datamodel.service.result_rows import Role, User
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.access.accounts.passwords import hash_password
from flowprism.service.access.accounts.tokens import new_token
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.stores import Stores
from storage.database import access
from storage.database.connection import Database
from tests.flowprism.service.shared_routes import share_routes

PASSWORD = "correct horse battery"  # noqa: S105 - of every user of these tests
ELSEWHERE = "203.0.113.7"
BROWSER = {"accept": "text/html,application/xhtml+xml", "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}


@dataclass
class Asker:
    """Somebody at an address who keeps cookies.

    Attributes:
        app: whom they ask.
        url: by which name and scheme they ask it.
        address: where they are.
        headers: that they send each time.
        cookies: that they were given.
    """

    app: FastAPI
    url: str = "http://flowprism.example"
    address: str = ELSEWHERE
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:  # noqa: ANN401 - as httpx takes it
        """The answer; redirects are not followed."""

        async def asking() -> httpx.Response:
            way = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(self.address, 40_000))
            async with httpx.AsyncClient(transport=way, base_url=self.url) as client:
                said = {"cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if self.cookies else {}
                return await client.request(method, path, headers=self.headers | said | (headers or {}), **more)

        answer = anyio.run(asking)
        for name, value in answer.cookies.items():
            self.cookies[name] = value
        return answer

    def log_in(self, name: str, password: str = PASSWORD, **fields: str) -> httpx.Response:
        """Send the form as a browser does."""
        origin = f"{urlsplit(self.url).scheme}://{urlsplit(self.url).netloc}"
        return self.ask(
            "POST", "/login", BROWSER | {"origin": origin}, data={"name": name, "password": password, **fields}
        )


def served(database: Database, settings: AccessSettings) -> FastAPI:
    """The application over this database."""
    return share_routes(application(Stores(database), Settings(), settings))


def add_user(database: Database, name: str, role: Role, tenant: str | None = None) -> None:
    """Somebody with the password of these tests."""
    access.save_user(database, User(name, role, tenant, hash_password(PASSWORD), 1))


def bearer(database: Database, user: str, *scopes: str) -> dict[str, str]:
    """The header of a new token."""
    token, text = new_token(user, scopes, 1, None)
    assert access.save_token(database, token)
    return {"authorization": f"Bearer {text}"}
