"""The inventory of a simulated fabric, as YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

from datamodel.cluster.inventory import Inventory
from simulate.network.fabric import SPINE_PORT, Fabric
from simulate.scenarios.scenario import Scenario
from simulate.training.job import SimulatedJob

Entry = dict[str, object]


def inventory_document(scenario: Scenario) -> dict[str, object]:
    """`flowprism.inventory/v1` with hosts, switches, cables, the services' network, tenants and jobs as labels."""
    fabric = scenario.fabric
    document: dict[str, object] = {
        "schema": "flowprism.inventory/v1",
        "hosts": list(_hosts(fabric)),
        "switches": list(_switches(fabric)),
        "links": list(_cables(fabric)),
        "tenants": list(_tenants(scenario)),
        "jobs": [{"name": j.name, "tenant": j.tenant, "hosts": _hosts_of(fabric, j)} for j in scenario.jobs],
    }
    return document | ({"services": ["10.200.0.0/16"]} if fabric.services and scenario.services_named else {})


def simulated_inventory(scenario: Scenario) -> Inventory:
    """The inventory as reading its file gives it."""
    return Inventory.model_validate(inventory_document(scenario))


def inventory_yaml(scenario: Scenario) -> str:
    """The inventory as JSON, a line an entry: YAML too, but a hundred thousand endpoints are read in two seconds."""
    parts = []
    for key, value in inventory_document(scenario).items():
        if isinstance(value, list):
            entries = ",\n".join(f"    {json.dumps(entry)}" for entry in value)
            parts.append(f"  {json.dumps(key)}: [\n{entries}\n  ]")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _hosts(fabric: Fabric) -> Iterator[Entry]:
    shared = fabric.gpus_per_host // fabric.nics_per_host
    for host in range(fabric.hosts):
        endpoints = []
        for rail in range(fabric.nics_per_host):
            gpus = list(range(rail * shared, (rail + 1) * shared))
            nic = host * fabric.nics_per_host + rail
            endpoints.append(_endpoint(fabric, nic) | {"gpu": gpus[0] if shared == 1 else gpus, "rail": rail})
        yield {"name": fabric.host_name(host), "endpoints": endpoints}
    for service in range(fabric.services):
        yield {"name": f"service{service}", "endpoints": [_endpoint(fabric, fabric.nics + service)]}


def _endpoint(fabric: Fabric, nic: int) -> Entry:
    pod = fabric.hosts_per_leaf
    if nic >= fabric.nics:
        service = nic - fabric.nics
        leaf, seat, speed = fabric.training_leaves + service // pod, service % pod, fabric.service_gbps
    else:
        host, rail = divmod(nic, fabric.nics_per_host)
        many = fabric.nics_per_host
        leaf = host // pod * many + rail if fabric.rail_optimised else host // pod
        seat, speed = host % pod if fabric.rail_optimised else host % pod * many + rail, fabric.nic_gbps
    port = SPINE_PORT + fabric.spines + seat
    if fabric.planes == 1:
        return {"address": fabric.address(nic), "switch": fabric.leaf_name(leaf), "port": port, "speed_gbps": speed}
    planes = range(fabric.planes)
    links = [{"switch": fabric.leaf_name(leaf, plane), "port": port} for plane in planes]
    if fabric.bonded:
        return {"address": fabric.address(nic), "links": links, "speed_gbps": speed}
    return {"addresses": [fabric.address(nic, plane) for plane in planes], "links": links, "speed_gbps": speed}


def _switches(fabric: Fabric) -> Iterator[Entry]:
    for plane, switch in product(range(fabric.planes), range(fabric.leaves + fabric.spines)):
        role = "leaf" if switch < fabric.leaves else "spine"
        yield {"name": fabric.switch_name(switch, plane), "role": role, "agent": fabric.agent(switch, plane)}


def _cables(fabric: Fabric) -> Iterator[Entry]:
    for plane, leaf, spine in product(range(fabric.planes), range(fabric.leaves), range(fabric.spines)):
        yield {
            "a": fabric.leaf_name(leaf, plane),
            "a_port": SPINE_PORT + spine,
            "b": fabric.switch_name(fabric.leaves + spine, plane),
            "b_port": 1 + leaf,
            "speed_gbps": fabric.uplink_gbps / fabric.planes,
        }


def _hosts_of(fabric: Fabric, job: SimulatedJob) -> list[str]:
    hosts = {int(h) for a in job.attempts for h in (a.gpus // fabric.gpus_per_host)}
    return [fabric.host_name(h) for h in sorted(hosts)]


def _tenants(scenario: Scenario) -> Iterator[Entry]:
    hosts: dict[str, dict[str, None]] = {}
    for job in scenario.jobs:
        hosts.setdefault(job.tenant, {}).update(dict.fromkeys(_hosts_of(scenario.fabric, job)))
    for name, members in hosts.items():
        yield {"name": name, "hosts": list(members)}
