"""Which receivers an incident's alerts go to."""

from __future__ import annotations

from datamodel.service.incidents import Incident
from flowprism.analysis.scan_verdict import SEVERITIES
from flowprism.service.alerts.alert_settings import AlertSettings, Receiver, Route


def receivers_of(
    incident: Incident, label: str | None, tenant: str | None, settings: AlertSettings
) -> tuple[Receiver, ...]:
    """Find an incident's receivers, in the order of the settings, each once.

    An incident is routed by its worst severity, which never falls, so that notified receivers get the resolution.

    Args:
        incident: what to send.
        label: of its job, from the inventory.
        tenant: of its job.
        settings: receivers and routes.
    """
    if not settings.receivers:
        return ()
    routes = settings.routes or (Route(receivers=tuple(receiver.name for receiver in settings.receivers)),)
    named = {name for route in routes if _fits(route, incident, label, tenant) for name in route.receivers}
    return tuple(receiver for receiver in settings.receivers if receiver.name in named)


def _fits(route: Route, incident: Incident, label: str | None, tenant: str | None) -> bool:
    return (
        SEVERITIES.index(incident.worst_severity) >= SEVERITIES.index(route.at_least)
        and (not route.kinds or incident.kind in route.kinds)
        and (not route.tenants or tenant in route.tenants)
        and (not route.jobs or bool({incident.job, label} & set(route.jobs)))
    )
