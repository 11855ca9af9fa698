"""The real service and collector where what they stand on is wrong: database, folder, disk, memory, descriptors."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from storage.database.connection import Database
from tests.flowprism.collector.fake import datagram, records_of
from tests.flowprism.collector.running import Collector, sender
from tests.flowprism.service.access.asking import add_user, bearer
from tests.flowprism.service.running import command, components, processor_s, settings, wait_for
from tests.flowprism.test_collect import COMMAND
from tests.storage.lake.test_full_disk import fill

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


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four mebibytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4096k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_collector_outlives_a_full_disk(disk: Path) -> None:
    """Its status cannot be written either; when there is room again all that was received is stored once."""
    with Collector(disk / "lake") as collector, sender() as sock:
        collector.until(lambda: bool(collector.status()["workers"][0]["is_decoding"]))  # type: ignore[index]
        filler, port = fill(disk), collector.port()
        for number in range(500):
            sock.sendto(datagram(number), ("127.0.0.1", port))
        end_s = time.monotonic() + 5
        while time.monotonic() < end_s:
            collector.assert_alive()
            time.sleep(0.2)
        assert collector.kept() == []
        filler.unlink()
        collector.until(lambda: collector.totals()["durable"] == 500)
        collector.stop()
    assert collector.kept() == [1000 * number for number in range(500)]


@pytest.mark.parametrize("arguments", [("collect", "--listen", "127.0.0.1:0", "--out"), ("serve",)])
def test_a_read_only_disk_is_one_line(disk: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Exit code 2, and the folder is named."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    what = disk / "lake" if arguments[0] == "collect" else settings(tmp_path, store={"folder": str(disk / "lake")})
    ended = subprocess.run([*COMMAND, *arguments, str(what)], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert str(disk) in ended.stderr


def test_a_decoder_without_memory_costs_nothing(tmp_path: Path) -> None:
    """It dies of its limit, and its successor, which has none, decodes all that was received."""
    with Collector(tmp_path, options={"commit_every_s": 60.0}) as collector, sender() as sock:
        collector.until(lambda: bool(collector.status()["workers"][0]["is_decoding"]))  # type: ignore[index]
        (decoder,) = collector.children("decoder_process")
        used = int(Path(f"/proc/{decoder}/statm").read_text().split()[0]) * resource.getpagesize()
        resource.prlimit(decoder, resource.RLIMIT_AS, (used + (1 << 20), used + (1 << 20)))
        for number in range(400):
            sock.sendto(datagram(number, 500), ("127.0.0.1", collector.port()))
        collector.until(lambda: int(collector.status()["workers"][0]["decoder_deaths"]) >= 1)  # type: ignore[index]
        collector.until(lambda: bool(collector.status()["workers"][0]["is_decoding"]))  # type: ignore[index]
        collector.stop()
    assert collector.kept() == [record for number in range(400) for record in records_of(number, 500)]
    assert collector.totals()["set_aside"] == 0


def test_sessions_leave_descriptors_for_the_rest(tmp_path: Path) -> None:
    """A receiver with 256 descriptors and 400 TCP sessions: those too many are refused and counted, UDP goes on."""
    with Collector(tmp_path, ("127.0.0.1:0", "tcp:127.0.0.1:0")) as collector, sender() as sock:
        assert collector.process is not None
        resource.prlimit(collector.process.pid, resource.RLIMIT_NOFILE, (256, 256))
        (before,) = collector.children("receiver_process")
        os.kill(before, signal.SIGKILL)
        collector.until(lambda: collector.children("receiver_process") not in ([], [before]))
        attackers = [socket.create_connection(("127.0.0.1", collector.port(1))) for _ in range(400)]

        def sessions() -> dict[str, int]:
            status = collector.status()
            assert status is not None
            return dict(status["workers"][0]["sessions"])

        collector.until(lambda: sessions()["sessions"] + sessions()["refused"] == 400)
        assert sessions()["open"] == 256 - 64
        (receiver,) = collector.children("receiver_process")
        begun_s = processor_s(receiver)
        sock.sendto(datagram(1), ("127.0.0.1", collector.port()))
        time.sleep(2)
        assert processor_s(receiver) - begun_s < 0.5
        for attacker in attackers:
            attacker.close()
        collector.stop()
    assert collector.kept() == [1000]
