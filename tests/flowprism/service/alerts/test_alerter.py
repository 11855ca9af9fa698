"""The part that delivers: one replica at a time, through crashes of its own and of the database."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from datamodel.service.alerts import OutgoingAlert
from datamodel.service.result_rows import IncidentNote
from flowprism.service.alerts import alerter
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.alerter import Alerter, run
from storage.database.access import take_lease
from storage.database.components import components
from storage.database.connection import Database
from storage.database.incidents.alerts import alerts, waiting_alerts
from storage.database.incidents.incident_records import add_note
from tests.flowprism.service.alerts import told
from tests.flowprism.service.alerts.listening import OK, Server, listening, silent
from tests.storage.conftest import Cluster, cluster

__all__ = ["cluster"]  # a fixture

HOUR_NS = 3600 * told.SECOND_NS
PROGRAM = """
import sys, threading
from flowprism.service.alerts import alerter
from flowprism.service.alerts.alert_settings import AlertSettings
alerter._LEASE_S, alerter._RENEW_S, alerter._LOOK_S = 1.0, 0.2, 0.05
alerter.run(AlertSettings.model_validate_json(sys.argv[2]), sys.argv[1], threading.Event())
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long in a test."""
    monkeypatch.setattr(alerter, "_LEASE_S", 1.0)
    monkeypatch.setattr(alerter, "_RENEW_S", 0.2)
    monkeypatch.setattr(alerter, "_LOOK_S", 0.05)


@pytest.fixture
def kept_in(tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    database = told.database(tmp_path)
    yield database
    database.close()


def address(database: Database) -> str:
    """Where others find it."""
    return database.engine.url.render_as_string(hide_password=False)


@contextlib.contextmanager
def running(settings: AlertSettings, results: str) -> Iterator[threading.Thread]:
    """An alerter in a thread, told to stop at the end."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(settings, results, stop))
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(20)
        assert not thread.is_alive()


def all_sent(database: Database, seconds: float = 60.0) -> list[OutgoingAlert]:
    """All alerts, when none waits any more."""
    end_s = time.monotonic() + seconds
    while any(one.state == "waiting" for one in alerts(database)):
        assert time.monotonic() < end_s, alerts(database)
        time.sleep(0.02)
    return alerts(database)


def test_what_scans_leave_is_delivered(kept_in: Database) -> None:
    """What waits already, and what comes while it runs; stopping ends it soon, and the lease is free."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        told.scanned(kept_in, settings, "opened")
        with running(settings, address(kept_in)):
            server.wait(1)
            told.scanned(kept_in, settings, "resolved")
            server.wait(2)
            all_sent(kept_in)
    assert take_lease(kept_in, "alerter", "another", time.time_ns(), time.time_ns())
    assert [(part.kind, part.healthy, part.figures["leads"]) for part in components(kept_in)] == [
        ("alerter", True, 1.0)
    ]


def test_one_of_two_replicas_delivers(kept_in: Database) -> None:
    """Twenty alerts, two replicas: twenty messages."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url, group="incident"), most_per_minute=1000)
        with running(settings, address(kept_in)), running(settings, address(kept_in)):
            for n in range(20):
                told.scanned(kept_in, settings, "opened", name=f"i{n}")
            server.wait(20)
            all_sent(kept_in)
            time.sleep(0.3)
        assert len(server.requests) == 20


def test_a_receiver_that_hangs_holds_up_no_other(kept_in: Database) -> None:
    """The other one is told at once, and stopping does not wait for it for long."""
    with listening(silent) as dumb, listening() as server:
        settings = told.settings(told.webhook("dumb", dumb.url), told.webhook("hook", server.url), timeout_s=50)
        told.scanned(kept_in, settings, "opened")
        with running(settings, address(kept_in)):
            dumb.wait(1)
            server.wait(1, seconds=40)


def child(settings: AlertSettings, results: str) -> subprocess.Popen[bytes]:
    """An alerter in a process of its own; settings of a test hold no secrets."""
    text = settings.model_dump_json(exclude={"receivers": {0: {"url"}}})
    said = text.replace('"receivers":[{', f'"receivers":[{{"url":"{url_of(settings)}",')
    return subprocess.Popen([sys.executable, "-c", PROGRAM, results, said])


def url_of(settings: AlertSettings) -> str:
    """Of the only receiver, a webhook."""
    (receiver,) = settings.receivers
    return receiver.url if isinstance(receiver.url, str) else receiver.url.get_secret_value()


def killed_while_sending(settings: AlertSettings, results: str, server: Server) -> None:
    """Start an alerter, and kill it when its message has come and it has no answer yet."""
    process = child(settings, results)
    try:
        server.wait(1)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_a_kill_between_sending_and_marking_repeats_the_same_message(kept_in: Database) -> None:
    """By `kill -9`: the next process sends it again, with the same key and body, and it is marked once accepted."""
    with listening(silent, OK) as server:
        settings = told.settings(told.webhook(url=server.url, group="all"), timeout_s=1)
        told.scanned(kept_in, settings, "opened")
        told.scanned(kept_in, settings, "opened", name="i2")
        killed_while_sending(settings, address(kept_in), server)
        assert len(waiting_alerts(kept_in, "hook")) == 2
        told.scanned(kept_in, settings, "opened", name="i3")
        with running(settings, address(kept_in)):
            first, again, new = server.wait(3)
            sent = all_sent(kept_in)
    assert (first.headers["idempotency-key"], first.body) == (again.headers["idempotency-key"], again.body)
    assert [alert["key"] for alert in new.json["alerts"]] == ["flowprism-i3"]
    assert {one.alert.incident.id: one.attempts for one in sent} == {"i1": 2, "i2": 2, "i3": 1}


def test_a_database_that_comes_back_is_used_again(cluster: Cluster) -> None:
    """PostgreSQL killed and started again: what was kept is delivered."""
    results = cluster.new()
    database = Database(results)
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        told.scanned(database, settings, "opened")
        with running(settings, results):
            all_sent(database)
            cluster.stop()
            time.sleep(0.5)
            cluster.start()
            told.scanned(database, settings, "resolved")
            server.wait(2)
            all_sent(database)
    database.close()


def test_people_are_reminded_until_somebody_looks_after_it(kept_in: Database) -> None:
    """Every so often, not of what is acknowledged, and again when that gets worse."""
    settings = told.settings(told.webhook(), repeat_after_s=3600)
    opened_ns = told.scanned(kept_in, settings, "opened")
    one = Alerter(settings, kept_in)
    for hours in (0, 1, 1):
        one.remind(opened_ns + hours * HOUR_NS)
    assert sorted(a.alert.change for a in alerts(kept_in)) == ["opened", "reminder"]
    add_note(kept_in, IncidentNote("i1", opened_ns + HOUR_NS, "ada", "acknowledged"))
    one.remind(opened_ns + 3 * HOUR_NS)
    assert len(alerts(kept_in)) == 2
    told.scanned(kept_in, settings, "escalated", now_ns=opened_ns + 4 * HOUR_NS)
    one.remind(opened_ns + 6 * HOUR_NS)
    assert sorted(a.alert.change for a in alerts(kept_in)) == ["escalated", "opened", "reminder", "reminder"]


def test_a_receiver_that_was_added_hears_of_what_is_open(kept_in: Database) -> None:
    """With the first reminder, though nothing changed since."""
    opened_ns = told.scanned(kept_in, AlertSettings(), "opened")
    assert alerts(kept_in) == []
    Alerter(told.settings(told.webhook()), kept_in).remind(opened_ns + 1)
    assert [one.alert.change for one in alerts(kept_in)] == ["reminder"]


def test_the_end_that_a_scan_by_hand_found_is_told(kept_in: Database) -> None:
    """Such a scan knows no receivers; whoever was told of the beginning hears of the end all the same, once."""
    settings = told.settings(told.webhook())
    told.scanned(kept_in, settings, "opened")
    ended_ns = told.scanned(kept_in, AlertSettings(), "resolved")
    one = Alerter(settings, kept_in)
    for _ in range(2):
        one.remind(ended_ns + 1)
    (end, _) = alerts(kept_in)
    assert (end.id, end.alert.status) == (f"flowprism-i1.resolved.{ended_ns}@hook", "resolved")


def test_alerts_of_a_receiver_that_is_gone_are_given_up_and_shown(kept_in: Database) -> None:
    """Not at once: a receiver may be missing by mistake."""
    settings = told.settings(told.webhook(), give_up_after_s=3600)
    created_ns = told.scanned(kept_in, settings, "opened")
    one = Alerter(told.settings(told.webhook("other")), kept_in)
    one.give_up_orphans(created_ns + HOUR_NS)
    assert [a.state for a in alerts(kept_in)] == ["waiting"]
    one.give_up_orphans(created_ns + 24 * HOUR_NS)
    assert [(a.state, a.problem) for a in alerts(kept_in)] == [
        ("given_up", "there is no receiver of this name any more")
    ]
    part = one.part(created_ns + 25 * HOUR_NS)
    assert (part.detail, part.healthy, part.figures["given_up"]) == ("hook: 1 given up", True, 1.0)


def test_the_part_says_how_it_goes(kept_in: Database) -> None:
    """What waits, for how long, and that this is too long."""
    settings = told.settings(told.webhook())
    one = Alerter(settings, kept_in)
    created_ns = told.scanned(kept_in, settings, "opened")
    fine = one.part(created_ns + 60 * told.SECOND_NS)
    assert (fine.kind, fine.healthy, fine.detail) == ("alerter", True, "")
    assert (fine.figures["waiting"], fine.figures["oldest_waiting_s"]) == (1.0, 60.0)
    late = one.part(created_ns + 600 * told.SECOND_NS)
    assert (late.healthy, late.detail) == (False, "hook: alerts have waited for 600 s")
