"""Ports that can export, counted by speed, and how many samples a second they give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError


class ExportingSwitches(StrEnum):
    """Which switches export what enters them."""

    LEAVES = "leaves"
    ALL = "all switches"


@dataclass(frozen=True, slots=True)
class FabricPorts:
    """Ports of a fabric, each counted once, by speed in Gb/s.

    Attributes:
        hosts: that NICs are plugged into.
        leaf_uplinks: of leaves, to other switches.
        others: of other switches.
    """

    hosts: Mapping[int, int]
    leaf_uplinks: Mapping[int, int]
    others: Mapping[int, int]

    @property
    def endpoints(self) -> int:
        """NICs."""
        return sum(self.hosts.values())

    def at(self, points: ExportingSwitches) -> Mapping[int, int]:
        """Exporting ports by speed."""
        total = Counter(self.hosts) + Counter(self.leaf_uplinks)
        return total + Counter(self.others) if points is ExportingSwitches.ALL else total


def leaf_names(inventory: Inventory) -> set[str]:
    """Names of the switches that endpoints are plugged into."""
    return {a.switch for host in inventory.hosts for endpoint in host.endpoints for a in endpoint.attachments}


def fabric_ports(inventory: Inventory) -> FabricPorts:
    """Count ports.

    Raises:
        InputError: no endpoint has a switch and a speed of 1 Gb/s or more.
    """
    leaves = leaf_names(inventory)
    hosts: Counter[int] = Counter()
    for endpoint in (endpoint for host in inventory.hosts for endpoint in host.endpoints):
        many = len(endpoint.attachments)
        if many and endpoint.speed_gbps and (gbps := _whole_gbps(endpoint.speed_gbps / many)) is not None:
            hosts[gbps] += many
    if not hosts:
        raise InputError("the inventory has no endpoint with a switch and a speed of 1 Gb/s or more")
    uplinks: Counter[int] = Counter()
    others: Counter[int] = Counter()
    for link in inventory.links:
        if (gbps := _whole_gbps(link.speed_gbps)) is None:
            continue
        for switch in (link.a, link.b):
            (uplinks if switch in leaves else others)[gbps] += 1
    return FabricPorts(dict(hosts), dict(uplinks), dict(others))


def _whole_gbps(speed_gbps: float | None) -> int | None:
    """A speed as export plans name it, in whole Gb/s; None where it is unknown or less than half of one."""
    return round(speed_gbps) or None if speed_gbps is not None else None


def samples_per_s(ports: Mapping[int, int], rates: Mapping[int, int], busy_ratio: float, packet_bytes: int) -> float:
    """Samples a second of ports, by speed in Gb/s, with N of 1 in N by speed."""
    packets = {speed: busy_ratio * speed * 1e9 / 8 / packet_bytes for speed in ports}
    return sum(number * packets[speed] / rates[speed] for speed, number in ports.items())
