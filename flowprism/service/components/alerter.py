"""The alerter: delivers what is in the outbox and the weekly report, and sends its own heartbeats."""

from __future__ import annotations

import threading

from flowprism.service.alerts import alerter
from flowprism.service.components.component_context import ComponentContext
from flowprism.service.reports.weekly_sender import run_weekly


def run(context: ComponentContext) -> None:
    """Deliver alerts and reports until the component is to end.

    Raises:
        InputError: the database or a receiver cannot be used.
    """
    if context.settings.alerts.weekly_report:
        threading.Thread(target=run_weekly, args=(context.settings, context.stop), daemon=True).start()
    alerter.run(context.settings.alerts, context.settings.store.database, context.stop, context.deaths)
