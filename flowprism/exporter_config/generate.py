"""Writes the settings that a plan asks of every switch of an inventory, a file each, and the service's settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path

import yaml

from datamodel.cluster.inventory import Inventory, Switch
from datamodel.errors import InputError
from flowprism.collector.collector_options import DEFAULT_LISTENS
from flowprism.exporter_config.device import inventory_ports
from flowprism.exporter_config.dialect import ConfigDialect
from flowprism.exporter_config.dialects import DIALECTS
from flowprism.exporter_config.model import ExportConfig, Vendor
from flowprism.exporter_config.plan import ExportPlan
from flowprism.exporter_config.planned import planned_sampling
from flowprism.exporter_config.port_numbers import port_name
from flowprism.service.config.settings import PRIVATE_NETWORKS

SERVICE_FILE = "flowprism.yaml"
_LOOPBACK = {Vendor.SONIC: "Loopback0", Vendor.OPEN_VSWITCH: "eth0"}  # an agent is named by an interface there


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file: its name and what stands in it."""

    name: str
    text: str


def generate(inventory: Inventory, inventory_file: Path, plan: ExportPlan) -> list[GeneratedFile]:
    """A file for each switch whose language the plan names, and `flowprism.yaml`.

    Raises:
        InputError: the plan names no collector or no rate, or no language of a switch; ports cannot be named.
    """
    if not plan.collectors:
        raise InputError("the plan names no collector")
    if plan.rate is None and not plan.rates:
        raise InputError("the plan names no sampling rate")
    files = [_switch_file(inventory, switch, plan) for switch in inventory.switches]
    return [*files, GeneratedFile(SERVICE_FILE, service_settings(inventory, inventory_file, plan))]


def _switch_file(inventory: Inventory, switch: Switch, plan: ExportPlan) -> GeneratedFile:
    vendor = plan.vendor_of(switch.name)
    if vendor is None:
        raise InputError(f"{switch.name}: the plan's `vendors` does not name its configuration language")
    dialect = DIALECTS[vendor]
    ports = _named_ports(inventory, switch, plan, dialect)
    agent = _LOOPBACK.get(vendor, switch.agent)
    sampling = planned_sampling(dialect, plan, ports, agent)
    text = dialect.write(ExportConfig(vendor, sampling))
    return GeneratedFile(dialect.file_name.format(switch.name), text)


def _named_ports(
    inventory: Inventory, switch: Switch, plan: ExportPlan, dialect: ConfigDialect
) -> Sequence[tuple[str, int | None]]:
    """Names and speeds of a switch's ports.

    Raises:
        InputError: the language needs names, and neither numbers nor the plan give them.
    """
    rows = inventory_ports(inventory).get(switch.name, ())
    speeds = {mbps for _, mbps in rows}
    planned = plan.ports_of(switch.name)
    if planned:
        return [(name, next(iter(speeds)) if len(speeds) == 1 else None) for name in planned]
    named = [(port_name(dialect.vendor, number), mbps) for number, mbps in rows if number is not None]
    if not dialect.blank.all_ports.value and (not named or any(name is None for name, _ in named)):
        raise InputError(f"{switch.name}: ports have no names in this language; name them under the plan's `ports`")
    return [(name or "", mbps) for name, mbps in named]


def service_settings(inventory: Inventory, inventory_file: Path, plan: ExportPlan) -> str:
    """Settings of the service for this fabric: the ports to listen at, the exporters to accept, the inventory."""
    ports = sorted({collector.port for collector in plan.collectors})
    usual = [str(listen) for listen in DEFAULT_LISTENS]
    further = [f"*:{port}" for port in ports if f"*:{port}" not in usual]
    collect: dict[str, object] = {"listen": [*usual, *further]} if further else {}
    others = list(_public_agents(inventory))
    if others:
        collect["allow"] = [*PRIVATE_NETWORKS, *others]
    settings = {**({"collect": collect} if collect else {}), "scans": {"inventory": str(inventory_file)}}
    return yaml.safe_dump(settings, sort_keys=False)


def _public_agents(inventory: Inventory) -> Iterator[str]:
    """Agents outside the networks that may send by default."""
    for switch in inventory.switches:
        if switch.agent is None:
            continue
        address = ip_address(switch.agent)
        if not any(address in ip_network(network) for network in PRIVATE_NETWORKS):
            yield f"{address}/{address.max_prefixlen}"
