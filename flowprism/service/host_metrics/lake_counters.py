"""What sFlow agents on hosts, and on the switches they are plugged into, sent to the lake about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from datamodel.cluster.inventory import Inventory
from diagnose.host_metrics.counter_series import counter_series
from diagnose.host_metrics.measures import COUNTER_MEASURES
from diagnose.host_metrics.options import HostMetricsOptions
from diagnose.host_metrics.series_changes import HostSeries
from storage.lake.lake_reader import read_kind
from storage.lake.selection import Selection

_COLUMNS = (
    "time_ns", "sampler_address", "observation_domain_id", "interface", "priority",
    *(measure.name for measure in COUNTER_MEASURES),
)  # fmt: skip


def read_counters(
    lake: str, inventory: Inventory, hosts: Collection[str], onset_ns: int, until_ns: int, *, with_gpus: bool
) -> list[HostSeries]:
    """Series of some hosts around an onset.

    Args:
        lake: of the collectors.
        inventory: addresses of agents, and the ports of endpoints.
        hosts: their names.
        onset_ns: since when something is wrong, UTC.
        until_ns: the end of it, or now.
        with_gpus: whether counters of GPUs are wanted.

    Raises:
        InputError: the lake cannot be read.
    """
    options = HostMetricsOptions()
    host_of, port_of = host_agents(inventory, hosts), host_ports(inventory, hosts)
    exporters = {*host_of, *(agent for agent, _ in port_of)}
    start_ns = onset_ns - round(options.past_s * 1e9)
    end_ns = min(until_ns, onset_ns + round(options.after_s * 1e9)) + 1
    selection = Selection(start_ns, max(end_ns, start_ns), frozenset(exporters), columns=_COLUMNS)
    rows, book = read_kind(lake, "counters", selection)
    code = {text: n for n, text in enumerate(book)}
    agents = {code[agent]: host for agent, host in host_of.items() if agent in code}
    ports = {(code[agent], port): where for (agent, port), where in port_of.items() if agent in code}
    interface = rows["interface"]
    wanted = np.isin(rows["sampler_address"], list(agents)) & (with_gpus | (interface >= 0))
    wanted |= np.isin(interface, [port for _, port in ports])
    return counter_series(rows.take(np.flatnonzero(wanted)), agents, ports)


def host_agents(inventory: Inventory, hosts: Collection[str]) -> dict[str, str]:
    """Host of each address that an agent on one of some hosts may use: its own, or that of an endpoint."""
    found: dict[str, str] = {}
    for host in inventory.hosts:
        if host.name in hosts:
            own = [address for endpoint in host.endpoints for address in endpoint.all_addresses]
            found |= dict.fromkeys([*own, *([host.agent] if host.agent is not None else [])], host.name)
    return found


def host_ports(inventory: Inventory, hosts: Collection[str]) -> Mapping[tuple[str, int], tuple[str, str]]:
    """Host, and name of the port, of each agent and interface that an endpoint of some hosts is plugged into."""
    agents = {switch.name: switch.agent for switch in inventory.switches if switch.agent is not None}
    return {
        (agents[one.switch], one.port): (host.name, f"{one.switch} port {one.port}")
        for host in inventory.hosts
        if host.name in hosts
        for endpoint in host.endpoints
        for one in endpoint.attachments
        if one.switch in agents and one.port is not None
    }
