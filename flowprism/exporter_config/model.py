"""`ExportConfig`: what one device is configured to export, whatever language its configuration is written in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")
_ENDINGS = re.compile(r"(?:\.(?:cfg|conf|config|txt|json|ya?ml|sh|config_db|hsflowd|openconfig))+$")


class Vendor(StrEnum):
    """The configuration languages that are understood."""

    ARISTA_EOS = "arista-eos"
    CISCO_NXOS = "cisco-nxos"
    JUNIPER_JUNOS = "juniper-junos"
    SONIC = "sonic"
    CUMULUS_NVUE = "cumulus-nvue"
    HSFLOWD = "hsflowd"
    OPEN_VSWITCH = "open-vswitch"
    NVIDIA_ONYX = "nvidia-onyx"
    OPENCONFIG = "openconfig"


class Direction(StrEnum):
    """Which packets of a port are sampled."""

    INGRESS = "ingress"
    EGRESS = "egress"
    BOTH = "both"
    NONE = "none"

    @classmethod
    def of(cls, *, ingress: bool, egress: bool) -> Direction:
        """The direction that covers these two."""
        if ingress:
            return cls.BOTH if egress else cls.INGRESS
        return cls.EGRESS if egress else cls.NONE

    @property
    def directions(self) -> int:
        """How many of the two directions are sampled."""
        return {Direction.BOTH: 2, Direction.NONE: 0}.get(self, 1)


@dataclass(frozen=True, slots=True)
class Value(Generic[T]):
    """One setting.

    Attributes:
        value: what counts.
        configured: it is written in the file; otherwise it is the vendor's default.
        line: line of the file, from 1; 0 where no line sets it.
    """

    value: T
    configured: bool = True
    line: int = field(default=0, compare=False)


def default(value: T) -> Value[T]:
    """A vendor's default."""
    return Value(value, configured=False)


# Every vendor's default length of a sampled header; the sFlow specification's too (version 5, section 5).
HEADER_BYTES = 128


DISCOVERED = "DNS-SD"  # the address of a collector that the device asks a name server for


@dataclass(frozen=True, slots=True)
class Collector:
    """Where datagrams are sent to: an address or name, a UDP port, and the VRF or namespace they leave by."""

    address: str
    port: Value[int]
    vrf: Value[str] | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class PortSampling:
    """What is said of one port. None: nothing is said, the device's own setting counts."""

    name: str
    enabled: Value[bool]
    rate: Value[int] | None = None
    egress_rate: Value[int] | None = None
    direction: Value[Direction] | None = None
    polling_s: Value[int] | None = None


@dataclass(frozen=True, slots=True)
class PacketSampling:
    """sFlow.

    Attributes:
        rate: N of 1 in N; None: by port speed, or no sampling, as the vendor has it.
        direction: which packets are sampled where the port says nothing.
        all_ports: ports that are not listed are sampled.
        polling_s: seconds between readings of a port's counters; 0: none.
        enabled: whether the agent runs.
        collectors: its destinations.
        agent: the address or interface that names the agent; None: the device chooses one.
        header_bytes: bytes of each sampled packet.
        egress_rate: N of egress samples, where it is a setting of its own.
        rates_by_speed: N for ports of a speed in Mb/s, ascending.
        ports: what is said of single ports, in the order of their names.
        limit_per_s: samples a second beyond which they are lost or thinned; None: no such setting.
        drops: notifications of discarded packets.
        confirmed: a rate below the vendor's ordinary minimum was confirmed (`dangerous` of EOS).
        accelerated_rate: N of samples that an accelerator takes instead of the CPU.
    """

    rate: Value[int] | None
    direction: Value[Direction]
    all_ports: Value[bool]
    polling_s: Value[int]
    enabled: Value[bool] = field(default_factory=lambda: default(False))
    collectors: tuple[Collector, ...] = ()
    agent: Value[str] | None = None
    header_bytes: Value[int] = field(default_factory=lambda: default(HEADER_BYTES))
    egress_rate: Value[int] | None = None
    rates_by_speed: tuple[tuple[int, Value[int]], ...] = ()
    ports: tuple[PortSampling, ...] = ()
    limit_per_s: Value[int] | None = None
    drops: Value[bool] = field(default_factory=lambda: default(False))
    confirmed: bool = False
    accelerated_rate: Value[int] | None = None

    def port(self, name: str) -> PortSampling | None:
        """What is said of one port."""
        return next((port for port in self.ports if port.name == name), None)

    def collector(self, address: str) -> Collector | None:
        """The collector of an address."""
        return next((one for one in self.collectors if one.address == address), None)

    def with_ports(self, *ports: PortSampling) -> PacketSampling:
        """With these ports, each in place of one of its name."""
        return replace(self, ports=tuple({port.name: port for port in (*self.ports, *ports)}.values()))

    def with_collector(self, collector: Collector) -> PacketSampling:
        """With this collector, in place of one of its address."""
        known = {one.address: one for one in (*self.collectors, collector)}
        return replace(self, collectors=tuple(known.values()))

    def with_speed_rates(self, rates: Mapping[int, Value[int]]) -> PacketSampling:
        """With these N by port speed in Mb/s."""
        return replace(self, rates_by_speed=tuple(sorted(({**dict(self.rates_by_speed), **rates}).items())))


@dataclass(frozen=True, slots=True)
class FlowExport:
    """IPFIX or NetFlow: flows are metered on the device and exported as records.

    Attributes:
        name: of the tracker, monitor or instance.
        protocol: "IPFIX", "NetFlow v9" or "NetFlow v5".
        enabled: whether it runs.
        collectors: its destinations.
        source: address or interface that names the exporter.
        rate: N of 1 in N packets metered; None: every packet.
        active_timeout_s: a record's greatest length; None: no such setting.
        inactive_timeout_s: the pause that ends a record; None: no such setting.
        ports: which ports are metered.
    """

    name: str
    protocol: str
    enabled: Value[bool]
    collectors: tuple[Collector, ...]
    source: Value[str] | None = None
    rate: Value[int] | None = None
    active_timeout_s: Value[float] | None = None
    inactive_timeout_s: Value[float] | None = None
    ports: tuple[PortSampling, ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Interface:
    """A port or address holder that the configuration names.

    Attributes:
        name: as export settings write it.
        speed_mbps: where it is written.
        addresses: that it holds.
        group: name of the link aggregation group (LAG) that it is a member of.
    """

    name: str
    speed_mbps: int | None = None
    addresses: tuple[str, ...] = ()
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """An export statement that is not understood: its line and its first words."""

    line: int
    statement: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands around the export settings.

    Attributes:
        file: name of the file.
        hostname: as configured.
        interfaces: that the file names.
        tunnel_line: the first line that sets up an overlay (VXLAN); 0: none.
        statements: export statements seen, those not understood included.
        unread: export statements that are not understood.
    """

    file: str = ""
    hostname: str | None = None
    interfaces: tuple[Interface, ...] = ()
    tunnel_line: int = 0
    statements: int = 0
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportConfig:
    """What one device is configured to export. Equal if the settings are, wherever they stand."""

    vendor: Vendor
    sampling: PacketSampling | None = None
    flows: tuple[FlowExport, ...] = ()
    around: Surroundings = field(default_factory=Surroundings, compare=False)

    @property
    def name(self) -> str:
        """The device's name: its host name, else the file's without folders and endings."""
        if self.around.hostname:
            return self.around.hostname
        name = self.around.file.replace("\\", "/").rpartition("/")[2]
        return _ENDINGS.sub("", name) or name


def port_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorting key under which Ethernet2 comes before Ethernet10."""
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for character in name + "\0":
        if character.isdecimal():
            digits += character
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, character))
    return tuple(parts)


def sorted_ports(ports: Iterable[PortSampling]) -> tuple[PortSampling, ...]:
    """Ports in the order of their names."""
    return tuple(sorted(ports, key=lambda port: port_order(port.name)))
