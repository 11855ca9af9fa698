"""Alerts from the command line: a test that goes to the receivers themselves, and what stands in the outbox."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from datamodel.errors import InputError
from datamodel.reports.findings import Subject
from datamodel.service.alerts import Alert, AlertMessage, OutgoingAlert
from datamodel.service.incidents import Incident
from flowprism.rendering.units import utc
from flowprism.service.alerts.alert_settings import AlertSettings, Receiver
from flowprism.service.alerts.http_post import NotDeliveredError
from flowprism.service.alerts.outbox import alert
from flowprism.service.alerts.senders import check_receivers, message_name, send
from flowprism.service.config.settings_file import load_settings
from storage.database.connection import Database
from storage.database.incidents.alerts import alerts


def try_receivers(file: Path | None, names: Sequence[str]) -> int:
    """Send each receiver the beginning and the end of an incident that says it is none; the exit code.

    Raises:
        InputError: settings cannot be used, there is no receiver, or none of a name.
    """
    settings = load_settings(file, os.environ).alerts
    check_receivers(settings)
    known = {receiver.name: receiver for receiver in settings.receivers}
    unknown = [name for name in names if name not in known]
    if unknown or not known:
        raise InputError(f"{file or 'settings'}: alerts.receivers: there is no {unknown[0] if unknown else 'receiver'}")
    tests = list(_test_alerts(settings))
    problems = [_tried(known[name], tests, settings) for name in names or known]
    return int(any(problems))


def print_alerts(file: Path | None, incident: str | None, most: int) -> None:
    """Print the newest alerts, a line each.

    Raises:
        InputError: settings or database cannot be used.
        StorageError: the database cannot be reached.
    """
    database = Database(load_settings(file, os.environ).store.database)
    try:
        for one in alerts(database, incident, most=most):
            typer.echo(_line(one))
    finally:
        database.close()


def _tried(receiver: Receiver, tests: Sequence[Alert], settings: AlertSettings) -> bool:
    """Send to one receiver and say how it went; whether it did not accept everything."""
    for one in tests:
        message = AlertMessage(id=message_name([one.id]), receiver=receiver.name, alerts=(one,))
        try:
            send(receiver, message, time.time_ns(), settings)
        except NotDeliveredError as error:
            typer.echo(f"{receiver.name}: {one.change}: {error}")
            return True
    typer.echo(f"{receiver.name}: accepted")
    return False


def _test_alerts(settings: AlertSettings) -> Iterator[Alert]:
    """Build alerts of a fictitious incident, opened and resolved at once, so that receivers keep no open one."""
    now_ns = time.time_ns()
    incident = Incident(
        id=f"test-{secrets.token_hex(4)}",
        job=None,
        kind="feed",
        state="open",
        severity="info",
        worst_severity="info",
        subject=Subject(type="job", ids=("test",)),
        start_ns=now_ns,
        opened_ns=now_ns,
        seen_ns=now_ns,
        slowdown_ratio=1.0,
        worst_slowdown_ratio=1.0,
        confidence=1.0,
        summary="this is a test of flowprism's alerts; nothing is wrong",
        action="nothing",
    )
    yield alert(incident, "opened", now_ns, None, None, settings)
    over = incident.model_copy(update={"state": "resolved", "resolved_ns": now_ns})
    yield alert(over, "resolved", now_ns, None, None, settings)


def _line(one: OutgoingAlert) -> str:
    tries = f" after {one.attempts} tries" if one.attempts > 1 else ""
    state = one.state.replace("_", " ") + tries + (f": {one.problem}" if one.problem else "")
    return f"{utc(one.created_ns)}  {one.receiver}  {one.alert.incident.id}  {one.alert.change}  {state}"
