"""Sends the week's repeat offenders, once a week to each receiver, whichever replica does it.

The replica that sends it takes a short lease on the week and the receiver. Once it was accepted the lease outlasts the
week: no other replica gets it, nor the same one after a restart.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field

import structlog

from datamodel.durations import DAY_NS, HOUR_NS, MINUTE_NS
from datamodel.errors import FlowprismError
from flowprism.service.alerts.alert_settings import AppriseReceiver
from flowprism.service.alerts.http_post import NotDeliveredError
from flowprism.service.alerts.senders import send_text
from flowprism.service.config.settings import Settings
from flowprism.service.queries.fabric.weekly_report import WEEK_NS, report_text, report_title, weekly_report
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.access import take_lease
from storage.database.connection import Database

# Mondays, 6:00 UTC: 1970 began on a Thursday.
_FIRST_NS = 4 * DAY_NS + 6 * HOUR_NS
_LOOK_S = 60.0
# A report is made and sent in far less, so a replica that ended meanwhile keeps the others from it for no longer.
# Each attempt reads the patterns of a month: a receiver that is away is not tried at every look.
_RETRY_NS = 10 * MINUTE_NS
_VIEWER = Viewer("weekly report", "viewer", None)
_LOG = structlog.get_logger(__name__)


@dataclass(slots=True)
class WeeklySender:
    """One replica's.

    Attributes:
        settings: of the service.
        database: the results.
        sent: reports that were accepted.
    """

    settings: Settings
    database: Database
    sent: int = 0
    _holder: str = field(default_factory=lambda: secrets.token_hex(8))

    def tick(self, now_ns: int) -> None:
        """Send what is due; what was not accepted is tried again after ten minutes.

        Raises:
            FlowprismError: the database cannot be reached, or the inventory not be read.
        """
        week = (now_ns - _FIRST_NS) // WEEK_NS
        for receiver in self.settings.alerts.receivers:
            if isinstance(receiver, AppriseReceiver) and receiver.name in self.settings.alerts.weekly_report:
                self._send(receiver, f"weekly report {week} {receiver.name}", now_ns)

    def _send(self, receiver: AppriseReceiver, lease: str, now_ns: int) -> None:
        holder = f"{self._holder} {now_ns}"
        if not take_lease(self.database, lease, holder, now_ns, now_ns + _RETRY_NS):
            return
        try:
            report = weekly_report(Stores(self.database, settings=self.settings), _VIEWER, now_ns)
            if report.of:  # where nothing could be compared there is nothing to say
                send_text(receiver, report_title(report), report_text(report))
                self.sent += 1
        except (NotDeliveredError, FlowprismError) as error:
            _LOG.warning("the weekly report waits", receiver=receiver.name, reason=str(error))
        else:
            take_lease(self.database, lease, holder, now_ns, now_ns + 2 * WEEK_NS)


def run_weekly(settings: Settings, stop: threading.Event) -> None:
    """Send reports until stopped; what fails is tried again."""
    database = Database(settings.store.database)
    sender, problem = WeeklySender(settings, database), ""
    try:
        while not stop.wait(_LOOK_S):
            try:
                sender.tick(time.time_ns())
                problem = ""
            except FlowprismError as error:
                if problem != str(error):
                    _LOG.warning("weekly reports wait", reason=str(error))
                problem = str(error)
    finally:
        database.close()
