"""Routes of a pair: every shortest way, none that goes round."""

from __future__ import annotations

from datamodel.service.api_models import FabricLink
from flowprism.dashboard.fabric.pair_routes import routes, shared

LINKS = [
    FabricLink(a=a, b=b)
    for a, b in (
        ("leaf1", "spine1"), ("leaf1", "spine2"), ("leaf2", "spine1"), ("leaf2", "spine2"),
        ("leaf1", "10.0.0.1"), ("10.0.0.2", "leaf1"), ("leaf2", "10.0.0.3"), ("leaf9", "10.0.0.9"),
    )
]  # fmt: skip


def test_between_leaves_every_spine_is_a_way() -> None:
    """Two spines, two routes; leaves and ends are shared by both."""
    found = routes(LINKS, "10.0.0.1", "10.0.0.3")
    assert found == [
        ("10.0.0.1", "leaf1", "spine1", "leaf2", "10.0.0.3"),
        ("10.0.0.1", "leaf1", "spine2", "leaf2", "10.0.0.3"),
    ]
    assert [len(hop) for hop in shared(found)] == [1, 1, 2, 1, 1]


def test_under_one_leaf_there_is_one_way() -> None:
    """No spine is touched, whichever end of the cable the inventory names first."""
    assert routes(LINKS, "10.0.0.1", "10.0.0.2") == [("10.0.0.1", "leaf1", "10.0.0.2")]


def test_where_no_cable_leads_there_is_none() -> None:
    """Islands, unknown names and a pair of one end have no route."""
    assert routes(LINKS, "10.0.0.1", "10.0.0.9") == []
    assert routes(LINKS, "10.0.0.1", "nobody") == []
    assert routes(LINKS, "nobody", "10.0.0.1") == []
    assert routes(LINKS, "10.0.0.1", "10.0.0.1") == []
    assert shared([]) == []
