"""`flowprism serve` as a user runs it: parts come up, come back, end together, and say what is wrong."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest

from flowprism.demo.replaying import play
from flowprism.service.settings import Settings
from flowprism.service.settings_file import load_settings
from flowprism.service.supervisor import parts_of
from storage.database.engine import Database
from storage.database.feeds import feed_statistics
from storage.database.parts import parts as told
from storage.reading import read
from tests.flowprism.service.running import COMMAND, command, free_port, parts, settings, wait_for
from tests.flowprism.service.scanning.feeding import fabric
from tests.flowprism.service.scanning.feeding import parts as capture


def refused(*arguments: str) -> str:
    """What a command that ends by itself with exit code 2 says on stderr."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    return done.stderr


def test_which_parts_run() -> None:
    """Every part that is not switched off; a machine that neither collects nor scans has no lake to keep."""
    assert parts_of(Settings()) == ("collector", "keeper", "scanner", "alerter", "api")
    off = {"enabled": False}
    assert parts_of(Settings.model_validate({"collect": off, "scans": off})) == ("alerter", "api")


@pytest.mark.slow
def test_parts_come_back_and_end_together(tmp_path: Path) -> None:
    """A part that is killed is started again and counts that; SIGTERM ends all, and all that was sent is stored."""
    file = settings(tmp_path, scans={"enabled": False})
    what = load_settings(file, {})
    database = Database(what.store.database)
    with command(tmp_path / "log", "serve", str(file)) as service:
        wait_for(lambda: {"collector", "keeper", "alerter", "api"} <= set(parts(service.pid)), 120)
        wait_for(lambda: any(part.kind == "collector" and "received_total" in part.figures for part in told(database)))
        before = parts(service.pid)
        os.kill(before["keeper"], signal.SIGKILL)
        wait_for(lambda: parts(service.pid).get("keeper", before["keeper"]) != before["keeper"])
        wait_for(lambda: any(p.kind == "keeper" and p.figures["restarts_total"] == 1 for p in told(database)), 120)
        sent = play(fabric(), "127.0.0.1", int(what.collect.listen[0].rpartition(":")[2]), threading.Event(), iter("h"))
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
    assert sent.datagrams > 100
    stored = read(Path(what.store.flow_lake))
    assert stored.records == len(capture()["h"][0].rows)
    counted = feed_statistics(database, 0, 1 << 62)
    assert {one.exporter for one in counted} == {f"127.0.0.1/{leaf}" for leaf in (1, 2, 3, 4)}
    assert sum(one.records for one in counted) == stored.records
    assert sum(one.lost for one in counted) == 0
    assert parts(service.pid) == {}


@pytest.mark.slow
def test_the_api_answers_alone(tmp_path: Path) -> None:
    """`flowprism api` serves what other machines keep, and ends at SIGTERM."""
    file = settings(tmp_path)
    address = f"http://127.0.0.1:{load_settings(file, {}).api.port}/api/v1/parts"
    with command(tmp_path / "log", "api", str(file)) as api:
        wait_for(lambda: _status(address) == 200)
        api.send_signal(signal.SIGTERM)
        assert api.wait(30) == 0


def test_a_dashboard_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    """The line names the port and the settings; no part was started."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = refused("serve", str(settings(tmp_path, api={"port": port})))
    expected = f"127.0.0.1:{port}: cannot listen: Address already in use (settings api.host and api.port)"
    assert said == f"flowprism: {expected}\n"


@pytest.mark.slow
def test_a_feed_port_that_is_taken_ends_the_service(tmp_path: Path) -> None:
    """The last line names the port and the setting; all parts are ended."""
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))
        said = refused("serve", str(settings(tmp_path, collect={"listen": [f"127.0.0.1:{port}"]})))
    expected = f"127.0.0.1:{port}: cannot listen: Address already in use (settings collect.listen)"
    assert said.splitlines()[-1] == f"flowprism: {expected}"


def test_nobody_is_let_in_unasked(tmp_path: Path) -> None:
    """Off loopback without authentication nothing starts."""
    said = refused("serve", str(settings(tmp_path, api={"host": "0.0.0.0", "port": 0})))  # noqa: S104
    assert said.startswith("flowprism: api.host: 0.0.0.0 can be reached from other machines")
    assert said.count("\n") == 1


def test_settings_that_are_wrong_are_one_line(tmp_path: Path) -> None:
    """As `config check` says it."""
    file = tmp_path / "f.yaml"
    file.write_text("api: {prot: 1}\n")
    assert refused("serve", str(file)) == f"flowprism: {file}:1: api.prot: no such setting\n"


def _status(address: str) -> int:
    try:
        with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own
            return int(answer.status)
    except OSError:
        return 0
