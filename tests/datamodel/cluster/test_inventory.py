"""The inventory's own rules, below those of the file it comes from."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from pydantic import ValidationError

from datamodel.cluster.inventory import Endpoint


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
