"""The inventory's own rules, below those of the file it comes from."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from pydantic import ValidationError

from datamodel.cluster.inventory import Attachment, Endpoint, Host, Inventory, JobLabel, Link, Switch


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "255.255.255.255", "1.0.0.9", "100.20.3.249", "FD00::0001", "::ffff:10.0.0.1", "fe80::1%eth0"],
)
def test_addresses_are_in_canonical_form(address: str) -> None:
    """However they were written."""
    assert Endpoint(address=address).address == str(ip_address(address))


@pytest.mark.parametrize(("text", "address"), [
    ("10.0.0.1%5001", "10.0.0.1%5001"), ("FD00::0001%05001", "fd00::1%5001"), ("FE80::1%eth0%7", "fe80::1%eth0%7"),
])  # fmt: skip
def test_an_address_may_name_its_network(text: str, address: str) -> None:
    """By number, behind the zone if it has one."""
    assert Endpoint(address=text).address == address


@pytest.mark.parametrize(
    "text",
    ["10.0.0.256", "10.0.0", "10.0.0.01", "10.0.0.1\n", " 10.0.0.1", "10.0.0.٣", "1.2.3.4.5", "10.0.0.1%eth0", ""],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Also what merely looks like one."""
    with pytest.raises(ValidationError):
        Endpoint(address=text)


@pytest.mark.parametrize("document", [
    {"services": [False]}, {"services": [167772160]}, {"hosts": [{"name": "h", "standby": 0}]},
    {"links": [{"a": "s", "b": "s", "a_port": True}]}, {"links": [{"a": "s", "b": "s", "speed_gbps": True}]},
    {"tenants": [{"name": "t", "hosts": [], "networks": [True]}]},
    {"jobs": [{"name": "j", "hosts": [], "start": 0}]}, {"jobs": [{"name": "j", "hosts": [], "id": True}]},
])  # fmt: skip
def test_a_value_of_another_kind_is_refused(document: dict[str, object]) -> None:
    """A number for a network, a time or a choice, and a choice for a number."""
    with pytest.raises(ValidationError, match=r"should be|valid boolean|valid string"):
        Inventory.model_validate({"switches": [{"name": "s"}], **document})


@pytest.mark.parametrize(("given", "kept"), [(4711, "4711"), ("a/b", "a/b"), (None, None)])
def test_a_jobs_id_is_text_or_a_number(given: object, kept: str | None) -> None:
    """Kept as text, and described so wherever an inventory is described."""
    assert JobLabel.model_validate({"name": "j", "hosts": [], "id": given}).id == kept
    for mode in ("validation", "serialization"):
        described = JobLabel.model_json_schema(mode=mode)["properties"]["id"]["anyOf"]
        assert {"type": "number"} in described


def test_an_endpoint_with_one_address_behind_two_switches_has_cables_of_its_own() -> None:
    """Each of its ports has an equal share of its speed; with an address behind each it is behind both by address."""
    two, others = ((Attachment(switch="a", port=n), Attachment(switch="b", port=n + 1)) for n in (5, 7))
    bonded = Endpoint(address="10.0.0.1", links=two, speed_gbps=400)
    planes = Endpoint(addresses=("10.0.0.2", "10.0.0.3"), links=others, speed_gbps=400)
    one = Endpoint(address="10.0.0.4", switch="a", port=9, speed_gbps=400)
    uplink = Link(a="a", a_port=1, b="b", b_port=1, speed_gbps=800)
    inventory = Inventory(
        hosts=(Host(name="h", endpoints=(bonded, planes, one)),), switches=(Switch(name="a"), Switch(name="b")),
        links=(uplink,),
    )  # fmt: skip
    assert inventory.bonded_endpoints() == (bonded,)
    assert inventory.cables() == (
        uplink,
        Link(a="10.0.0.1", b="a", b_port=5, speed_gbps=200),
        Link(a="10.0.0.1", b="b", b_port=6, speed_gbps=200),
    )


def test_an_endpoint_is_bonded_by_listed_switches_own_ports_and_a_known_speed() -> None:
    """A management NIC, two functions of one bond, a switch that is not listed, and one port given twice are not."""
    two = (Attachment(switch="a", port=5), Attachment(switch="b", port=6))
    unlisted = (Attachment(switch="a", port=7), Attachment(switch="c", port=7))
    other = (Attachment(switch="a", port=8), Attachment(switch="b", port=8))
    endpoints = (
        Endpoint(address="10.0.0.1", links=two, speed_gbps=400),
        Endpoint(address="10.0.0.2", links=two, speed_gbps=400),
        Endpoint(address="10.0.0.3", links=unlisted, speed_gbps=400),
        Endpoint(address="10.0.0.4", links=other),
        Endpoint(address="10.0.0.5", switch="a", port=9, links=(Attachment(switch="a", port=9),), speed_gbps=400),
    )
    switches = (Switch(name="a"), Switch(name="b"))
    inventory = Inventory(hosts=(Host(name="h", endpoints=endpoints),), switches=switches)
    assert inventory.bonded_endpoints() == ()
    assert inventory.cables() == ()
    assert len(endpoints[4].attachments) == 1
