"""The part of the service that delivers alerts: one replica at a time, a thread for each receiver."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time

from datamodel.durations import DAY_NS
from datamodel.errors import StorageError
from datamodel.service.alerts import GIVEN_UP_NS
from datamodel.service.api_models import ComponentStatus
from flowprism.service.alerts.alert_batches import acknowledged, muting
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.delivery import ReceiverDelivery
from flowprism.service.alerts.outbox import build_resolutions, reminders
from flowprism.service.alerts.senders import check_receivers
from storage.database.access import release_lease, take_lease
from storage.database.components import save_component
from storage.database.connection import Database
from storage.database.incidents.alerts import (
    add_alerts,
    alert_tallies,
    forget_alerts,
    get_last_sent,
    last_worsened,
    list_unsent_resolutions,
    mark_failed,
    notes_about,
    open_incidents,
    waiting_alerts,
)

_LOG = logging.getLogger(__name__)
_LEASE = "alerter"
_LEASE_S, _RENEW_S, _LOOK_S = 15.0, 5.0, 0.5
_DELIVER_S, _REMIND_S, _FORGET_S = 5.0, 30.0, 3600.0
_KEPT_NS, _ENDS_NS = 90 * DAY_NS, 7 * DAY_NS
_LEAVE_S = 3.0  # that messages under way have to come to their end; what has not is sent again, with the same key
_LATE_S = 300.0  # an alert that has waited for so long makes the part unhealthy


class Alerter:
    """One replica; while another one has the lease it only waits."""

    def __init__(self, settings: AlertSettings, database: Database, restarts: int = 0) -> None:
        """Take note of the settings; nothing is sent yet.

        Args:
            settings: receivers and routes.
            database: the results, the outbox in them.
            restarts: how often this part has died before.

        Raises:
            InputError: a receiver could not be sent anything.
        """
        check_receivers(settings)
        self._settings = settings
        self._database = database
        self._restarts = restarts
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._leads_until_s = 0.0
        self._problem = ""
        self._started_ns = time.time_ns()
        self._couriers = [ReceiverDelivery(database, receiver, settings) for receiver in settings.receivers]
        self._due_s = {"renew": 0.0, "deliver": 0.0, "remind": 0.0, "forget": 0.0}

    def run(self, stop: threading.Event) -> None:
        """Deliver until stopped; deliveries under way may finish."""
        threads = [threading.Thread(target=self._serve, args=(one, stop), daemon=True) for one in self._couriers]
        for thread in threads:
            thread.start()
        while not stop.wait(_LOOK_S):
            self.look_after()
        deadline_s = time.monotonic() + _LEAVE_S
        for thread in threads:
            thread.join(max(deadline_s - time.monotonic(), 0.0))
        if self._leads:
            release_lease(self._database, _LEASE, self._holder)

    def look_after(self) -> None:
        """Keep the lease, say how it goes, remind people, forget what is old: whatever of it is due."""
        try:
            if self._is_due("renew", _RENEW_S):
                self._renew()
            if self._is_due("deliver", _DELIVER_S):
                save_component(self._database, self.part(time.time_ns()))
            if self._leads and self._is_due("remind", _REMIND_S):
                self.remind(time.time_ns())
                self.give_up_orphans(time.time_ns())
            if self._leads and self._is_due("forget", _FORGET_S):
                forget_alerts(self._database, time.time_ns() - _KEPT_NS)
        except StorageError as error:
            self._complain(str(error))

    def remind(self, now_ns: int) -> None:
        """Add what no scan did to the outbox: reminders, never sent alerts, missing resolutions.

        Raises:
            StorageError: the database cannot be reached.
        """
        opened = open_incidents(self._database)
        names = {incident.id for incident, _, _ in opened}
        notes, worsened = notes_about(self._database, names), last_worsened(self._database, names)
        quiet = {
            name
            for name in names
            if muting(notes[name], now_ns) is not None or acknowledged(notes[name], worsened.get(name, 0))
        }
        again = reminders(opened, get_last_sent(self._database), quiet, now_ns, self._settings)
        unsent = list_unsent_resolutions(self._database, now_ns - _ENDS_NS)
        add_alerts(self._database, [*again, *build_resolutions(unsent, now_ns, self._settings)])

    def give_up_orphans(self, now_ns: int) -> None:
        """Give up what has long waited for receivers that the settings do not name any more.

        Raises:
            StorageError: the database cannot be reached.
        """
        served = {receiver.name for receiver in self._settings.receivers}
        old_ns = now_ns - round(self._settings.give_up_after_s * 1e9)
        for name in {tally.receiver for tally in alert_tallies(self._database) if tally.waiting} - served:
            old = [one.id for one in waiting_alerts(self._database, name) if one.created_ns <= old_ns]
            mark_failed(self._database, old, "there is no receiver of this name any more", GIVEN_UP_NS)

    def part(self, now_ns: int) -> ComponentStatus:
        """How it goes.

        Raises:
            StorageError: the database cannot be reached.
        """
        tallies = {tally.receiver: tally for tally in alert_tallies(self._database)}
        waits_s = {
            name: (now_ns - tally.oldest_ns) / 1e9 for name, tally in tallies.items() if tally.oldest_ns is not None
        }
        ill = {one.receiver.name: one.problem for one in self._couriers if one.problem}
        late = sorted(name for name, wait_s in waits_s.items() if wait_s > _LATE_S)
        problems = [f"{name}: {problem}" for name, problem in sorted(ill.items())]
        problems += [f"{name}: alerts have waited for {waits_s[name]:.0f} s" for name in late if name not in ill]
        problems += [f"{name}: {tally.given_up} given up" for name, tally in tallies.items() if tally.given_up]
        figures = {
            "leads": float(self._leads),
            "receivers": float(len(self._couriers)),
            "waiting": float(sum(tally.waiting for tally in tallies.values())),
            "oldest_waiting_s": max(waits_s.values(), default=0.0),
            "sent": float(sum(tally.sent for tally in tallies.values())),
            "given_up": float(sum(tally.given_up for tally in tallies.values())),
            "withheld": float(sum(tally.withheld for tally in tallies.values())),
            "failures": float(sum(one.failures for one in self._couriers)),
            "restarts_total": float(self._restarts),
        }
        return ComponentStatus(
            name=f"alerter {self._holder.partition(':')[0]}",
            kind="alerter",
            started_ns=self._started_ns,
            seen_ns=now_ns,
            healthy=not (ill or late),
            detail="; ".join(problems),
            figures=figures,
        )

    @property
    def _leads(self) -> bool:
        return time.monotonic() < self._leads_until_s

    def _renew(self) -> None:
        now_s, now_ns = time.monotonic(), time.time_ns()
        led = self._leads
        taken = take_lease(self._database, _LEASE, self._holder, now_ns, now_ns + round(_LEASE_S * 1e9))
        self._leads_until_s = now_s + _LEASE_S if taken else 0.0
        self._problem = ""
        if led != taken:
            _LOG.info("alerts: %s", "delivering" if taken else "another replica delivers")

    def _complain(self, problem: str) -> None:
        """Say once, not at every look, that the database cannot be used."""
        if problem != self._problem:
            _LOG.warning("alerts: %s", problem)
        self._problem = problem

    def _is_due(self, what: str, every_s: float) -> bool:
        now_s = time.monotonic()
        if now_s < self._due_s[what]:
            return False
        self._due_s[what] = now_s + every_s
        return True

    def _serve(self, courier: ReceiverDelivery, stop: threading.Event) -> None:
        """Deliver to one receiver, however long it takes to answer."""
        while not stop.is_set():
            tried = False
            if self._leads:
                try:
                    tried = courier.deliver(time.time_ns())
                    courier.tell_state(time.time_ns())
                except StorageError as error:
                    self._complain(str(error))
            if not tried:
                stop.wait(_LOOK_S)


def run(settings: AlertSettings, results: str, stop: threading.Event, restarts: int = 0) -> None:
    """Deliver alerts until stopped.

    Args:
        settings: receivers and routes.
        results: address of the results database.
        stop: set it to end; a message that is under way has a moment to come to its end.
        restarts: how often this part has died before.

    Raises:
        InputError: the database cannot be used, or a receiver's settings cannot.
    """
    database = Database(results)
    try:
        Alerter(settings, database, restarts).run(stop)
    finally:
        database.close()
