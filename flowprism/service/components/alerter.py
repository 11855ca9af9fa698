"""The alerter: delivers what is in the outbox, and sends its own heartbeats."""

from __future__ import annotations

from flowprism.service.alerts import alerter
from flowprism.service.components.component_context import ComponentContext


def run(context: ComponentContext) -> None:
    """Deliver alerts until the component is to end.

    Raises:
        InputError: the database or a receiver cannot be used.
    """
    alerter.run(context.settings.alerts, context.settings.store.database, context.stop, context.deaths)
