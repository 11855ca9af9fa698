"""Alerts as text: what is wrong, since when, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from datamodel.reports.eviction import EvictionAdvice, EvictionTime
from datamodel.reports.findings import Severity
from datamodel.service.alerts import Alert, AlertChange
from flowprism.analysis.scan_verdict import SEVERITIES
from flowprism.rendering.units import duration, utc

_SAID: dict[AlertChange, str] = {
    "opened": "new",
    "escalated": "worse",
    "relocated": "moved",
    "resolved": "resolved",
    "reopened": "back",
    "reminder": "still open",
}

_WHEN: dict[EvictionTime, str] = {"now": "now", "next_checkpoint": "at the next checkpoint", "never": "no"}


def worst(alerts: Sequence[Alert]) -> Severity | None:
    """The worst severity that is on; None where all are resolved."""
    on = [alert.incident.severity for alert in alerts if alert.status == "firing"]
    return max(on, key=SEVERITIES.index, default=None)


def title(alerts: Sequence[Alert]) -> str:
    """One line about a message: `critical: slow link in llama-70b`, `warning: 3 alerts in llama-70b`."""
    severity, first = worst(alerts), alerts[0]
    about = f"{len(alerts)} alerts" if len(alerts) > 1 else first.incident.kind.replace("_", " ")
    places = {alert.label or alert.incident.job for alert in alerts} - {None}
    where = "" if not places else f" in {next(iter(places))}" if len(places) == 1 else f" in {len(places)} jobs"
    return f"{severity or 'resolved'}: {about}{where}"


def body(alerts: Sequence[Alert]) -> str:
    """A paragraph an alert, those that are on first, the worst of them at the top."""
    ordered = sorted(alerts, key=lambda alert: (alert.status == "resolved", -SEVERITIES.index(alert.incident.severity)))
    return "\n\n".join(map(_paragraph, ordered))


def _paragraph(alert: Alert) -> str:
    incident = alert.incident
    place = alert.label or incident.job
    lines = [f"[{_SAID[alert.change]}] {incident.summary}" + (f" ({place})" if place else "")]
    if alert.status == "resolved":
        until_ns = incident.resolved_ns or alert.time_ns
        lines.append(f"from {_moment(incident.start_ns)}, for {duration((until_ns - incident.start_ns) / 1e9)}")
    else:
        cost = f", iterations take {incident.slowdown_ratio - 1:.0%} longer" if incident.slowdown_ratio > 1 else ""
        lines.append(f"{incident.severity}, since {_moment(incident.start_ns)}{cost}, {incident.confidence:.0%} sure")
        lines.append(f"what to do: {incident.action}")
        lines += [f"hosts: {alert.hosts.summary}"] if alert.hosts is not None else []
        lines += [f"profiles: {alert.profiles.summary}"] if alert.profiles is not None else []
        lines += [_eviction(alert.eviction)] if alert.eviction else []
    return "\n".join([*lines, *([alert.link] if alert.link else [])])


def _eviction(advice: EvictionAdvice) -> str:
    """One line; commands and their undo are on the incident's page and in the message's JSON."""
    standby = f"; {advice.standby} can take its place" if advice.standby else ""
    ends = f" (its planned end is in {duration(advice.ends_in_s)})" if advice.ends_in_s is not None else ""
    return (
        f"evict {advice.host}? {_WHEN[advice.when]}: it costs {duration(advice.cost_s)}, worth it if the job runs for "
        f"longer than {duration(advice.break_even_s)}{ends}{standby}"
    )


def _moment(time_ns: int) -> str:
    return f"{utc(time_ns).partition('.')[0]} UTC"
