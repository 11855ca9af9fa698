"""Where the endpoints of a job stand, kept at hand between its pages."""

from __future__ import annotations

from datamodel.reports.layout import Groups
from flowprism.rendering.endpoint_order import EndpointOrder, placed
from flowprism.service.stores import Stores


def places(stores: Stores, endpoints: tuple[str, ...], groups: Groups) -> EndpointOrder:
    """Every one of some endpoints, in the order of all pictures."""
    return stores.at_hand.once("places", (endpoints, groups), lambda: placed(endpoints, groups))
