"""The fabric around one job: what the inventory says of each of its endpoints, by address code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from datamodel.cluster.inventory import Inventory, Link


@dataclass(frozen=True, slots=True)
class EndpointLocations:
    """Where endpoints are plugged in; empty without an inventory.

    Attributes:
        addresses: address of each code.
        host, switch, port: by address code, for the endpoints the inventory knows.
        links: cables between switches.
        speed_bps: of the own links of endpoints, by address code, where the inventory gives it.
    """

    addresses: tuple[str, ...]
    host: dict[int, str] = field(default_factory=dict)
    switch: dict[int, str] = field(default_factory=dict)
    port: dict[int, int | None] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    speed_bps: dict[int, float] = field(default_factory=dict)

    def names(self, endpoints: Iterable[int]) -> tuple[str, ...]:
        """Addresses of codes, in the order given."""
        return tuple(self.addresses[int(e)] for e in endpoints)

    def uplinks(self, switch: str) -> tuple[Link, ...]:
        """Cables of one switch to others."""
        return tuple(link for link in self.links if switch in (link.a, link.b))

    def around(self, endpoints: Iterable[int]) -> EndpointLocations:
        """The part that concerns some endpoints: where they are plugged in, and the cables of their switches."""
        known = [e for e in endpoints if e in self.host]
        switch = {e: self.switch[e] for e in known if e in self.switch}
        own = set(switch.values())
        return replace(
            self,
            host={e: self.host[e] for e in known},
            switch=switch,
            port={e: self.port[e] for e in switch},
            links=tuple(link for link in self.links if link.a in own or link.b in own),
            speed_bps={e: self.speed_bps[e] for e in known if e in self.speed_bps},
        )


def locate_endpoints(inventory: Inventory | None, addresses: tuple[str, ...]) -> EndpointLocations:
    """The inventory looked up by address code."""
    if inventory is None:
        return EndpointLocations(addresses)
    code = {a: n for n, a in enumerate(addresses)}
    host: dict[int, str] = {}
    switch: dict[int, str] = {}
    port: dict[int, int | None] = {}
    speed_bps: dict[int, float] = {}
    for machine in inventory.hosts:
        for endpoint in machine.endpoints:
            for n in (code[a] for a in endpoint.all_addresses if a in code):
                host[n] = machine.name
                if endpoint.speed_gbps is not None:
                    speed_bps[n] = endpoint.speed_gbps * 1e9
                if attachments := endpoint.attachments:
                    switch[n], port[n] = attachments[0].switch, attachments[0].port
    return EndpointLocations(addresses, host, switch, port, inventory.links, speed_bps)
