"""Interface indexes that follow from a port's name, as devices number them; not checked against a document.

EOS: Ethernet3 is 3, Ethernet3/1 is 3001. NX-OS: Ethernet1/1 is 0x1A000000, a port further 0x1000 more, a slot further
0x80000 more. SONiC: Ethernet0 is 1. Others number their interfaces as they come up, so nothing follows from a name.
"""

from __future__ import annotations

import re

from flowprism.exporter_config.model import Vendor

_PORT = re.compile(r"Ethernet(\d+)(?:/(\d+))?")
_NXOS_FIRST, _NXOS_SLOT, _NXOS_PORT = 0x1A000000, 0x80000, 0x1000
_EOS_LANES = 1000


def port_number(vendor: Vendor, name: str) -> int | None:
    """A port's interface index; None where it cannot be known."""
    found = _PORT.fullmatch(name)
    if found is None:
        return None
    first, second = int(found.group(1)), found.group(2)
    if vendor is Vendor.ARISTA_EOS:
        return first if second is None else first * _EOS_LANES + int(second)
    if vendor is Vendor.CISCO_NXOS and second is not None:
        return _NXOS_FIRST + (first - 1) * _NXOS_SLOT + (int(second) - 1) * _NXOS_PORT
    if vendor is Vendor.SONIC and second is None:
        return first + 1
    return None


def port_name(vendor: Vendor, number: int) -> str | None:
    """The port that has this interface index; None where it cannot be known."""
    if vendor is Vendor.ARISTA_EOS:
        port, lane = divmod(number, _EOS_LANES)
        return f"Ethernet{port}/{lane}" if port else f"Ethernet{number}"
    if vendor is Vendor.CISCO_NXOS and number >= _NXOS_FIRST:
        slot, rest = divmod(number - _NXOS_FIRST, _NXOS_SLOT)
        return f"Ethernet{slot + 1}/{rest // _NXOS_PORT + 1}"
    if vendor is Vendor.SONIC and number >= 1:
        return f"Ethernet{number - 1}"
    return None
