"""The inventory, `flowprism.inventory/v1`: which endpoint sits in which host behind which switch port. Optional."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, WithJsonSchema, model_validator

from datamodel.document import Document

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_CANONICAL_IPV4 = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}")  # a tenth of the time that `ip_address` takes


def _canonical(address: str) -> str:
    if _CANONICAL_IPV4.fullmatch(address):
        return address
    plain, percent, network = address.rpartition("%")
    if percent and network.isdecimal():
        return f"{ip_address(plain)}%{int(network)}"  # of an overlay network, see `reconstruct.streams.networks`
    return str(ip_address(address))  # may have a zone, as `fe80::1%eth0` has


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("should be a number, not true or false")  # noqa: TRY004 -- pydantic reports no other
    return value


def _no_number(value: object) -> object:
    if isinstance(value, int | float):
        raise ValueError("should be text, not a number")  # noqa: TRY004 -- as above
    return value


# Left to itself, pydantic takes `true` for 1, and the numbers for addresses and times, against the schema.
Address = Annotated[str, AfterValidator(_canonical)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_no_number)]
Number = Annotated[int, BeforeValidator(_no_truth_value)]
Speed = Annotated[float, Field(gt=0), BeforeValidator(_no_truth_value)]
Time = Annotated[datetime, BeforeValidator(_no_number)]


class Attachment(Document):
    """A switch port that an endpoint is plugged into; `port` is the switch's ifIndex."""

    switch: str
    port: Number | None = None


class Endpoint(Document):
    """A NIC that serves one or several GPUs, known by its address or addresses."""

    address: Address | None = None
    addresses: tuple[Address, ...] = ()
    gpu: Number | tuple[Number, ...] | None = None
    rail: Number | None = None
    switch: str | None = None
    port: Number | None = None
    links: tuple[Attachment, ...] = ()
    speed_gbps: Speed | None = None

    @model_validator(mode="after")
    def _has_an_address(self) -> Endpoint:
        if not self.all_addresses:
            raise ValueError("an endpoint needs `address` or `addresses`")
        return self

    @property
    def all_addresses(self) -> tuple[str, ...]:
        """Every address of this NIC, the first being its name."""
        own = (self.address,) if self.address is not None else ()
        if not self.addresses:
            return own
        return own + tuple(a for a in self.addresses if a != self.address)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Every switch port this NIC is plugged into."""
        own = (Attachment(switch=self.switch, port=self.port),) if self.switch is not None else ()
        return own + tuple(to for to in self.links if to not in own)


StageRole = Literal["only", "first", "middle", "last"]  # of a pipeline's stage


class Host(Document):
    """A machine, its NICs, and the address its sFlow agent uses where that is none of theirs."""

    name: str
    endpoints: tuple[Endpoint, ...] = ()
    agent: Address | None = None
    standby: StrictBool = Field(
        default=False, description="kept free to take another's place; with any, unmarked ones are not proposed"
    )
    warmed_roles: tuple[StageRole, ...] = Field(
        default=(), description="of the pipeline stages that a standby holds compiled programs or weights for"
    )


class Switch(Document):
    """A switch, and the address its exporter uses."""

    name: str
    role: str | None = None
    agent: Address | None = None


class Link(Document):
    """A cable between two switches; ports are ifIndexes."""

    a: str
    b: str
    a_port: Number | None = None
    b_port: Number | None = None
    speed_gbps: Speed | None = None


class Tenant(Document):
    """A label for hosts."""

    name: str
    hosts: tuple[str, ...]
    networks: tuple[Number, ...] = Field(default=(), description="overlay networks or VRFs that are all this tenant's")


# YAML reads Slurm's numbers as such; they are kept as text. One schema describes what is sent and what is answered.
_TEXT_OR_NUMBER = WithJsonSchema({"anyOf": [{"type": t} for t in ("string", "number", "null")]})


class JobLabel(Document):
    """A label for a job, e.g. from Slurm or Kubernetes."""

    name: str
    id: Annotated[str | None, _TEXT_OR_NUMBER] = Field(
        default=None,
        coerce_numbers_to_str=True,
        description="by which commands name it: Slurm's number, or namespace/name in Kubernetes",
    )
    hosts: tuple[str, ...]
    tenant: str | None = None
    start: Time | None = None
    end: Time | None = Field(default=None, description="planned, such as by a time limit; UTC unless it has a zone")


class Inventory(Document):
    """What is known of the fabric beforehand.

    Raises:
        pydantic.ValidationError: a name or address is a duplicate, or a reference points nowhere.
    """

    schema_: Literal["flowprism.inventory/v1"] = Field(default="flowprism.inventory/v1", alias="schema")
    hosts: tuple[Host, ...] = ()
    switches: tuple[Switch, ...] = ()
    links: tuple[Link, ...] = ()
    services: tuple[Network, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    jobs: tuple[JobLabel, ...] = ()

    def host_names(self) -> dict[str, str]:
        """Address of an endpoint -> name of its host; of each address that it has."""
        return {address: host.name for host in self.hosts for nic in host.endpoints for address in nic.all_addresses}

    def cables(self) -> tuple[Link, ...]:
        """Links between switches, then those of endpoints whose one address is behind several switches.

        Such a NIC picks one of its ports for each connection, as a switch picks a link. Its ports have no number, and
        equal shares of its speed.
        """
        return self.links + tuple(
            Link(
                a=one.all_addresses[0],
                b=to.switch,
                b_port=to.port,
                speed_gbps=(one.speed_gbps or 0.0) / len(one.attachments),
            )
            for one in self.bonded_endpoints()
            for to in one.attachments
        )

    def bonded_endpoints(self) -> tuple[Endpoint, ...]:
        """Endpoints whose one address is behind several switches, by ports of their own and of known speed.

        As with two ports in one link aggregation group (IEEE 802.1AX). Management NICs, and functions that share
        ports, are none: of these it is not known which port packets take.
        """
        listed = {switch.name for switch in self.switches}
        every = [endpoint for host in self.hosts for endpoint in host.endpoints]
        ports = [(to.switch, to.port) for one in every for to in one.attachments]
        ports += [end for n in self.links for end in ((n.a, n.a_port), (n.b, n.b_port))]
        shared = {port for port, times in Counter(ports).items() if times > 1 and port[1] is not None}

        def is_bonded(one: Endpoint) -> bool:
            behind = {to.switch for to in one.attachments}
            own = shared.isdisjoint((to.switch, to.port) for to in one.attachments)
            single = len(one.all_addresses) == 1 and one.speed_gbps is not None
            return single and own and len(behind) > 1 and behind <= listed

        return tuple(one for one in every if is_bonded(one))

    @model_validator(mode="after")
    def _says_everything_once(self) -> Inventory:
        addresses = [address for host in self.hosts for address in _own_addresses(host)]
        for what, names in (
            ("address", addresses),
            ("host", [h.name for h in self.hosts]),
            ("switch", [s.name for s in self.switches]),
        ):
            twice = _first_repeated(names)
            if twice is not None:
                raise ValueError(f"{what} {twice} is a duplicate")
        return self

    @model_validator(mode="after")
    def _refers_to_what_it_names(self) -> Inventory:
        switches = {s.name for s in self.switches}
        for link in self.links:
            for end in (link.a, link.b):
                if end not in switches:
                    raise ValueError(f"link {link.a} - {link.b}: switch {end} is not listed under `switches`")
        hosts = {h.name for h in self.hosts}
        labels = [(t.name, t.hosts) for t in self.tenants] + [(j.name, j.hosts) for j in self.jobs]
        for name, members in labels:
            for host in members:
                if host not in hosts:
                    raise ValueError(f"{name}: host {host} is not listed under `hosts`")
        return self


def _own_addresses(host: Host) -> list[str]:
    """Those of its NICs, and its agent's where that is none of them."""
    found = [address for nic in host.endpoints for address in nic.all_addresses]
    return found if host.agent is None or host.agent in found else [*found, host.agent]


def _first_repeated(names: list[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
