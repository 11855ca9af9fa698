"""What one listing says, before it is merged: machines and cables, or which job runs where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network

from datamodel.cluster.inventory import Host, Link, Switch, Tenant


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that a scheduler says is running.

    Attributes:
        name: its label.
        id: what distinguishes it from others of its name.
        tenant: account or namespace; None where there is none.
        nodes: names of machines, as the scheduler writes them.
        start, end: when it began, and when it is to be over; None where that is not known.
    """

    name: str
    id: str
    tenant: str | None
    nodes: tuple[str, ...]
    start: datetime | None = None
    end: datetime | None = None


@dataclass(slots=True)
class InventoryListing:
    """What a listing says.

    Attributes:
        hosts, switches, links, tenants, services: as in the inventory.
        jobs: that run; None where the listing is not about jobs, which is another thing than that none runs.
        left_out: how many of what could not be used, by reason.
    """

    hosts: list[Host] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    tenants: list[Tenant] = field(default_factory=list)
    services: list[IPv4Network | IPv6Network] = field(default_factory=list)
    jobs: list[RunningJob] | None = None
    left_out: Counter[str] = field(default_factory=Counter)
