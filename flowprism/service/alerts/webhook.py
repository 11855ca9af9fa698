"""A webhook's message: JSON, a key that repetitions share, and a signature of sender and time."""

from __future__ import annotations

import hashlib
import hmac

from datamodel.service.alerts import AlertMessage
from flowprism.service.alerts.alert_settings import WebhookReceiver
from flowprism.service.alerts.http_post import post


def send_to_webhook(receiver: WebhookReceiver, message: AlertMessage, now_ns: int, timeout_s: float) -> None:
    """POST a message; repeated, its body and its key are the same, byte by byte, and its signature is of now.

    Raises:
        NotDeliveredError: it was not accepted.
    """
    body = message.model_dump_json(by_alias=True).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": message.id}
    if receiver.secret is not None:
        headers["Flowprism-Signature"] = signature(receiver.secret.get_secret_value(), body, now_ns)
    if receiver.authorization is not None:
        headers["Authorization"] = receiver.authorization.get_secret_value()
    post(receiver.url.get_secret_value(), body, headers, timeout_s)


def signature(secret: str, body: bytes, now_ns: int) -> str:
    """`t=SECONDS,v1=HEX`: HMAC-SHA256 under the secret of the seconds, a full stop and the body.

    The time is signed too, so that a receiver can refuse what was recorded and is played again.
    """
    seconds = str(now_ns // 1_000_000_000)
    digest = hmac.new(secret.encode(), seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"
