"""`flowprism alert`: receivers are tried before they are needed, and the outbox can be looked into."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flowprism import cli
from flowprism.service.config.settings_file import load_settings
from storage.database.connection import Database
from storage.database.incidents.alerts import mark_failed, waiting_alerts
from tests.flowprism.service.alerts import told
from tests.flowprism.service.alerts.listening import listening

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`run(...)` runs `flowprism alert ...`, or another command, and gives exit code, and what is said."""

    def command(*arguments: str | Path, of: str = "alert") -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["flowprism", of, *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            cli.main()
        said = capsys.readouterr()
        return int(exited.value.code or 0), said.out + said.err

    return command


def settings_file(folder: Path, *receivers: str) -> Path:
    """Settings of the service with webhooks `name=url`."""
    lines = [f"    - {{name: {one.split('=')[0]}, kind: webhook, url: '{one.split('=')[1]}'}}" for one in receivers]
    path = folder / "flowprism.yaml"
    path.write_text("\n".join([f"store: {{folder: {folder}}}", "alerts:", "  receivers:", *lines]))
    return path


def test_a_test_reaches_every_receiver(run: Run, tmp_path: Path) -> None:
    """Its beginning and its end, under one key, and both say what it is."""
    with listening() as one, listening() as two:
        file = settings_file(tmp_path, f"one={one.url}", f"two={two.url}")
        assert run("test", file) == (0, "one: accepted\ntwo: accepted\n")
        for server in (one, two):
            alerts = [request.json["alerts"][0] for request in server.wait(2)]
            assert [alert["status"] for alert in alerts] == ["firing", "resolved"]
            assert len({alert["key"] for alert in alerts}) == 1
            assert all("test" in alert["incident"]["summary"] for alert in alerts)


def test_a_test_goes_to_whom_one_names(run: Run, tmp_path: Path) -> None:
    """And to nobody else."""
    with listening() as one, listening() as two:
        file = settings_file(tmp_path, f"one={one.url}", f"two={two.url}")
        assert run("test", file, "--to", "two") == (0, "two: accepted\n")
        assert one.requests == []


def test_a_receiver_that_refuses_is_told_of(run: Run, tmp_path: Path) -> None:
    """With its answer, and in the exit code; the others are tried all the same."""
    with listening(b"HTTP/1.1 403 Forbidden\r\n\r\nwrong key") as one, listening() as two:
        file = settings_file(tmp_path, f"one={one.url}", f"two={two.url}")
        assert run("test", file) == (1, "one: opened: 403 Forbidden: wrong key\ntwo: accepted\n")


def test_what_cannot_be_tried_is_told(run: Run, tmp_path: Path) -> None:
    """A receiver that is none, and settings without any."""
    file = settings_file(tmp_path, "one=http://127.0.0.1:9/")
    assert run("test", file, "--to", "six") == (2, f"flowprism: {file}: alerts.receivers: there is no six\n")
    assert run("test") == (2, "flowprism: settings: alerts.receivers: there is no receiver\n")


def test_the_outbox_is_listed(run: Run, tmp_path: Path) -> None:
    """The newest first, with what became of each and why."""
    file = settings_file(tmp_path, "hook=http://127.0.0.1:9/")
    settings = load_settings(file, {})
    database = Database(settings.store.database)
    for name in ("i1", "i2"):
        told.scanned(database, settings.alerts, "opened", name=name)
    (first, _) = waiting_alerts(database, "hook")
    mark_failed(database, [first.id], "503 Busy", time.time_ns())
    database.close()
    code, out = run("list", file)
    lines = [line.split("  ")[1:] for line in out.splitlines()]
    assert (code, lines) == (0, [["hook", "i2", "opened", "waiting"], ["hook", "i1", "opened", "waiting: 503 Busy"]])
    assert len(run("list", file, "--incident", "i1")[1].splitlines()) == 1
    assert len(run("list", file, "--most", "1")[1].splitlines()) == 1


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # of Apprise, which loads its services here
def test_a_url_of_no_service_is_found_by_checking_settings(run: Run, tmp_path: Path) -> None:
    """Before the service starts, and without its secrets."""
    file = tmp_path / "flowprism.yaml"
    file.write_text("alerts: {receivers: [{name: chat, kind: apprise, url: 'nosuch://t0ken'}]}")
    said = "flowprism: alerts.receivers: chat: no URL of a service that Apprise knows\n"
    assert run("check", file, of="config") == (2, said)
