"""Delivery to one receiver: a message is claimed, sent, and only then marked as sent, so that a crash repeats it."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from datamodel.service.alerts import GIVEN_UP_NS, Alert, AlertMessage, OutgoingAlert
from flowprism.service.alerts.alert_batches import compute_retry_delay_s, grouping, muting, next_message
from flowprism.service.alerts.alert_settings import AlertmanagerReceiver, AlertSettings, Receiver
from flowprism.service.alerts.http_post import NotDeliveredError
from flowprism.service.alerts.outbox import alert
from flowprism.service.alerts.routing import receivers_of
from flowprism.service.alerts.send_limit import SendLimit
from flowprism.service.alerts.senders import message_name, send, send_state
from storage.database.connection import Database
from storage.database.incidents.alerts import (
    alerts,
    claim_alerts,
    mark_failed,
    mark_sent,
    notes_about,
    open_incidents,
    resolved_alerts,
    suppress,
    waiting_alerts,
)
from storage.database.incidents.host_answers import host_answers
from storage.database.incidents.incident_profiles import incident_profiles

_LOG = logging.getLogger(__name__)
# An Alertmanager that was restarted has forgotten what was resolved, and does not notify: Prometheus's own time.
_RESOLVED_AGAIN_NS = 15 * 60 * 1_000_000_000
_NAME = "alerts: %s: %s"


class ReceiverDelivery:
    """Delivers what waits for one receiver."""

    def __init__(self, database: Database, receiver: Receiver, settings: AlertSettings) -> None:
        """Begin with nothing under way; nothing is sent yet."""
        self.receiver = receiver
        self.failures = 0
        self.problem = ""
        self._database = database
        self._settings = settings
        self._pace = SendLimit(settings.most_per_minute)
        self._state_due_ns = 0

    def deliver(self, now_ns: int) -> bool:
        """Send at most one message; whether one was tried.

        Raises:
            StorageError: the database cannot be reached; what was sent and could not be marked is sent again.
        """
        waiting = self._select_sendable(waiting_alerts(self._database, self.receiver.name), now_ns)
        chosen = next_message(waiting, grouping(self.receiver), now_ns)
        if not chosen or not self._pace.allows(time.monotonic()):
            return False
        names = [one.id for one in chosen]
        message = AlertMessage(
            id=message_name(names),
            receiver=self.receiver.name,
            alerts=self._with_reasons([one.alert for one in chosen]),
        )
        # Should we die now, it is tried again when any answer to this attempt has long come.
        claim_alerts(self._database, names, message.id, now_ns + round(2e9 * self._settings.timeout_s))
        problem = self._send(message, now_ns)
        if problem is None:
            mark_sent(self._database, names, time.time_ns())
            self._well()
        else:
            self._failed(chosen, problem, time.time_ns())
        return True

    def tell_state(self, now_ns: int) -> None:
        """Send an Alertmanager what is open or recently resolved, repeatedly; others get changes only.

        Raises:
            StorageError: the database cannot be reached.
        """
        if not isinstance(self.receiver, AlertmanagerReceiver) or now_ns < self._state_due_ns:
            return
        self._state_due_ns = now_ns + round(self._settings.resend_every_s * 1e9)
        over = resolved_alerts(self._database, self.receiver.name, now_ns - _RESOLVED_AGAIN_NS)
        opened = [
            alert(incident, "reminder", now_ns, label, tenant, self._settings)
            for incident, label, tenant in open_incidents(self._database)
            if self.receiver in receivers_of(incident, label, tenant, self._settings)
        ]
        notes = notes_about(self._database, {one.incident.id for one in opened})
        on = [one for one in opened if muting(notes[one.incident.id], now_ns) is None]
        try:
            send_state(self.receiver, self._with_reasons([*(one.alert for one in over), *on]), now_ns, self._settings)
        except NotDeliveredError as error:
            self._ill(str(error))
        else:
            self._well()

    def _with_reasons(self, some: Sequence[Alert]) -> tuple[Alert, ...]:
        """Alerts with what metrics of their hosts and profiles say by now; they were made before."""
        names = {one.incident.id for one in some}
        hosts, read = host_answers(self._database, names), incident_profiles(self._database, names)
        profiles = {name: one.answer for name, one in read.items()}
        return tuple(
            one.model_copy(update={"hosts": hosts.get(one.incident.id), "profiles": profiles.get(one.incident.id)})
            for one in some
        )

    def _send(self, message: AlertMessage, now_ns: int) -> NotDeliveredError | None:
        """What went wrong; None where the receiver has accepted it."""
        try:
            send(self.receiver, message, now_ns, self._settings)
        except NotDeliveredError as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever a notifier trips over must not end the others
            return NotDeliveredError(f"{type(error).__name__} while it was sent")
        return None

    def _failed(self, chosen: Sequence[OutgoingAlert], problem: NotDeliveredError, now_ns: int) -> None:
        names = [one.id for one in chosen]
        self._ill(str(problem))
        if now_ns - min(one.created_ns for one in chosen) >= self._settings.give_up_after_s * 1e9:
            mark_failed(self._database, names, str(problem), GIVEN_UP_NS)
            _LOG.error(_NAME, self.receiver.name, f"given up {len(names)} alerts: {problem}")
            return
        wait_ns = round(compute_retry_delay_s(chosen[0].attempts + 1, problem.wait_s) * 1e9)
        mark_failed(self._database, names, str(problem), now_ns + wait_ns)

    def _select_sendable(self, waiting: Sequence[OutgoingAlert], now_ns: int) -> list[OutgoingAlert]:
        """Select what waits, without muted incidents and resolutions of unsent ones."""
        notes = notes_about(self._database, {one.alert.incident.id for one in waiting})
        kept: list[OutgoingAlert] = []
        for one in waiting:
            mute = muting(notes[one.alert.incident.id], now_ns)
            if one.attempts or (one.alert.status == "firing" and mute is None) or self._began(one):
                kept.append(one)
            else:
                reason = f"muted by {mute.author}: {mute.text}" if mute else "its start was not sent"
                suppress(self._database, [one.id], reason)
        return kept

    def _began(self, end: OutgoingAlert) -> bool:
        """Check whether a resolution must be sent: unless all before it was suppressed."""
        if end.alert.status == "firing":
            return False
        own = [one for one in alerts(self._database, end.alert.incident.id, most=1000) if one.id != end.id]
        before = [one for one in own if one.receiver == end.receiver and one.created_ns <= end.created_ns]
        return not before or any(one.state != "withheld" for one in before)

    def _ill(self, problem: str) -> None:
        self.failures += 1
        if problem != self.problem:
            _LOG.warning(_NAME, self.receiver.name, problem)
        self.problem = problem

    def _well(self) -> None:
        if self.problem:
            _LOG.warning(_NAME, self.receiver.name, "delivered again")
        self.problem = ""
