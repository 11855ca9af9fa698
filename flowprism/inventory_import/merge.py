"""What was found in listings, merged with the inventory that is known: plain functions, what is left out is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from datamodel.cluster.inventory import Endpoint, Host, Inventory, JobLabel, Link, Switch, Tenant
from flowprism.inventory_import.listing import InventoryListing, RunningJob

UNKNOWN_NODES = "nodes of jobs that are no host of the inventory"
NO_HOST = "jobs none of whose nodes is a host of the inventory"
MOVED = "endpoints whose address a newer listing gives to another host"
UNKNOWN_MEMBERS = "members of tenants that are no host of the inventory"


@dataclass(frozen=True, slots=True)
class MergedInventory:
    """An inventory, and how many of what could not be used, by reason."""

    inventory: Inventory
    left_out: dict[str, int]


def merge_listings(base: Inventory, found: Sequence[InventoryListing]) -> MergedInventory:
    """One inventory of all that is known.

    Hosts, switches and tenants that were found replace those of the same name; GPU and rail of an endpoint, and the
    agent of a host, stay where only the old one knows them. Links replace all links, and jobs all jobs, where any
    listing is about them: a job that is not listed any more is over. What nothing was found of stays as it was.

    Args:
        base: what was known.
        found: what listings say; of two that contradict each other the later one counts.
    """
    left: Counter[str] = Counter()
    hosts: dict[str, Host] = {host.name: host for host in base.hosts}
    switches: dict[str, Switch] = {switch.name: switch for switch in base.switches}
    tenants: dict[str, Tenant] = {tenant.name: tenant for tenant in base.tenants}
    links: tuple[Link, ...] = base.links
    services = dict.fromkeys(base.services)
    for part in found:
        left.update(part.left_out)
        known = {address: e for host in hosts.values() for e in host.endpoints for address in e.all_addresses}
        new = {host.name: _completed(host, hosts.get(host.name), known) for host in part.hosts}
        hosts = _without(hosts, new, left) | new
        switches |= {switch.name: _switch(switch, switches.get(switch.name)) for switch in part.switches}
        tenants |= {tenant.name: tenant for tenant in part.tenants}
        links = tuple(part.links) or links
        services |= dict.fromkeys(part.services)
    listings = [part.jobs for part in found if part.jobs is not None]
    jobs = _labels([job for jobs in listings for job in jobs], hosts, left) if listings else base.jobs
    inventory = Inventory(
        hosts=tuple(hosts.values()),
        switches=tuple({**_named_switches(hosts.values(), links), **switches}.values()),
        links=links,
        services=tuple(services),
        tenants=tuple(_tenant(tenant, hosts, left) for tenant in tenants.values()),
        jobs=jobs,
    )
    return MergedInventory(inventory, {reason: count for reason, count in sorted(left.items()) if count})


def _completed(host: Host, old_host: Host | None, known: dict[str, Endpoint]) -> Host:
    """A host with its agent, and GPUs and rails of its endpoints, as they were known, where it does not say them."""
    endpoints: list[Endpoint] = []
    for endpoint in host.endpoints:
        old = next((known[address] for address in endpoint.all_addresses if address in known), None)
        missing = {n: getattr(old, n) for n in ("gpu", "rail") if old is not None and getattr(endpoint, n) is None}
        endpoints.append(endpoint.model_copy(update=missing))
    agent = old_host.agent if old_host is not None and host.agent is None else host.agent
    return host.model_copy(update={"endpoints": tuple(endpoints), "agent": agent})


def _without(hosts: dict[str, Host], new: dict[str, Host], left: Counter[str]) -> dict[str, Host]:
    """Hosts without what moved to a new one."""
    taken = {address: host.name for host in new.values() for e in host.endpoints for address in e.all_addresses}
    kept: dict[str, Host] = {}
    for name, host in hosts.items():
        stay = tuple(e for e in host.endpoints if all(taken.get(a, name) == name for a in e.all_addresses))
        left[MOVED] += (len(host.endpoints) - len(stay)) if name not in new else 0
        kept[name] = host.model_copy(update={"endpoints": stay})
    return kept


def _switch(new: Switch, old: Switch | None) -> Switch:
    if old is None:
        return new
    missing = {name: getattr(old, name) for name in ("role", "agent") if getattr(new, name) is None}
    return new.model_copy(update=missing)


def _named_switches(hosts: Iterable[Host], links: Iterable[Link]) -> dict[str, Switch]:
    """Switches that something hangs on, though nothing else is known of them."""
    ends = [end for link in links for end in (link.a, link.b)]
    ports = [port.switch for host in hosts for endpoint in host.endpoints for port in endpoint.attachments]
    return {name: Switch(name=name) for name in (*ends, *ports)}


def _tenant(tenant: Tenant, hosts: dict[str, Host], left: Counter[str]) -> Tenant:
    members = tuple(name for name in tenant.hosts if name in hosts)
    left[UNKNOWN_MEMBERS] += len(tenant.hosts) - len(members)
    return tenant.model_copy(update={"hosts": members})


def _labels(jobs: Sequence[RunningJob], hosts: dict[str, Host], left: Counter[str]) -> tuple[JobLabel, ...]:
    """Build labels of jobs; jobs with the same name get their id appended."""
    by_name = {short: name for name in hosts for short in (_short(name), name.lower())}
    repeated = Counter(job.name for job in jobs)
    labels: list[JobLabel] = []
    for job in jobs:
        members = {by_name.get(node.lower()) or by_name.get(_short(node)) for node in job.nodes}
        known = tuple(name for name in hosts if name in members)
        left[UNKNOWN_NODES] += sum(not (by_name.get(n.lower()) or by_name.get(_short(n))) for n in job.nodes)
        if not known:
            left[NO_HOST] += 1
            continue
        name = job.name if repeated[job.name] == 1 else f"{job.name} ({job.id})"
        own_id = job.id if job.id != job.name else None  # an inventory's jobs may have none
        labels.append(JobLabel(name=name, id=own_id, hosts=known, tenant=job.tenant, start=job.start, end=job.end))
    return tuple(labels)


def _short(name: str) -> str:
    """A machine's name without its domain: schedulers and inventories differ in it."""
    return name.partition(".")[0].lower()
