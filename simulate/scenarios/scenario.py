"""A scenario: a fabric, the jobs and other traffic on it, what goes wrong, and how it is watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from datamodel.errors import InputError
from simulate.export.feed_spec import FeedSpec
from simulate.faults import Fault
from simulate.network.background import Traffic, bulk, calls, none, scrapes, together
from simulate.network.fabric import Fabric
from simulate.training.job import SimulatedJob
from simulate.workloads.serving import Serving
from simulate.workloads.storing import Storing

Telemetry = Literal["mirror", "exact"]


@dataclass(frozen=True, slots=True)
class BackgroundTraffic:
    """Traffic of no job, between services and hosts that do not train.

    Attributes:
        seconds: how long it goes on.
        bulk_every_s, bulk_bytes: each bystander moves a file to or from a service about so often.
        calls_every_s: each bystander and service calls another.
        scrape_every_s: the last service fetches metrics from all bystanders and other services.
    """

    seconds: float
    bulk_every_s: float = 1.0
    bulk_bytes: float = 20e6
    calls_every_s: float = 0.1
    scrape_every_s: float = 5.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One case to simulate.

    Attributes:
        name, about: what it is called and shows.
        fabric, jobs, faults: what runs where, and what goes wrong.
        telemetry: rows of a mirror, or exact flow records.
        gathered: rows of a mirror that are one row here, so that fast NICs do not fill a disk; 1: as decoded.
        answers: telemetry shows the reverse traffic too.
        feeds: what switches export besides.
        bustle: other traffic; None for none.
        alongside: what runs besides the jobs.
        services_named: the inventory says which addresses are services; else their traffic must.
        coupled: jobs share links with one another; without, each has the fabric to itself, which is exact where no link
            carries two jobs, and lets the biggest clusters be simulated a job at a time.
        hosts_known: the analysis is given the inventory; without it more of a layout is undecidable.
        window_s: the run stops then; None: when all is done, or nothing can go on.
    """

    name: str
    about: str
    fabric: Fabric
    jobs: tuple[SimulatedJob, ...]
    faults: tuple[Fault, ...] = ()
    telemetry: Telemetry = "exact"
    gathered: int = 1
    answers: bool = True
    feeds: tuple[FeedSpec, ...] = ()
    bustle: BackgroundTraffic | None = None
    alongside: tuple[Serving | Storing, ...] = ()
    services_named: bool = True
    coupled: bool = True
    hosts_known: bool = True
    window_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse feeds of switches on a fabric of several planes, or of IPv6: they are not simulated."""
        if self.feeds and (self.fabric.planes > 1 or self.fabric.addressing != "ipv4"):
            raise InputError("feeds of switches are simulated on fabrics of one plane and of IPv4")


def draw_traffic(scenario: Scenario, seed: int) -> Traffic:
    """The scenario's other traffic, drawn."""
    bustle, fabric = scenario.bustle, scenario.fabric
    parts = [
        one.traffic(fabric, np.random.default_rng(np.random.SeedSequence((seed, 0xBE51DE, n))))
        for n, one in enumerate(scenario.alongside)
    ]
    return together([*parts, _bustle(scenario, bustle, seed) if bustle is not None else none()])


def _bustle(scenario: Scenario, bustle: BackgroundTraffic, seed: int) -> Traffic:
    """Traffic of services and of hosts on which nothing runs."""
    fabric = scenario.fabric
    random = np.random.default_rng(np.random.SeedSequence((seed, 0xB057)))
    gpus = [np.asarray(g, np.int64) for j in scenario.jobs for g in (*(a.gpus for a in j.attempts), j.takers)]
    hosts = np.array([host for one in scenario.alongside for host in one.hosts], np.int64)
    others = (hosts[:, None] * fabric.nics_per_host + np.arange(fabric.nics_per_host)).ravel()
    used = np.concatenate([*(fabric.nic_of_gpu(g) for g in gpus), others])
    bystanders = np.setdiff1d(np.arange(fabric.nics), used)
    services = fabric.nics + np.arange(fabric.services)
    clients = np.concatenate([bystanders, services])
    parts = [calls(clients, bustle.seconds, bustle.calls_every_s, random)]
    if len(services):
        parts.append(bulk(bystanders, services, bustle.seconds, bustle.bulk_every_s, bustle.bulk_bytes, random))
        parts.append(scrapes(int(services[-1]), clients[:-1], bustle.seconds, bustle.scrape_every_s, 20_000))
    return together(parts)
