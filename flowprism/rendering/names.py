"""What people call an endpoint: its address, and host and GPU where the inventory knows them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from datamodel.cluster.inventory import Endpoint, Inventory

# Words of digits, dots and colons: addresses, and what is in no inventory.
_ADDRESS = re.compile(r"(?<![\w.:])[0-9a-fA-F:.]*[0-9a-fA-F:](?![\w])")


@dataclass(frozen=True, slots=True)
class EndpointName:
    """Where an endpoint sits: host, its GPUs as text ("0", "0,1" or ""), its switches, and its port's speed."""

    host: str
    gpus: str
    switches: tuple[str, ...]
    port_bps: float | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """Address -> place, of every address the inventory lists; empty without one."""

    places: dict[str, EndpointName] = field(default_factory=dict)

    def short(self, address: str) -> str:
        """`s1/0` (host/GPU) where known, else the address."""
        place = self.places.get(address)
        if place is None:
            return address
        return f"{place.host}/{place.gpus}" if place.gpus else place.host

    def full(self, address: str) -> str:
        """`10.1.1.1 (s1 gpu 0)` where known, else the address."""
        place = self.places.get(address)
        if place is None:
            return address
        return f"{address} ({place.host} gpu {place.gpus})" if place.gpus else f"{address} ({place.host})"

    def in_text(self, text: str) -> str:
        """A sentence with `s1/0` in the place of each address that is known."""
        return _ADDRESS.sub(lambda found: self.short(found[0]), text) if self.places else text

    def port_bps(self, *addresses: str) -> float | None:
        """Speed of the slowest port of some endpoints; None where none is known."""
        known = (self.places[one].port_bps for one in addresses if one in self.places)
        return min((bps for bps in known if bps is not None), default=None)

    def on_host(self, host: str) -> frozenset[str]:
        """The addresses of a host."""
        return frozenset(address for address, place in self.places.items() if place.host == host)

    def on_switch(self, switch: str) -> frozenset[str]:
        """The addresses that are plugged into a switch."""
        return frozenset(address for address, place in self.places.items() if switch in place.switches)


def names_of(inventory: Inventory | None) -> Names:
    """The names an inventory gives; none without one."""
    if inventory is None:
        return Names()
    return Names({a: _place(h.name, e) for h in inventory.hosts for e in h.endpoints for a in e.all_addresses})


def _place(host: str, endpoint: Endpoint) -> EndpointName:
    gpu = endpoint.gpu
    gpus = "" if gpu is None else ",".join(map(str, gpu)) if isinstance(gpu, tuple) else str(gpu)
    switches = (endpoint.switch, *(link.switch for link in endpoint.links))  # as `attachments`, without making them
    port_bps = None if endpoint.speed_gbps is None else endpoint.speed_gbps * 1e9
    return EndpointName(host, gpus, tuple(switch for switch in switches if switch is not None), port_bps)
