"""NetBox's devices, interfaces, cables and IP addresses, as its REST API lists them (`/api/dcim/...`, `/api/ipam/...`).

What NetBox has no field for may stand in custom fields: `ifindex` of a switch's interface, which is what exporters
show; `gpu` and `rail` of a host's. A device's role says whether it is a host or a switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datamodel.cluster.inventory import Attachment, Endpoint, Host, Link, Switch, Tenant
from flowprism.inventory_import.listing import InventoryListing

SWITCH_WORDS = ("switch", "leaf", "spine", "tor", "router", "fabric", "core", "aggregation")
HOST_WORDS = ("server", "compute", "gpu", "host", "node", "hypervisor", "worker", "dgx", "hgx")
GONE = frozenset({"offline", "planned", "inventory", "decommissioning"})
OTHER_ROLES = "devices that are neither hosts nor switches by their role"
NOT_THERE = "devices that are not in use by their status"
NO_NAME = "devices without a name"
NO_ADDRESS = "hosts' interfaces without an IP address"
NO_IFINDEX = "switch ports without a custom field `ifindex`"
TWICE = "IP addresses that stand twice"
_SPEED = re.compile(r"(\d+(?:\.\d+)?)g(?:base|fc)")

Item = Mapping[str, Any]


@dataclass(slots=True)
class Objects:
    """Objects by kind and id, from however many lists."""

    devices: dict[int, Item] = field(default_factory=dict)
    interfaces: dict[int, Item] = field(default_factory=dict)
    cables: dict[int, Item] = field(default_factory=dict)
    addresses: dict[int, Item] = field(default_factory=dict)

    def take(self, items: Iterable[Item]) -> None:
        """Sort objects into their kinds, by the fields that only one kind has."""
        for item in items:
            kind = _kind(item)
            if kind is not None:
                kept: dict[int, Item] = getattr(self, kind)
                kept[int(item["id"])] = item


def is_listing(document: object) -> bool:
    """Whether a JSON document is a list of such objects, or an answer of the API that holds one."""
    return bool(items_of(document))


def items_of(document: object) -> list[Item]:
    """The objects of a document; none where it is no listing. A document may hold several lists by name."""
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list)]
    else:
        lists = [document] if isinstance(document, list) else []
    items = [item for part in lists for item in part]
    return items if all(isinstance(item, dict) and _kind(item) for item in items) else []


def _kind(item: Item) -> str | None:
    if not isinstance(item.get("id"), int):
        return None
    if "a_terminations" in item:
        return "cables"
    if "assigned_object_id" in item and "address" in item:
        return "addresses"
    if "device" in item and "name" in item:
        return "interfaces"
    return "devices" if "device_type" in item else None


def found_in(objects: Objects) -> InventoryListing:
    """Hosts, switches, links and tenants."""
    found = InventoryListing()
    roles = _roles(objects, found)
    peers = _peers(objects)
    addresses = _addresses(objects, found)
    ports: dict[int, list[Item]] = {}
    for _, interface in sorted(objects.interfaces.items()):
        ports.setdefault(_id(interface.get("device")), []).append(interface)
    for number, role in roles.items():
        device = objects.devices[number]
        if role == "host":
            endpoints = _endpoints(ports.get(number, ()), addresses, peers, objects, roles, found)
            found.hosts.append(Host(name=device["name"], endpoints=tuple(endpoints)))
        else:
            found.switches.append(Switch(name=device["name"], role=role, agent=_primary(device)))
    found.links = _links(peers, objects, roles, found)
    found.tenants = _tenants(objects, roles)
    return found


def _roles(objects: Objects, found: InventoryListing) -> dict[int, str]:
    """Devices that are of use: "host", or what kind of switch."""
    roles: dict[int, str] = {}
    for number, device in sorted(objects.devices.items()):
        named = device.get("role") or device.get("device_role") or {}
        words = f"{named.get('slug', '')} {named.get('name', '')}".lower()
        if not device.get("name"):
            found.left_out[NO_NAME] += 1
        elif (device.get("status") or {}).get("value") in GONE:
            found.left_out[NOT_THERE] += 1
        elif any(word in words for word in SWITCH_WORDS):
            roles[number] = next((kind for kind in ("leaf", "spine") if kind in words), "switch")
        elif any(word in words for word in HOST_WORDS):
            roles[number] = "host"
        else:
            found.left_out[OTHER_ROLES] += 1
    return roles


def _peers(objects: Objects) -> dict[int, list[int]]:
    """Interface -> interfaces at the other end: through patch panels where NetBox has traced them, else by cable."""
    peers: dict[int, list[int]] = {}
    for number, interface in objects.interfaces.items():
        ends = interface.get("connected_endpoints") or ()
        if interface.get("connected_endpoints_type") == "dcim.interface":
            peers[number] = [int(end["id"]) for end in ends]
    for cable in objects.cables.values():
        sides = [_interfaces(cable.get(side) or ()) for side in ("a_terminations", "b_terminations")]
        for near, far in (sides, sides[::-1]):
            for number in near:
                if far:
                    peers.setdefault(number, far)
    return peers


def _interfaces(terminations: Sequence[Item]) -> list[int]:
    return [int(end["object_id"]) for end in terminations if end.get("object_type") == "dcim.interface"]


def _addresses(objects: Objects, found: InventoryListing) -> dict[int, list[str]]:
    """Interface -> its addresses, each address once."""
    addresses: dict[int, list[str]] = {}
    seen: set[str] = set()
    for _, item in sorted(objects.addresses.items()):
        if item.get("assigned_object_type") != "dcim.interface" or item.get("assigned_object_id") is None:
            continue
        address = str(item["address"]).partition("/")[0]
        if address in seen:
            found.left_out[TWICE] += 1
            continue
        seen.add(address)
        addresses.setdefault(int(item["assigned_object_id"]), []).append(address)
    return addresses


def _endpoints(
    own: Sequence[Item],
    addresses: Mapping[int, list[str]],
    peers: Mapping[int, list[int]],
    objects: Objects,
    roles: Mapping[int, str],
    found: InventoryListing,
) -> list[Endpoint]:
    """A host's interfaces that have addresses, management left out."""
    endpoints: list[Endpoint] = []
    for interface in own:
        number = int(interface["id"])
        if interface.get("mgmt_only"):
            continue
        if number not in addresses:
            found.left_out[NO_ADDRESS] += 1
            continue
        custom = interface.get("custom_fields") or {}
        far = [objects.interfaces[peer] for peer in peers.get(number, ()) if peer in objects.interfaces]
        links = [_attachment(port, objects, found) for port in far if roles.get(_id(port["device"]), "host") != "host"]
        endpoints.append(
            Endpoint(
                addresses=tuple(addresses[number]),
                gpu=_integer(custom.get("gpu")),
                rail=_integer(custom.get("rail")),
                links=tuple(links),
                speed_gbps=_speed(interface),
            )
        )
    return endpoints


def _attachment(port: Item, objects: Objects, found: InventoryListing) -> Attachment:
    return Attachment(switch=objects.devices[_id(port["device"])]["name"], port=_ifindex(port, found))


def _links(
    peers: Mapping[int, list[int]], objects: Objects, roles: Mapping[int, str], found: InventoryListing
) -> list[Link]:
    """Cables between two switches, each once."""
    links: dict[tuple[int, int], Link] = {}
    for number in sorted(peers):
        for peer in peers[number]:
            pair = (min(number, peer), max(number, peer))
            ends = [objects.interfaces.get(end) for end in pair]
            if pair in links or pair[0] == pair[1] or None in ends:
                continue
            a, b = (end for end in ends if end is not None)
            if {roles.get(_id(end["device"]), "host") for end in (a, b)} & {"host"}:
                continue
            names = [objects.devices[_id(end["device"])]["name"] for end in (a, b)]
            links[pair] = Link(
                a=names[0],
                b=names[1],
                a_port=_ifindex(a, found),
                b_port=_ifindex(b, found),
                speed_gbps=_speed(a) or _speed(b),
            )
    return list(links.values())


def _tenants(objects: Objects, roles: Mapping[int, str]) -> list[Tenant]:
    hosts: dict[str, list[str]] = {}
    for number, role in roles.items():
        tenant = objects.devices[number].get("tenant") or {}
        if role == "host" and tenant.get("name"):
            hosts.setdefault(tenant["name"], []).append(objects.devices[number]["name"])
    return [Tenant(name=name, hosts=tuple(members)) for name, members in sorted(hosts.items())]


def _ifindex(port: Item, found: InventoryListing) -> int | None:
    index = _integer((port.get("custom_fields") or {}).get("ifindex"))
    if index is None:
        found.left_out[NO_IFINDEX] += 1
    return index


def _speed(interface: Item) -> float | None:
    """By the speed that was entered, in kbit/s, else by the type of the interface, such as `400gbase-x-osfp`."""
    if _integer(interface.get("speed")):
        return float(interface["speed"]) / 1e6
    match = _SPEED.match(str((interface.get("type") or {}).get("value", "")))
    return float(match[1]) if match else None


def _primary(device: Item) -> str | None:
    for name in ("primary_ip", "primary_ip4", "primary_ip6"):
        if device.get(name):
            return str(device[name]["address"]).partition("/")[0]
    return None


def _id(item: object) -> int:
    return int(item["id"]) if isinstance(item, dict) and isinstance(item.get("id"), int) else -1


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdigit() else None
