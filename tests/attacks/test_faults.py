"""The real service where something beside it is wrong: its database is locked, or its folder is another's."""

from __future__ import annotations

import json
import sqlite3
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from storage.database.connection import Database
from tests.flowprism.service.access.asking import add_user, bearer
from tests.flowprism.service.running import command, components, settings, wait_for

pytestmark = pytest.mark.slow


def status(address: str, headers: dict[str, str], body: object = None) -> int:
    """Status of an answer; 0 where nobody answers."""
    said = {**headers, "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(address, data, said)  # noqa: S310 - of this test's own service
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_a_locked_database_is_read_and_waited_for(tmp_path: Path) -> None:
    """While another process holds the write lock pages are answered and changes are refused."""
    file = settings(tmp_path, access={"mode": "login"})
    (tmp_path / "data").mkdir()
    results = tmp_path / "data" / "results.sqlite"
    database = Database(f"sqlite:///{results}")
    add_user(database, "ann", "admin")
    token = bearer(database, "ann", "admin")
    database.close()
    host = f"http://127.0.0.1:{yaml.safe_load(file.read_text())['api']['port']}"
    with command(tmp_path / "log", "serve", str(file), "--component", "api") as service:
        wait_for(lambda: status(f"{host}/readyz", {}) == 200, 120)
        process = components(service.pid)["api"]
        with sqlite3.connect(results, isolation_level=None) as lock:
            lock.execute("BEGIN IMMEDIATE")
            begun_s = time.monotonic()
            assert [status(f"{host}{path}", token) for path in ("/api/v1/jobs", "/api/v1/me", "/healthz")] == [200] * 3
            assert time.monotonic() - begun_s < 10
            assert status(f"{host}/api/v1/tokens", token, {}) == 503
            assert status(f"{host}/api/v1/me", token) == 200
            lock.execute("ROLLBACK")
        assert status(f"{host}/api/v1/tokens", token, {}) == 201
        assert components(service.pid)["api"] == process


def test_a_second_service_does_not_write_the_folder(tmp_path: Path) -> None:
    """Its collector says who is in the way, and goes on trying; the first one is not disturbed."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    store = {"folder": str(tmp_path / "data")}
    files = [
        settings(folder, store=store, api={"enabled": False}, scans={"enabled": False}) for folder in (first, second)
    ]
    said = tmp_path / "data" / "flows" / "status.json"
    with command(first / "log", "serve", str(files[0]), "--component", "collector"):
        wait_for(said.exists, 120)
        session = json.loads(said.read_text())["session"]
        with command(second / "log", "serve", str(files[1]), "--component", "collector"):
            wait_for(lambda: "another collector writes there" in (second / "log").read_text(), 120)
            assert json.loads(said.read_text())["session"] == session
