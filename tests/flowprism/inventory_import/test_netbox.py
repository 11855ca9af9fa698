"""NetBox's lists."""

from __future__ import annotations

from itertools import permutations

from flowprism.inventory_import import netbox
from tests.flowprism.inventory_import import listings


def test_hosts_switches_and_cables() -> None:
    """Roles make hosts and switches; cables, traced through panels, make attachments and links."""
    objects = netbox.Objects()
    objects.take(netbox.items_of(listings.netbox()))
    found = netbox.found_in(objects)
    said = [host.model_dump(exclude_defaults=True) for host in found.hosts]
    assert said == [
        {
            "name": "gpu01.dc1.example",
            "endpoints": (
                {
                    "addresses": ("10.1.1.1",),
                    "gpu": 0,
                    "rail": 0,
                    "links": ({"switch": "leaf1", "port": 101},),
                    "speed_gbps": 400.0,
                },
                {"addresses": ("10.1.2.1",), "links": ({"switch": "leaf1", "port": 102},), "speed_gbps": 200.0},
            ),
        },
        {
            "name": "gpu02.dc1.example",
            "endpoints": ({"addresses": ("10.1.1.2",), "links": ({"switch": "leaf1"},), "speed_gbps": 400.0},),
        },
    ]
    assert [(switch.name, switch.role, switch.agent) for switch in found.switches] == [
        ("leaf1", "leaf", "10.255.0.1"),
        ("spine1", "spine", None),
    ]
    (link,) = found.links
    assert (link.a, link.a_port, link.b, link.b_port, link.speed_gbps) == ("leaf1", 149, "spine1", 201, 800.0)
    assert [(tenant.name, tenant.hosts) for tenant in found.tenants] == [("vision", ("gpu01.dc1.example",))]
    assert found.left_out == {
        netbox.OTHER_ROLES: 1,
        netbox.NO_NAME: 1,
        netbox.NOT_THERE: 1,
        netbox.TWICE: 1,
        netbox.NO_ADDRESS: 1,
        netbox.NO_IFINDEX: 1,
    }


def test_the_order_of_lists_does_not_matter() -> None:
    """Nor whether they come in one document or several."""
    expected = None
    for lists in permutations(listings.netbox().values()):
        objects = netbox.Objects()
        for part in lists:
            objects.take(netbox.items_of({"count": len(part), "next": None, "results": part[::-1]}))
        found = netbox.found_in(objects)
        expected = expected or found
        assert found == expected


def test_what_is_no_listing() -> None:
    """Other JSON is not taken for one."""
    assert not any(map(netbox.is_listing, ({}, [], [1], {"a": [{"id": 1}]}, {"jobs": [{"job_id": 1}]}, "text", None)))
