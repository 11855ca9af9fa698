"""The real service's API under attack over loopback, with 256 file descriptors: each attack with its figures."""

from __future__ import annotations

import gzip
import http.client
import json
import resource
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from storage.database.connection import Database
from tests.flowprism.service.access.asking import PASSWORD, add_user, bearer
from tests.flowprism.service.running import command, components, memory_bytes, settings, wait_for

pytestmark = pytest.mark.slow

DESCRIPTORS = 256
ATTACKERS = 400
IMPORT = "/api/v1/inventory/import"


@dataclass
class Api:
    """A running API.

    Attributes:
        port: it listens at.
        service: process id of the supervisor.
        admin: header of an administrator's token.
        log: what it says.
    """

    port: int
    service: int
    admin: dict[str, str]
    log: Path

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, source: str = ""
    ) -> tuple[int, str]:
        """Status and body of an answer."""
        link = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=30, source_address=(source, 0) if source else None
        )
        try:
            link.request(method, path, body or None, headers or {})
            answer = link.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            link.close()

    def pid(self) -> int:
        """Process of the API; another one where it died."""
        return components(self.service)["api"]

    def closed(self) -> dict[str, float]:
        """Connections that it closed, by cause."""
        lines = self.ask("GET", "/metrics", headers=self.admin)[1].splitlines()
        name = "flowprism_http_connections_closed_total{cause="
        return {line.split('"')[1]: float(line.split()[-1]) for line in lines if line.startswith(name)}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The service with its API alone, users that log in, and as many descriptors as a careless system gives."""
    folder = tmp_path_factory.mktemp("attacked")
    file = settings(folder, access={"mode": "login", "login_failures": 3})
    (folder / "data").mkdir()
    database = Database(f"sqlite:///{folder}/data/results.sqlite")
    for name in ("ann", "bob"):
        add_user(database, name, "admin")
    admin = bearer(database, "ann", "admin")
    database.close()
    with command(folder / "log", "serve", str(file), "--component", "api") as running:
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        found = Api(yaml.safe_load(file.read_text())["api"]["port"], running.pid, admin, folder / "log")
        wait_for(lambda: _is_up(found), 120)
        yield found


def _is_up(api: Api) -> bool:
    try:
        return api.ask("GET", "/readyz")[0] == 200
    except OSError:
        return False


@pytest.mark.parametrize(
    "said",
    [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\nname="],
)
def test_slow_requests_keep_no_one_out(api: Api, said: bytes) -> None:
    """More half requests than there are descriptors: others are answered meanwhile, all are closed and counted."""
    before, memory, process = api.closed(), memory_bytes(api.pid()), api.pid()
    attackers = []
    for _ in range(ATTACKERS):
        link = socket.create_connection(("127.0.0.1", api.port), timeout=30)
        link.sendall(said)
        attackers.append(link)
    begun_s = time.monotonic()
    assert api.ask("GET", "/healthz")[0] == 200
    assert time.monotonic() - begun_s < 10
    for link in attackers:
        link.close()
    counted = {cause: count - before[cause] for cause, count in api.closed().items()}
    assert counted["too many"] >= ATTACKERS - DESCRIPTORS
    assert sum(counted.values()) <= ATTACKERS
    assert api.pid() == process
    assert memory_bytes(process) - memory < 50 << 20
    assert "Too many open files" not in api.log.read_text()


def test_a_request_that_does_not_end_is_closed(api: Api) -> None:
    """After ten seconds without the end of its headers."""
    before = api.closed()["header"]
    with socket.create_connection(("127.0.0.1", api.port), timeout=60) as link:
        link.sendall(b"GET / HTTP/1.1\r\n")
        begun_s = time.monotonic()
        assert link.recv(1) == b""
        assert 8 < time.monotonic() - begun_s < 30
    assert api.closed()["header"] == before + 1


def _laughs() -> bytes:
    """Nine levels of nine aliases each: 387 million nodes in half a kilobyte."""
    levels = [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    return "\n".join(["a0: &a0 [x]", *levels, "hosts: *a8"]).encode()


# Made when they are sent: every run that collects this module would wait for them.
BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "yaml aliases": ("application/yaml", _laughs),
    "yaml levels": ("application/yaml", lambda: b"hosts: " + b"[" * 200_000),
    "yaml loop": ("application/yaml", lambda: b"hosts: &h [*h]"),
    "json levels": ("text/plain", lambda: b'{"hosts":' * 200_000),
    "json number": ("application/json", lambda: b'{"hosts": ' + b"9" * 1_000_000 + b"}"),
    "json size": ("application/json", lambda: json.dumps({"hosts": [{"name": "x" * 100}] * 200_000}).encode()),
    "csv field": ("text/csv", lambda: b"a" * 1_000_000),
    "gzip": ("application/json", lambda: gzip.compress(bytes(100_000_000))),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(api: Api, name: str) -> None:
    """Listings that are small as text and endless when read: refused by the same process, in bounded memory."""
    kind, made = BOMBS[name]
    body = made()
    memory, process, begun_s = memory_bytes(api.pid()), api.pid(), time.monotonic()
    encoding = {"content-encoding": "gzip"} if name == "gzip" else {}
    status, answer = api.ask("POST", IMPORT, body, {**api.admin, "content-type": kind, **encoding})
    assert status == 422, answer[:300]
    assert time.monotonic() - begun_s < 30
    assert api.pid() == process
    assert memory_bytes(process) - memory < 1 << 30


@pytest.mark.parametrize("where", ["/api/v1/me?token={}", "/api/v1/me?access_token={}", "/{}/api/v1/me"])
def test_tokens_in_urls_open_nothing(api: Api, where: str) -> None:
    """A URL is kept by logs and histories: a token counts in its header only, and the log does not hold it."""
    token = api.admin["authorization"].partition(" ")[2]
    assert api.ask("GET", where.format(token))[0] == 401
    assert token not in api.log.read_text()


def test_guesses_lock_out_their_own_address_only(api: Api) -> None:
    """Three failures, then waiting; from another address the same name logs in."""
    body = b"name=ann&password=not-the-password"
    form = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
    statuses = [api.ask("POST", "/login", body, form, "127.0.0.7")[0] for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    right = f"name=ann&password={PASSWORD.replace(' ', '+')}".encode()
    assert api.ask("POST", "/login", right, form, "127.0.0.7")[0] == 429
    assert api.ask("POST", "/login", right, form, "127.0.0.8")[0] == 303


def test_refused_bodies_are_not_read_to_their_end(api: Api) -> None:
    """A body beyond the bound is refused by its announced length, before any of it is kept."""
    head = {**api.admin, "content-type": "application/json", "content-length": str(1 << 40)}
    with pytest.raises((ConnectionError, http.client.HTTPException, AssertionError)):
        assert api.ask("POST", IMPORT, b"{", head)[0] != 413
