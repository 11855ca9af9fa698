"""Nobody who asks the API or sends a listing makes the service contact an address: none of it is ever a destination."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.config.settings import Settings
from flowprism.service.stores import Stores
from storage.database.connection import Database
from tests.flowprism.inventory_import import listings
from tests.flowprism.service.access.asking import Asker

ROUTES = (("PUT", "/api/v1/inventory"), ("POST", "/api/v1/inventory/import"))
DESTINATIONS = {"url", "uri", "href", "webhook", "callback", "file", "folder", "filename"}


@pytest.fixture
def asker(tmp_path: Path) -> Iterator[Asker]:
    """An admin on this machine, the role that may do most."""
    database = Database(f"sqlite:///{tmp_path}/results.sqlite")
    app = application(Stores(database), Settings(), AccessSettings())
    yield Asker(app, "http://localhost:8080", "127.0.0.1")
    database.close()


@pytest.fixture
def trap() -> Iterator[socket.socket]:
    """A port that nobody should connect to."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        yield listening


def with_urls(value: Any, url: str) -> Any:  # noqa: ANN401 - any JSON
    """The same document, with a URL wherever a text or a link was."""
    if isinstance(value, dict):
        return {key: with_urls(part, url) for key, part in value.items()} | {"next": url, "url": url, "$ref": url}
    if isinstance(value, list):
        return [with_urls(part, url) for part in value]
    return url if isinstance(value, str) or value is None else value


def test_listings_lead_nowhere(asker: Asker, trap: socket.socket) -> None:
    """Links of a NetBox page, tags and references of YAML and JSON, addresses for names: nothing is fetched."""
    url = f"http://127.0.0.1:{trap.getsockname()[1]}/latest/meta-data"
    linked: dict[str, Any] = {**listings.netbox(), "next": url, "previous": url}
    tags = ("!include", "!!python/object/apply:urllib.request.urlopen", "!!python/name:urllib.request.urlopen", "!url")
    bodies = [
        ("application/json", json.dumps(linked)),
        ("application/json", json.dumps(with_urls(listings.netbox(), url))),
        ("application/json", json.dumps({"schema": url, "hosts": [{"name": url, "endpoints": [{"address": url}]}]})),
        ("text/csv", f'host,address\n{url},10.0.0.1\n=WEBSERVICE("{url}"),10.0.0.2\n'),
        ("text/plain", listings.SLURM_TEXT.replace("=", f"={url} ", 1)),
        *(("application/yaml", f"hosts: {tag} [{url!r}]\n") for tag in tags),
    ]
    for method, path in ROUTES:
        for kind, body in bodies:
            answer = asker.ask(method, path, {"content-type": kind}, content=body)
            assert answer.status_code < 500, (body[:100], answer.text)
    with pytest.raises(BlockingIOError):
        trap.accept()


def sent_fields(described: dict[str, Any]) -> set[str]:
    """Names of all parameters, and of the fields of all bodies, however deep, that routes take."""
    routes = [route for path in described["paths"].values() for route in path.values()]
    names = {str(parameter["name"]) for route in routes for parameter in route.get("parameters", ())}
    open_parts: list[Any] = [route.get("requestBody") for route in routes]
    seen: set[str] = set()
    while open_parts:
        part = open_parts.pop()
        if isinstance(part, list):
            open_parts += part
        elif isinstance(part, dict):
            names.update(part.get("properties", ()))
            open_parts += part.values()
            if (named := part.get("$ref")) and named not in seen:
                seen.add(named)
                open_parts.append(described["components"]["schemas"][named.rsplit("/", 1)[-1]])
    return names


def test_no_route_takes_a_destination(asker: Asker) -> None:
    """What the API can be sent has no field for a URL or a file: receivers are settings, which an admin writes."""
    names = sent_fields(asker.ask("GET", "/api/v1/openapi.json").json())
    assert {"hosts", "reason", "role", "agent"} <= names
    assert not names & DESTINATIONS
