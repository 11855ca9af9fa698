"""A device under audit: its settings and the inventory's data on its ports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from datamodel.cluster.inventory import Inventory, Switch
from flowprism.exporter_config.commands import changes, lines
from flowprism.exporter_config.dialect import ConfigDialect
from flowprism.exporter_config.model import Direction, ExportConfig, PacketSampling, PortSampling, Value, default
from flowprism.exporter_config.plan import ExportPlan
from flowprism.exporter_config.port_numbers import port_name, port_number

_LEAST_BY_SPEED = 100  # hsflowd samples no port more often by default


@dataclass(frozen=True, slots=True)
class KnownPort:
    """A port of the inventory: its number (interface index), its speed in Mb/s, its name where that follows."""

    number: int | None
    mbps: int | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One device.

    Attributes:
        config: its settings.
        dialect: their language.
        plan: the goal.
        switch: its entry in the inventory, where it has one.
        ports: that the inventory knows of it.
        required: it ought to export.
    """

    config: ExportConfig
    dialect: ConfigDialect
    plan: ExportPlan
    switch: Switch | None = None
    ports: tuple[KnownPort, ...] = ()
    required: bool = True

    @property
    def name(self) -> str:
        """The name in the inventory, else its own."""
        return self.switch.name if self.switch is not None else self.config.name

    @property
    def sampling(self) -> PacketSampling | None:
        """Its packet sampling, where that runs."""
        sampling = self.config.sampling
        return sampling if sampling is not None and sampling.enabled.value else None

    @property
    def agent_address(self) -> str | None:
        """The address that its samples will carry, where the file shows it."""
        sampling = self.sampling
        if sampling is None or sampling.agent is None:
            return None
        agent = sampling.agent.value
        if agent[:1].isdecimal() or ":" in agent:
            return agent.partition("/")[0]
        held = [i.addresses for i in self.config.around.interfaces if i.name == agent and i.addresses]
        return held[0][0] if held else None

    def speed_of(self, name: str) -> int | None:
        """Mb/s of a port by its name: the inventory's, else the file's."""
        bare = name.partition(".")[0]
        known = next((p.mbps for p in self.ports if p.name in (name, bare) and p.mbps), None)
        return known or next((i.speed_mbps for i in self.config.around.interfaces if i.name in (name, bare)), None)

    def group_of(self, name: str) -> str | None:
        """The link aggregation group (LAG) that a port is a member of, by the file."""
        return next((i.group for i in self.config.around.interfaces if i.name == name), None)

    def sampled_ports(self) -> list[tuple[str, int | None]]:
        """Ports that are sampled, as name and speed; a number stands for a name that is not known."""
        sampling = self.sampling
        if sampling is None:
            return []
        listed = {port.name: port.enabled.value for port in sampling.ports}
        found = [(name, self.speed_of(name)) for name, enabled in listed.items() if enabled]
        if sampling.all_ports.value:
            found += [(port.name or f"port {port.number}", port.mbps) for port in self.ports if port.name not in listed]
            if not self.ports:
                found += [
                    (i.name, i.speed_mbps)
                    for i in self.config.around.interfaces
                    if i.speed_mbps and i.name not in listed
                ]
        elif all(mbps is None for _, mbps in found) and len({p.mbps for p in self.ports}) == 1:
            found = [(name, self.ports[0].mbps) for name, _ in found]  # one speed everywhere
        return found

    def rate_of(self, name: str, mbps: int | None) -> Value[int] | None:
        """N of 1 in N that counts for a port."""
        sampling = self.sampling
        return None if sampling is None else effective_rate(sampling, self.dialect, sampling.port(name), mbps)

    def direction_of(self, name: str) -> Value[Direction] | None:
        """Which packets of a port are sampled."""
        sampling = self.sampling
        if sampling is None:
            return None
        port = sampling.port(name)
        if port is not None and port.direction is not None:
            return port.direction
        if port is not None and (port.rate is not None or port.egress_rate is not None) and self._rates_make_directions:
            ingress, egress = port.rate or sampling.rate, port.egress_rate or sampling.egress_rate
            line = (port.egress_rate or port.rate or default(0)).line
            return Value(Direction.of(ingress=ingress is not None, egress=egress is not None), line=line)
        return sampling.direction

    @property
    def _rates_make_directions(self) -> bool:
        return "port.egress_rate" in self.dialect.settable

    def typed(self, sampling: PacketSampling) -> tuple[str, ...]:
        """The lines to type so that this sampling is configured."""
        dialect = self.dialect
        old, new = dialect.commands(self.config), dialect.commands(replace(self.config, sampling=sampling))
        return tuple(lines(changes(old, new), dialect.indent))

    @property
    def first_line(self) -> int:
        """Where its export settings begin; 1 where it has none."""
        sampling = self.config.sampling
        if sampling is None:
            return min((flow.line for flow in self.config.flows if flow.line), default=1)
        values = (
            sampling.enabled, sampling.rate, sampling.polling_s, sampling.agent, *sampling.collectors,
            *(rate for _, rate in sampling.rates_by_speed), *(port.enabled for port in sampling.ports),
        )  # fmt: skip
        return min((value.line for value in values if value is not None and value.line), default=1)


def effective_rate(
    sampling: PacketSampling, dialect: ConfigDialect, port: PortSampling | None, mbps: int | None
) -> Value[int] | None:
    """N of 1 in N as the device chooses it: the port's, its speed's, the general one, the vendor's."""
    if port is not None and port.rate is not None:
        return port.rate
    by_speed = dict(sampling.rates_by_speed).get(mbps or 0)
    if by_speed is not None:
        return by_speed
    if sampling.accelerated_rate is not None:
        return sampling.accelerated_rate
    if dialect.speed_divisor and mbps and (sampling.rate is None or dialect.rate_needs_unknown_speed):
        return default(max(mbps * 1_000_000 // dialect.speed_divisor, _LEAST_BY_SPEED))
    return sampling.rate


def known_ports(
    inventory: Inventory, dialect: ConfigDialect, config: ExportConfig, switch: str
) -> tuple[KnownPort, ...]:
    """The inventory's ports of a switch, with names where numbers follow from them.

    A site may number ports by the front panel. Where no port of the file has a number of the inventory, none is named.
    """
    numbers: dict[int | None, int | None] = dict(inventory_ports(inventory).get(switch, ()))
    named = {port_number(dialect.vendor, name): name for name in _names(config)}
    agrees = any(number in named for number in numbers if number is not None)
    found = []
    for number, mbps in numbers.items():
        name = named.get(number) if number is not None else None
        if agrees and name is None and number is not None:
            name = port_name(dialect.vendor, number)
        found.append(KnownPort(number, mbps, name))
    return tuple(found)


def _names(config: ExportConfig) -> Iterable[str]:
    listed = config.sampling.ports if config.sampling is not None else ()
    return {interface.name for interface in config.around.interfaces} | {port.name for port in listed}


def inventory_ports(inventory: Inventory) -> Mapping[str, Sequence[tuple[int | None, int | None]]]:
    """For each switch the numbers of its ports and their speeds in Mb/s, in the order of the inventory."""
    found: dict[str, list[tuple[int | None, int | None]]] = {}
    for host in inventory.hosts:
        for endpoint in host.endpoints:
            for attachment in endpoint.attachments:
                found.setdefault(attachment.switch, []).append((attachment.port, _mbps(endpoint.speed_gbps)))
    for link in inventory.links:
        found.setdefault(link.a, []).append((link.a_port, _mbps(link.speed_gbps)))
        found.setdefault(link.b, []).append((link.b_port, _mbps(link.speed_gbps)))
    return {switch: [row for row in rows if row[0] is not None] for switch, rows in found.items()}


def _mbps(gbps: float | None) -> int | None:
    return None if gbps is None else round(gbps * 1000)
