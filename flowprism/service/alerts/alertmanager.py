"""Incidents as alerts of a Prometheus Alertmanager, by its API v2.

An alert there is known by its labels, so these hold only what stays the same for as long as an incident lives; of
several severities the worst. It ends at `endsAt`; an open one gets an end that lies some rounds ahead, and is sent
again every round, as Prometheus does it.
https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from datamodel.service.alerts import Alert
from flowprism.service.alerts.alert_settings import AlertmanagerReceiver
from flowprism.service.alerts.http_post import post

_ROUNDS = 4  # that may fail before Alertmanager takes an open incident for resolved


def send_to_alertmanager(
    receiver: AlertmanagerReceiver, alerts: Iterable[Alert], now_ns: int, round_s: float, timeout_s: float
) -> None:
    """Send the state of incidents to an Alertmanager; of several alerts of one incident the last counts.

    Args:
        receiver: where it is.
        alerts: in order of time.
        now_ns: UTC.
        round_s: how often this is repeated for what is open.
        timeout_s: for all of it.

    Raises:
        NotDeliveredError: it was not accepted.
    """
    last = {alert.key: alert for alert in alerts}
    if not last:
        return
    body = json.dumps([posted(alert, now_ns, round_s) for _, alert in sorted(last.items())]).encode()
    headers = {"Content-Type": "application/json"}
    if receiver.authorization is not None:
        headers["Authorization"] = receiver.authorization.get_secret_value()
    post(f"{receiver.url}/api/v2/alerts", body, headers, timeout_s)


def posted(alert: Alert, now_ns: int, round_s: float) -> dict[str, object]:
    """One `postableAlert`."""
    incident = alert.incident
    # Clocks differ: what begins ahead of now would be refused for its end, what ends ahead of now would still fire.
    start_ns, end_ns = min(incident.start_ns, now_ns), now_ns + round(_ROUNDS * round_s * 1e9)
    if alert.status == "resolved":
        end_ns = max(min(incident.resolved_ns or now_ns, now_ns), start_ns)
    labels = {
        "alertname": "Flowprism" + "".join(word.capitalize() for word in incident.kind.split("_")),
        "incident": incident.id,
        "kind": incident.kind,
        "severity": incident.worst_severity,
        "training_job": alert.label or incident.job or "",
        "tenant": alert.tenant or "",
    }
    annotations = {
        "summary": incident.summary,
        "description": incident.action,
        "subject": f"{incident.subject.type} {' - '.join(incident.subject.ids)}",
        "slowdown_ratio": f"{incident.slowdown_ratio:.4g}",
        "confidence": f"{incident.confidence:.4g}",
        "severity_now": incident.severity,
    }
    if alert.hosts is not None:
        annotations["hosts"] = alert.hosts.summary
    if alert.profiles is not None:
        annotations["profiles"] = alert.profiles.summary
    return {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": annotations,
        "startsAt": _time(start_ns),
        "endsAt": _time(end_ns),
        **({"generatorURL": alert.link} if alert.link else {}),
    }


def _time(time_ns: int) -> str:
    """RFC 3339, to the microsecond, rounded down."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns // 1000:06d}Z"
