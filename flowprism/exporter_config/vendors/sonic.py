"""SONiC's `config_db.json`: tables SFLOW, SFLOW_COLLECTOR and SFLOW_SESSION.

Tables, defaults and limits: SONiC "sFlow High Level Design" (https://github.com/sonic-net/SONiC/blob/master/doc/sflow/
sflow_hld.md) and the YANG model sonic-sflow. Without a rate a port samples 1 in speed / 10^6 bit/s; every port is
sampled at ingress once sFlow is up; the feature `sflow` must be enabled for the container to run.
"""

from __future__ import annotations

import json
import re
from typing import Any

from datamodel.errors import InputError
from flowprism.exporter_config.commands import Command
from flowprism.exporter_config.dialect import ConfigDialect, Limits
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    ExportConfig,
    Interface,
    PacketSampling,
    PortSampling,
    Surroundings,
    Unread,
    Value,
    Vendor,
    default,
    sorted_ports,
)
from flowprism.exporter_config.vendors.located_json import Node, find_objects, read_collector, read_number
from flowprism.exporter_config.vendors.text_blocks import line_of

_DIRECTIONS = {"rx": Direction.INGRESS, "tx": Direction.EGRESS, "both": Direction.BOTH}
_WORDS = {direction: word for word, direction in _DIRECTIONS.items()}
_TUNNEL = re.compile(r'"VXLAN_TUNNEL(?:_MAP)?"\s*:\s*\{\s*"')
_KNOWN = {
    "SFLOW": {"admin_state", "polling_interval", "agent_id", "sample_direction"},
    "SFLOW_SESSION": {"admin_state", "sample_rate", "sample_direction"},
    "SFLOW_COLLECTOR": {"collector_ip", "collector_port", "collector_vrf", "name"},
}


def read(text: str, file: str) -> ExportConfig:
    """The export settings of a `config_db.json`.

    Raises:
        InputError: it is not JSON.
    """
    try:
        document = json.loads(text)
        tables = dict(find_objects(text, "SFLOW", "SFLOW_COLLECTOR", "SFLOW_SESSION", "FEATURE"))
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {error}") from error
    sampling = _sampling(tables) if any(name.startswith("SFLOW") for name in tables) else None
    seen, unread = _statements(tables)
    around = Surroundings(
        file=file,
        hostname=_table(_table(document, "DEVICE_METADATA"), "localhost").get("hostname"),
        interfaces=_interfaces(document),
        tunnel_line=line_of(text, _TUNNEL),
        statements=seen,
        unread=tuple(unread),
    )
    return ExportConfig(Vendor.SONIC, sampling, around=around)


def _table(document: object, name: str) -> dict[str, Any]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _sampling(tables: dict[str, Node]) -> PacketSampling:
    top = tables.get("SFLOW", Node(0)).find("global") or Node(0)
    sessions = tables.get("SFLOW_SESSION", Node(0)).members
    every = sessions.get("all", Node(0))
    polling, agent = top.find("polling_interval"), top.find("agent_id")
    return PacketSampling(
        enabled=_enabled(top, tables),
        collectors=tuple(
            read_collector(n, "collector_ip", "collector_port", "collector_vrf")
            for n in tables.get("SFLOW_COLLECTOR", Node(0)).members.values()
        ),
        agent=Value(agent.text or "", line=agent.line) if agent is not None else None,
        rate=None,
        direction=_direction(top) or _direction(every) or default(Direction.INGRESS),
        all_ports=_state(every) or default(True),
        header_bytes=default(128),
        polling_s=read_number(polling) or default(20),
        ports=sorted_ports(_port(name, node) for name, node in sessions.items() if name != "all"),
    )


def _enabled(top: Node, tables: dict[str, Node]) -> Value[bool]:
    """Up, unless the feature's container is disabled."""
    feature = tables.get("FEATURE", Node(0)).find("sflow", "state")
    if feature is not None and feature.text == "disabled":
        return Value(False, line=feature.line)
    return _state(top) or default(False)


def _state(node: Node) -> Value[bool] | None:
    state = node.find("admin_state")
    return None if state is None else Value(state.text == "up", line=state.line)


def _direction(node: Node) -> Value[Direction] | None:
    said = node.find("sample_direction")
    found = _DIRECTIONS.get(said.text or "") if said is not None else None
    return None if said is None or found is None else Value(found, line=said.line)


def _port(name: str, node: Node) -> PortSampling:
    return PortSampling(
        name, _state(node) or default(True), read_number(node.find("sample_rate")), direction=_direction(node)
    )


def _statements(tables: dict[str, Node]) -> tuple[int, list[Unread]]:
    """How many export settings there are, and those that are not known."""
    seen, unread = 0, []
    for table, known in _KNOWN.items():
        for row in tables.get(table, Node(0)).members.values():
            for key, node in row.members.items():
                seen += 1
                if key not in known:
                    unread.append(Unread(node.line, f"{table} {key}"))
    return seen, unread


def _interfaces(document: object) -> tuple[Interface, ...]:
    """Ports with their speeds; loopback and management interfaces with their addresses."""
    addresses: dict[str, list[str]] = {}
    for table in ("LOOPBACK_INTERFACE", "MGMT_INTERFACE"):
        for key in _table(document, table):
            name, _, address = key.partition("|")
            addresses.setdefault(name, []).extend([address.partition("/")[0]] if address else [])
    ports = [
        Interface(name, int(speed) if (speed := str(row.get("speed", ""))).isdecimal() else None)
        for name, row in _table(document, "PORT").items()
        if isinstance(row, dict)
    ]
    return (*ports, *(Interface(name, addresses=tuple(found)) for name, found in addresses.items()))


def _form(config: ExportConfig) -> str:
    """The settings as tables for `config load`."""
    sampling = config.sampling
    if sampling is None:
        return "{}\n"
    tables: dict[str, object] = {"SFLOW": {"global": _global(sampling)}}
    if sampling.enabled.value:
        tables = {"FEATURE": {"sflow": {"state": "enabled"}}, **tables}
    if sampling.collectors:
        tables["SFLOW_COLLECTOR"] = {_name(n): _collector_row(c) for n, c in enumerate(sampling.collectors)}
    sessions: dict[str, object] = {}
    if sampling.all_ports.configured:
        sessions["all"] = {"admin_state": "up" if sampling.all_ports.value else "down"}
    sessions |= {port.name: _session(port) for port in sampling.ports}
    if sessions:
        tables["SFLOW_SESSION"] = sessions
    return json.dumps(tables, indent=4) + "\n"


def _name(number: int) -> str:
    return f"flowprism{number + 1}" if number else "flowprism"


def _global(sampling: PacketSampling) -> dict[str, str]:
    row = {}
    if sampling.enabled.configured:
        row["admin_state"] = "up" if sampling.enabled.value else "down"
    if sampling.polling_s.configured:
        row["polling_interval"] = str(sampling.polling_s.value)
    if sampling.agent is not None:
        row["agent_id"] = sampling.agent.value
    if sampling.direction.configured:
        row["sample_direction"] = _WORDS[sampling.direction.value]
    return row


def _collector_row(collector: Collector) -> dict[str, str]:
    row = {"collector_ip": collector.address}
    if collector.port.configured:
        row["collector_port"] = str(collector.port.value)
    if collector.vrf is not None:
        row["collector_vrf"] = collector.vrf.value
    return row


def _session(port: PortSampling) -> dict[str, str]:
    row = {}
    if port.enabled.configured:
        row["admin_state"] = "up" if port.enabled.value else "down"
    if port.rate is not None:
        row["sample_rate"] = str(port.rate.value)
    if port.direction is not None:
        row["sample_direction"] = _WORDS[port.direction.value]
    return row


def commands(config: ExportConfig) -> list[Command]:
    """The same as commands of SONiC's command line."""
    sampling = config.sampling
    if sampling is None:
        return []
    top = "sudo config sflow"
    out: list[Command] = []
    if sampling.agent is not None:
        out.append(Command(f"{top} agent-id add {sampling.agent.value}", key="agent-id", undo=f"{top} agent-id del"))
    for number, collector in enumerate(sampling.collectors):
        port = f" --port {collector.port.value}" if collector.port.configured else ""
        vrf = f" --vrf {collector.vrf.value}" if collector.vrf is not None else ""
        line = f"{top} collector add {_name(number)} {collector.address}{port}{vrf}"
        out.append(Command(line, undo=f"{top} collector del {_name(number)}"))
    if sampling.polling_s.configured:
        out.append(Command(f"{top} polling-interval {sampling.polling_s.value}", key="polling-interval"))
    if sampling.direction.configured:
        out.append(Command(f"{top} sample-direction {_WORDS[sampling.direction.value]}", key="sample-direction"))
    if sampling.all_ports.configured:
        word = "enable" if sampling.all_ports.value else "disable"
        out.append(Command(f"{top} interface {word} all", key="all", undo=f"{top} interface enable all"))
    for row in sampling.ports:
        out += _session_commands(row, f"{top} interface")
    if sampling.enabled.configured and sampling.enabled.value:
        out.append(Command("sudo config feature state sflow enabled", key="feature"))
        out.append(Command(f"{top} enable", key="state", undo=f"{top} disable"))
    return out


def _session_commands(port: PortSampling, top: str) -> list[Command]:
    out = []
    if port.enabled.configured:
        word = "enable" if port.enabled.value else "disable"
        out.append(Command(f"{top} {word} {port.name}", key=f"state {port.name}", undo=f"{top} enable {port.name}"))
    if port.rate is not None:
        line = f"{top} sample-rate {port.name} {port.rate.value}"
        out.append(Command(line, key=f"rate {port.name}", undo=f"{top} sample-rate {port.name} default"))
    if port.direction is not None:
        word = _WORDS[port.direction.value]
        out.append(Command(f"{top} sample-direction {port.name} {word}", key=f"direction {port.name}"))
    return out


DIALECT = ConfigDialect(
    vendor=Vendor.SONIC,
    document="https://github.com/sonic-net/SONiC/blob/master/doc/sflow/sflow_hld.md",
    blank=_sampling({}),
    read=read,
    form=_form,
    commands=commands,
    limits=Limits(rate=(256, 8_388_608), polling_s=(5, 300), collectors=2),
    settable=frozenset(
        {"agent", "collector.vrf", "polling_s", "direction", "all_ports", "port.enabled", "port.rate", "port.direction"}
    ),
    directions=frozenset({Direction.INGRESS, Direction.EGRESS, Direction.BOTH}),
    speed_divisor=1_000_000,
    file_name="{}.config_db.json",
)
