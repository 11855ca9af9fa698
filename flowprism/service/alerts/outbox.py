"""What a scan did to incidents -> alerts to be sent; and reminders of what goes on. Plain functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from datamodel.reports.eviction import EvictionAdvice
from datamodel.reports.report import JobReport
from datamodel.service.alerts import Alert, AlertChange, OutgoingAlert
from datamodel.service.incidents import Incident, IncidentChange
from flowprism.service.alerts.alert_settings import AlertmanagerReceiver, AlertSettings
from flowprism.service.alerts.routing import receivers_of

# Of an incident and the tenant of its job: whether evicting the host at fault is worth it.
Advise = Callable[[Incident, str | None], EvictionAdvice | None]


def no_advice(_: Incident, __: str | None) -> None:
    """Advise nothing: on hangs, whose hosts are not slow."""


# Of several changes that one scan made of an incident, the first of these is sent; its document says the rest.
_SENT_CHANGES: tuple[AlertChange, ...] = ("resolved", "reopened", "opened", "escalated", "relocated")


def alerts_of(
    incidents: Sequence[Incident],
    changes: Sequence[IncidentChange],
    jobs: Sequence[JobReport],
    now_ns: int,
    settings: AlertSettings,
    advise: Advise = no_advice,
) -> list[OutgoingAlert]:
    """The alerts that follow from one scan, each with an id that the same scan gives again.

    Incidents that are only suspected, were dismissed or have eased are not sent.

    Args:
        incidents: as the scan left them.
        changes: what it changed.
        jobs: as it saw them; labels and tenants are theirs.
        now_ns: when the scan was made, UTC.
        settings: receivers, and how long the first of a group waits for the others.
        advise: on each incident that is sent.
    """
    kinds: dict[tuple[str, str], int] = {(change.incident, change.kind): change.time_ns for change in changes}
    by_job = {job.id: job for job in jobs}
    found: list[OutgoingAlert] = []
    for incident in incidents:
        change = next((kind for kind in _SENT_CHANGES if (incident.id, kind) in kinds), None)
        if change is None or incident.state == "suspected":
            continue
        job = by_job.get(incident.job or "")
        label, tenant = (job.label, job.tenant) if job else (None, None)
        if not receivers_of(incident, label, tenant, settings):  # advice reads all jobs: only where an alert is sent
            continue
        sent = alert(incident, change, kinds[incident.id, change], label, tenant, settings)
        sent = sent.model_copy(update={"eviction": advise(incident, tenant)})
        found += _addressed(sent, now_ns, now_ns + round(settings.group_wait_s * 1e9), settings)
    return found


def reminders(
    opened: Sequence[tuple[Incident, str | None, str | None]],
    told_ns: Mapping[tuple[str, str], int],
    quiet: Collection[str],
    now_ns: int,
    settings: AlertSettings,
) -> list[OutgoingAlert]:
    """Build reminders, and first alerts for receivers without one: configured since, or after a mute.

    An Alertmanager reminds people by itself.

    Args:
        opened: open incidents with labels and tenants of their jobs.
        told_ns: (incident, receiver) -> when that was last sent.
        quiet: muted or acknowledged incidents.
        now_ns: UTC.
        settings: receivers, and the repeat interval.
    """
    every_ns = round(settings.repeat_after_s * 1e9)
    found: list[OutgoingAlert] = []
    for incident, label, tenant in opened:
        if incident.id in quiet:
            continue
        reminder = alert(incident, "reminder", now_ns // every_ns * every_ns, label, tenant, settings)
        found += (
            one
            for one in _addressed(reminder, now_ns, now_ns, settings, managers=False)
            if now_ns - told_ns.get((incident.id, one.receiver), now_ns - every_ns) >= every_ns
        )
    return found


def build_resolutions(
    unsent: Sequence[tuple[str, Incident, str | None, str | None]], now_ns: int, settings: AlertSettings
) -> list[OutgoingAlert]:
    """Build resolutions that receivers lack: those of manual scans. Ids are a scan's own.

    Args:
        unsent: receiver, incident, label and tenant.
        now_ns: UTC.
        settings: the current receivers.
    """
    known = {receiver.name for receiver in settings.receivers}
    return [
        OutgoingAlert(
            name, now_ns, now_ns, alert(incident, "resolved", incident.resolved_ns or now_ns, label, tenant, settings)
        )
        for name, incident, label, tenant in unsent
        if name in known
    ]


def alert(
    incident: Incident,
    change: AlertChange,
    time_ns: int,
    label: str | None,
    tenant: str | None,
    settings: AlertSettings,
) -> Alert:
    """Build the alert of one change of an incident."""
    key = f"flowprism-{incident.id}"
    return Alert(
        id=f"{key}.{change}.{time_ns}",
        key=key,
        change=change,
        status="resolved" if incident.state == "resolved" else "firing",
        time_ns=time_ns,
        label=label,
        tenant=tenant,
        link=settings.dashboard_url and f"{settings.dashboard_url}/incidents/{incident.id}",
        incident=incident,
    )


def _addressed(
    one: Alert, now_ns: int, due_ns: int, settings: AlertSettings, *, managers: bool = True
) -> Iterator[OutgoingAlert]:
    for receiver in receivers_of(one.incident, one.label, one.tenant, settings):
        if managers or not isinstance(receiver, AlertmanagerReceiver):
            yield OutgoingAlert(receiver.name, now_ns, due_ns, one)
