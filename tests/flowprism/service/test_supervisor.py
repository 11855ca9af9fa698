"""`flowprism serve` as a user runs it: components come up, come back, end together, and say what is wrong."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from datamodel.errors import InputError
from flowprism.cli import main
from flowprism.demo.demo_player import play_demo
from flowprism.service.config.settings import Settings
from flowprism.service.config.settings_file import load_settings
from flowprism.service.supervisor import Supervisor, components_of
from storage.database.components import components as told
from storage.database.connection import Database
from storage.database.feed_statistics import feed_statistics
from storage.lake.lake_reader import read_lake
from tests.flowprism.service.alerts import told as tell
from tests.flowprism.service.alerts.listening import listening, silent
from tests.flowprism.service.running import command, components, free_port, settings, wait_for
from tests.flowprism.service.scans.feeding import fabric
from tests.flowprism.service.scans.feeding import parts as capture

MOST_STOP_S = 25.0  # less than the receiver of alerts may take; a few seconds where nothing else goes on


def refused(file: Path) -> str:
    """Why the service does not start with these settings; nothing has been started then."""
    with pytest.raises(InputError) as raised:
        Supervisor(load_settings(file, {}), ("collector", "api"), pytest.fail).run()
    return str(raised.value)


def test_which_parts_run() -> None:
    """Every component that is not switched off; a machine that neither collects nor scans has no lake to keep."""
    assert components_of(Settings()) == ("collector", "compactor", "scanner", "alerter", "api")
    off = {"enabled": False}
    assert components_of(Settings.model_validate({"collect": off, "scans": off})) == ("alerter", "api")


@pytest.mark.slow
def test_parts_come_back_and_end_together(tmp_path: Path) -> None:
    """A killed component is started again and counts that; SIGTERM ends all, and all that was sent is stored."""
    file = settings(tmp_path, scans={"enabled": False})
    what = load_settings(file, {})
    database = Database(what.store.database)
    with command(tmp_path / "log", "serve", str(file)) as service:
        wait_for(lambda: {"collector", "compactor", "alerter", "api"} <= set(components(service.pid)), 120)
        wait_for(
            lambda: any(
                component.kind == "collector" and "received_total" in component.figures for component in told(database)
            )
        )
        _killed(service.pid, "compactor")
        wait_for(lambda: any(p.kind == "compactor" and p.figures["restarts_total"] == 1 for p in told(database)), 120)
        sent = play_demo(
            fabric(), "127.0.0.1", int(what.collect.listen[0].rpartition(":")[2]), threading.Event(), iter("h")
        )
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
    assert sent.datagrams > 100
    stored = read_lake(Path(what.store.flow_lake))
    assert stored.records == len(capture()["h"][0].rows)
    counted = feed_statistics(database, 0, 1 << 62)
    assert {one.exporter for one in counted} == {f"127.0.0.1/{leaf}" for leaf in (1, 2, 3, 4)}
    assert sum(one.records for one in counted) == stored.records
    assert sum(one.lost for one in counted) == 0
    assert components(service.pid) == {}


@pytest.mark.slow
def test_a_killed_collector_loses_nothing(tmp_path: Path) -> None:
    """Killed by force twice while exporters send: the sockets are the service's, and what came meanwhile is in them."""
    file = settings(tmp_path, scans={"enabled": False}, api={"enabled": False})
    what = load_settings(file, {})
    port = int(what.collect.listen[0].rpartition(":")[2])
    with command(tmp_path / "log", "serve", "--component", "collector", str(file)) as service:
        wait_for(lambda: _figure(what, "received_total") is not None, 600)
        feed = threading.Thread(target=play_demo, args=(fabric(), "127.0.0.1", port, threading.Event(), iter("hhhhh")))
        feed.start()
        for _ in range(2):
            time.sleep(6)
            _killed(service.pid, "collector")
        feed.join()
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
    assert read_lake(Path(what.store.flow_lake)).records == 5 * len(capture()["h"][0].rows)
    counted = feed_statistics(Database(what.store.database), 0, 1 << 62)
    assert sum(one.lost for one in counted) == 0


@pytest.mark.slow
def test_the_end_waits_for_nobody(tmp_path: Path) -> None:
    """SIGTERM ends all components in seconds though an alert receiver hangs, a page listens and a feed goes on."""
    with listening(silent) as receiver:
        told_to = {"name": "hook", "kind": "webhook", "url": receiver.url}
        file = settings(tmp_path, alerts={"receivers": [told_to], "timeout_s": 30, "group_wait_s": 0})
        what = load_settings(file, {})
        tell.scanned(Database(what.store.database), what.alerts, "opened")
        port = int(what.collect.listen[0].rpartition(":")[2])
        with command(tmp_path / "log", "serve", str(file)) as service:
            receiver.wait(1, 120)
            page = urllib.request.urlopen(f"http://127.0.0.1:{what.api.port}/api/v1/stream")
            feed = threading.Thread(
                target=play_demo, args=(fabric(), "127.0.0.1", port, threading.Event(), iter("hhh"))
            )
            feed.start()
            wait_for(lambda: _figure(what, "durable_total"), 600)
            begun_s = time.monotonic()
            service.send_signal(signal.SIGTERM)
            assert service.wait(60) == 0
            assert time.monotonic() - begun_s < MOST_STOP_S
            page.close()
            feed.join()


@pytest.mark.slow
def test_the_api_answers_alone(tmp_path: Path) -> None:
    """`flowprism api` serves what other machines keep, and ends at SIGTERM."""
    file = settings(tmp_path)
    address = f"http://127.0.0.1:{load_settings(file, {}).api.port}/api/v1/components"
    with command(tmp_path / "log", "api", str(file)) as api:
        wait_for(lambda: _status(address) == 200)
        api.send_signal(signal.SIGTERM)
        assert api.wait(30) == 0


def test_a_dashboard_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    """The line names the port and the settings; no component was started."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = refused(settings(tmp_path, api={"port": port}))
    assert said == f"127.0.0.1:{port}: cannot listen: Address already in use (settings api.host and api.port)"


def test_a_feed_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    """The line names the port and the setting; no component was started."""
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", port))
        said = refused(settings(tmp_path, collect={"listen": [f"127.0.0.1:{port}"]}))
    assert said == f"127.0.0.1:{port}: cannot listen: Address already in use (settings collect.listen)"


def test_nobody_is_let_in_unasked(tmp_path: Path) -> None:
    """Off loopback without authentication nothing starts."""
    said = refused(settings(tmp_path, api={"host": "0.0.0.0", "port": 0}))  # noqa: S104
    assert said.startswith("api.host: 0.0.0.0 can be reached from other machines")


def test_settings_that_are_wrong_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `config check` says it."""
    file = tmp_path / "f.yaml"
    file.write_text("api: {prot: 1}\n")
    monkeypatch.setattr("sys.argv", ["flowprism", "serve", str(file)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (2, f"flowprism: {file}:1: api.prot: no such setting\n")


def _killed(service: int, component: str) -> None:
    """Kill a component by force, and wait until it has been started again."""
    before = components(service)[component]
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: components(service).get(component, before) != before)


def _figure(what: Settings, name: str) -> float | None:
    """What the collector says of itself; None where it says nothing yet."""
    told_of = (component.figures for component in told(Database(what.store.database)) if component.kind == "collector")
    return next((figures[name] for figures in told_of if name in figures), None)


def _status(address: str) -> int:
    try:
        with urllib.request.urlopen(address) as answer:  # noqa: S310 - our own
            return int(answer.status)
    except OSError:
        return 0
