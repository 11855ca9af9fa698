"""Alerters killed again and again, before a receiver that fails now and then: nothing is lost, repeats are repeats."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from flowprism.service.alerts.alert_settings import AlertSettings
from storage.database.connection import Database
from storage.database.incidents.alerts import alerts
from tests.flowprism.service.alerts import told
from tests.flowprism.service.alerts.listening import OK, Answer, Request, Server, listening

KILLS = 12
INCIDENTS = 30
SEED = 1
PROGRAM = """
import sys, threading
from flowprism.service.alerts import alert_batches, alerter
from flowprism.service.alerts.alert_settings import AlertSettings
alerter._LEASE_S, alerter._RENEW_S, alerter._LOOK_S = 0.6, 0.2, 0.02
alert_batches._FIRST_WAIT_S, alert_batches._LONGEST_WAIT_S = 0.1, 0.5
alerter.run(AlertSettings.model_validate_json(sys.argv[2]), sys.argv[1], threading.Event())
"""
SETTINGS = '{"receivers": [{"name": "hook", "kind": "webhook", "url": "%s", "group": "job"}], "group_wait_s": 0.05, '
SETTINGS += '"timeout_s": 0.5, "most_per_minute": 100000}'


def slow(connection: socket.socket) -> None:
    """An acceptance that comes late, so that a kill may come before it."""
    time.sleep(0.2)
    connection.sendall(OK)


def closed(_: socket.socket) -> None:
    """No answer at all."""


def accepted(requests: list[Request]) -> list[Request]:
    """Those that were answered with 2xx, whether or not anybody was there to hear it."""
    return [one for one in requests if one.answer in {OK, slow}]


def play(database: Database, settings: AlertSettings, results: str, server: Server) -> None:
    """Scans that change incidents, while one alerter after the other is killed; the last one may finish.

    Every second one is killed when its first message has come, before it can take note of the answer.
    """
    chance = random.Random(SEED)  # noqa: S311 - a course of events, no secret
    changes = [(n, change) for n in range(INCIDENTS) for change in ("opened", "escalated", "resolved")]
    changes.sort(key=lambda one: (("opened", "escalated", "resolved").index(one[1]), chance.random()))
    each = -(-len(changes) // (KILLS + 1))
    for round_ in range(KILLS + 1):
        before = len(server.requests)
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, results, settings_text(settings)])
        for n, change in changes[round_ * each : (round_ + 1) * each]:
            told.scanned(database, settings, change, name=f"i{n}", job=f"j{n % 5}")
            time.sleep(0.01)
        if round_ == KILLS:
            finish(process, database)
            return
        if round_ % 2:
            server.wait(before + 1)
        else:
            time.sleep(chance.uniform(0.8, 2.0))
        process.send_signal(signal.SIGKILL)
        process.wait()


def settings_text(settings: AlertSettings) -> str:
    """Settings for another process; those of a test hold no secrets."""
    (receiver,) = settings.receivers
    url = receiver.url if isinstance(receiver.url, str) else receiver.url.get_secret_value()
    return SETTINGS % url


def finish(process: subprocess.Popen[bytes], database: Database) -> None:
    """Let an alerter deliver all that waits, then end it."""
    try:
        end_s = time.monotonic() + 60
        while any(one.state == "waiting" for one in alerts(database, most=10_000)):
            assert time.monotonic() < end_s
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_nothing_is_lost_and_repeats_carry_the_same_key(tmp_path: Path) -> None:
    """Ninety alerts, twelve kills, a receiver that fails four times in ten: each is accepted, in order, by one key."""
    database = told.database(tmp_path)
    results = database.engine.url.render_as_string(hide_password=False)
    chance = random.Random(SEED)  # noqa: S311 - as above
    kinds: tuple[Answer, ...] = (
        OK,
        OK,
        slow,
        slow,
        slow,
        slow,
        b"HTTP/1.1 503 Busy\r\n\r\n",
        b"nonsense\r\n",
        closed,
        closed,
    )
    with listening(*(chance.choice(kinds) for _ in range(2000))) as server:
        settings = AlertSettings.model_validate_json(SETTINGS % server.url)
        play(database, settings, results, server)
        requests = list(server.requests)
    kept = alerts(database, most=10_000)
    database.close()
    assert {one.state for one in kept} == {"sent"}
    assert len(kept) == 3 * INCIDENTS
    heard = [alert["id"] for request in accepted(requests) for alert in request.json["alerts"]]
    assert set(heard) == {one.alert.id for one in kept}
    bodies: dict[str, set[bytes]] = defaultdict(set)
    messages_of: dict[str, set[str]] = defaultdict(set)
    for request in requests:
        bodies[request.headers["idempotency-key"]].add(request.body)
        for alert in request.json["alerts"]:
            messages_of[alert["id"]].add(request.headers["idempotency-key"])
    assert max(map(len, bodies.values())) == 1
    assert max(map(len, messages_of.values())) == 1
    assert len(heard) > len(set(heard))  # a kill did come between an acceptance and its note
    for n in range(INCIDENTS):
        first = [name.split(".")[1] for name in dict.fromkeys(heard) if name.startswith(f"flowprism-i{n}.")]
        assert first == ["opened", "escalated", "resolved"]
