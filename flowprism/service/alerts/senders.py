"""One message to one receiver, of whatever kind; errors are reported without the receiver's secrets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import quote, unquote

from pydantic import SecretStr

from datamodel.service.alerts import Alert, AlertMessage
from flowprism.service.alerts.alert_settings import AlertmanagerReceiver, AlertSettings, AppriseReceiver, Receiver
from flowprism.service.alerts.alertmanager import send_to_alertmanager
from flowprism.service.alerts.apprise_sender import check_notifiable, notify, notify_text
from flowprism.service.alerts.http_post import NotDeliveredError
from flowprism.service.alerts.webhook import send_to_webhook

_SHORTEST_SECRET = 4


def check_receivers(settings: AlertSettings) -> None:
    """See whether messages could be sent at all, without sending any.

    Raises:
        InputError: a URL names no service that Apprise knows.
    """
    for receiver in settings.receivers:
        if isinstance(receiver, AppriseReceiver):
            check_notifiable(receiver)


def message_name(names: Sequence[str]) -> str:
    """The id of a message: that of its alerts, in whatever order, and of nothing else."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:32]


def send(receiver: Receiver, message: AlertMessage, now_ns: int, settings: AlertSettings) -> None:
    """Send a message; that it returns means that the receiver has accepted it.

    Raises:
        NotDeliveredError: it has not, as far as we know.
    """
    with _without_secrets(receiver):
        if isinstance(receiver, AlertmanagerReceiver):
            send_to_alertmanager(receiver, message.alerts, now_ns, settings.resend_every_s, settings.timeout_s)
        elif isinstance(receiver, AppriseReceiver):
            notify(receiver, message.alerts)
        else:
            send_to_webhook(receiver, message, now_ns, settings.timeout_s)


def send_text(receiver: AppriseReceiver, title: str, body: str) -> None:
    """Send a message that is about no incident.

    Raises:
        NotDeliveredError: the receiver has not accepted it, as far as we know.
    """
    with _without_secrets(receiver):
        notify_text(receiver, title, body)


def send_state(receiver: AlertmanagerReceiver, alerts: Sequence[Alert], now_ns: int, settings: AlertSettings) -> None:
    """Send the current state to an Alertmanager, changed or not.

    Raises:
        NotDeliveredError: it has not accepted that, as far as we know.
    """
    with _without_secrets(receiver):
        send_to_alertmanager(receiver, alerts, now_ns, settings.resend_every_s, settings.timeout_s)


@contextmanager
def _without_secrets(receiver: Receiver) -> Iterator[None]:
    try:
        yield
    except NotDeliveredError as error:
        raise NotDeliveredError(redacted(str(error), receiver), error.wait_s) from None


def redacted(text: str, receiver: Receiver) -> str:
    """A text without a receiver's secrets, or the parts of its address that may be some."""
    said = (value for _, value in receiver if isinstance(value, SecretStr))
    parts = {part for secret in said for part in _forms(secret.get_secret_value())}
    for part in sorted(parts, key=lambda one: (-len(one), one)):
        if len(part) >= _SHORTEST_SECRET:
            text = text.replace(part, "***")
    return text


def _forms(secret: str) -> set[str]:
    rest = secret.partition("://")[2] or secret
    return {form for part in [rest, *re.split(r"[/?&=@:#, ]", rest)] for form in (part, unquote(part), quote(part))}
