"""The alerter: delivers what is in the outbox; it tells how it goes by itself."""

from __future__ import annotations

from flowprism.service.alerts import alerter
from flowprism.service.components.component_context import ComponentContext


def run(birth: ComponentContext) -> None:
    """Deliver alerts until the component is to end.

    Raises:
        InputError: the database or a receiver cannot be used.
    """
    alerter.run(birth.settings.alerts, birth.settings.store.database, birth.stop, birth.deaths)
