"""Slack, mail, PagerDuty and the rest, by Apprise; what it says went wrong is kept."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from urllib.parse import quote

import apprise

from datamodel.errors import InputError
from datamodel.service.alerts import Alert
from flowprism.service.alerts import alert_text
from flowprism.service.alerts.alert_settings import AppriseReceiver
from flowprism.service.alerts.http_post import NotDeliveredError

# Apprise writes the reason of a failure only to its log; the context goes with it into its threads.
_COMPLAINTS: ContextVar[list[str] | None] = ContextVar("complaints", default=None)
_TYPES = {
    None: apprise.NotifyType.SUCCESS,
    "info": apprise.NotifyType.INFO,
    "warning": apprise.NotifyType.WARNING,
    "critical": apprise.NotifyType.FAILURE,
}


class _Listening(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        said = _COMPLAINTS.get()
        if said is not None:
            said.append(record.getMessage())


_APPRISE = logging.getLogger("apprise")
_APPRISE.propagate = False  # its lines may name URLs, and these hold secrets
_APPRISE.addHandler(_Listening(logging.WARNING))


def check_notifiable(receiver: AppriseReceiver) -> None:
    """See whether Apprise knows the service that a URL names.

    Raises:
        InputError: it does not, or parts of the URL are missing.
    """
    _service(receiver, "key")


def notify(receiver: AppriseReceiver, alerts: Sequence[Alert]) -> None:
    """Send a message about some alerts.

    Raises:
        NotDeliveredError: the service did not accept it.
    """
    kind = _TYPES[alert_text.worst(alerts)]
    _notify(receiver, alerts[0].key, alert_text.title(alerts), alert_text.body(alerts), kind)


def notify_text(receiver: AppriseReceiver, title: str, body: str) -> None:
    """Send a message that is about no incident.

    Raises:
        NotDeliveredError: the service did not accept it.
    """
    _notify(receiver, "report", title, body, apprise.NotifyType.INFO)


def _notify(receiver: AppriseReceiver, key: str, title: str, body: str, kind: apprise.NotifyType) -> None:
    notifier = apprise.Apprise(asset=apprise.AppriseAsset(app_id="flowprism", app_desc="flowprism"))
    notifier.add(_service(receiver, key))
    said: list[str] = []
    _COMPLAINTS.set(said)
    accepted = notifier.notify(title=title, body=body, notify_type=kind, body_format=apprise.NotifyFormat.TEXT)
    if not accepted:
        raise NotDeliveredError(" ".join(" ".join(said).split()) or "the service did not accept it")


def _service(receiver: AppriseReceiver, key: str) -> apprise.NotifyBase:
    url = receiver.url.get_secret_value().replace("{key}", quote(key, safe=""))
    service = apprise.Apprise.instantiate(url)
    if service is None:
        raise InputError(f"alerts.receivers: {receiver.name}: no URL of a service that Apprise knows")
    return service
