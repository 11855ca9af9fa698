"""OpenConfig documents (IETF JSON): /sampling/sflow, as gNMI Get gives it and Set takes it.

Paths, defaults and limits: the YANG model openconfig-sampling-sflow (https://openconfig.net/projects/models/schemadocs/).
Its parameters, rates of both directions and of single interfaces among them, are those that the test plan SFLOW-1 of
openconfig/featureprofiles lists. Which rate counts where none is set is the device's own affair.
"""

from __future__ import annotations

import json
import re

from datamodel.errors import InputError
from flowprism.exporter_config.commands import Command
from flowprism.exporter_config.dialect import ConfigDialect, Limits
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    ExportConfig,
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
from flowprism.exporter_config.vendors.text_blocks import find_first

_HOSTNAME = re.compile(r'"(?:[\w-]+:)?hostname"\s*:\s*"([^"]+)"')
_KEYS = ("openconfig-sampling-sflow:sflow", "sflow")
_KNOWN = frozenset(
    {"enabled", "agent-id-ipv4", "agent-id-ipv6", "dscp", "polling-interval", "sample-size", "ingress-sampling-rate",
     "egress-sampling-rate", "sampling-rate", "source-address", "source-ipv4", "source-ipv6"}
)  # fmt: skip


def read(text: str, file: str) -> ExportConfig:
    """The export settings of a document.

    Raises:
        InputError: it is not JSON.
    """
    try:
        json.loads(text)
        top = next((node for _, node in find_objects(text, *_KEYS)), None)
    except ValueError as error:
        raise InputError(f"{file}: not JSON: {error}") from error
    hostname = find_first(text, _HOSTNAME)
    if top is None:
        return ExportConfig(Vendor.OPENCONFIG, around=Surroundings(file, hostname))
    top = _without_prefixes(top)
    settings = (top.find("config") or Node(0)).members
    unread = tuple(Unread(node.line, f"sflow {key}") for key, node in settings.items() if key not in _KNOWN)
    around = Surroundings(file, hostname, statements=_count(top), unread=unread)
    return ExportConfig(Vendor.OPENCONFIG, _sampling(top), around=around)


def _without_prefixes(node: Node) -> Node:
    """Members by their names without the module's."""
    members = {key.rpartition(":")[2]: _without_prefixes(member) for key, member in node.members.items()}
    return Node(node.line, node.text, members, [_without_prefixes(item) for item in node.items])


def _count(node: Node) -> int:
    below = [*node.members.values(), *node.items]
    return sum(map(_count, below)) if below else 1


def _sampling(top: Node) -> PacketSampling:
    settings = top.find("config") or Node(0)
    agent = settings.find("agent-id-ipv4") or settings.find("agent-id-ipv6")
    rate = read_number(settings.find("ingress-sampling-rate") or settings.find("sampling-rate"))
    egress = read_number(settings.find("egress-sampling-rate"))
    return PacketSampling(
        enabled=_flag(settings.find("enabled")) or default(False),
        collectors=tuple(
            read_collector(node, "address", "port", "network-instance")
            for node in _rows(top, "collectors", "collector")
        ),
        agent=Value(agent.text or "", line=agent.line) if agent is not None else None,
        rate=rate,
        egress_rate=egress,
        direction=default(Direction.of(ingress=rate is not None, egress=egress is not None)),
        all_ports=default(False),
        header_bytes=read_number(settings.find("sample-size")) or default(128),
        polling_s=read_number(settings.find("polling-interval")) or default(20),
        ports=sorted_ports(_port(node) for node in _rows(top, "interfaces", "interface")),
    )


def _rows(top: Node, *path: str) -> list[Node]:
    found = top.find(*path)
    return [] if found is None else [row.find("config") or row for row in found.items]


def _flag(node: Node | None) -> Value[bool] | None:
    return None if node is None else Value(node.text == "true", line=node.line)


def _port(node: Node) -> PortSampling:
    name = node.find("name")
    return PortSampling(
        (name.text or "") if name is not None else "",
        _flag(node.find("enabled")) or default(False),
        read_number(node.find("ingress-sampling-rate") or node.find("sampling-rate")),
        read_number(node.find("egress-sampling-rate")),
        polling_s=read_number(node.find("polling-interval")),
    )


def _settings(sampling: PacketSampling) -> dict[str, object]:
    out: dict[str, object] = {}
    if sampling.enabled.configured:
        out["enabled"] = sampling.enabled.value
    if sampling.agent is not None:
        out["agent-id-ipv6" if ":" in sampling.agent.value else "agent-id-ipv4"] = sampling.agent.value
    for key, value in (
        ("polling-interval", sampling.polling_s), ("sample-size", sampling.header_bytes),
        ("ingress-sampling-rate", sampling.rate), ("egress-sampling-rate", sampling.egress_rate),
    ):  # fmt: skip
        if value is not None and value.configured:
            out[key] = value.value
    return out


def _collector_row(collector: Collector) -> dict[str, object]:
    row: dict[str, object] = {"address": collector.address}
    if collector.port.configured:
        row["port"] = collector.port.value
    if collector.vrf is not None:
        row["network-instance"] = collector.vrf.value
    return row


def _port_row(port: PortSampling) -> dict[str, object]:
    row: dict[str, object] = {"name": port.name}
    if port.enabled.configured:
        row["enabled"] = port.enabled.value
    for key, value in (
        ("ingress-sampling-rate", port.rate), ("egress-sampling-rate", port.egress_rate),
        ("polling-interval", port.polling_s),
    ):  # fmt: skip
        if value is not None:
            row[key] = value.value
    return row


def _form(config: ExportConfig) -> str:
    """The settings as a document for Set."""
    sampling = config.sampling
    if sampling is None:
        return "{}\n"
    sflow: dict[str, object] = {"config": _settings(sampling)}
    if sampling.collectors:
        rows = [_collector_row(collector) for collector in sampling.collectors]
        keyed = [{"address": r["address"], "port": r.get("port", 6343), "config": r} for r in rows]
        sflow["collectors"] = {"collector": keyed}
    if sampling.ports:
        keyed = [{"name": port.name, "config": _port_row(port)} for port in sampling.ports]
        sflow["interfaces"] = {"interface": keyed}
    tree = {"openconfig-sampling:sampling": {"openconfig-sampling-sflow:sflow": sflow}}
    return json.dumps(tree, indent=2) + "\n"


def commands(config: ExportConfig) -> list[Command]:
    """The settings as paths and values for Set."""
    sampling = config.sampling
    if sampling is None:
        return []
    top = "/sampling/sflow"
    out = [_set(f"{top}/config/{key}", value) for key, value in _settings(sampling).items()]
    for collector in sampling.collectors:
        here = f"{top}/collectors/collector[address={collector.address}][port={collector.port.value}]"
        out += [_set(f"{here}/config/{key}", value) for key, value in _collector_row(collector).items()]
    for port in sampling.ports:
        here = f"{top}/interfaces/interface[name={port.name}]"
        out += [_set(f"{here}/config/{key}", value) for key, value in _port_row(port).items()]
    return out


def _set(path: str, value: object) -> Command:
    return Command(f"update {path}: {json.dumps(value)}", key=path, undo=f"delete {path}")


DIALECT = ConfigDialect(
    vendor=Vendor.OPENCONFIG,
    document="https://openconfig.net/projects/models/schemadocs/",
    blank=_sampling(Node(0)),
    read=read,
    form=_form,
    commands=commands,
    limits=Limits(),
    settable=frozenset(
        {"agent", "collector.vrf", "rate", "egress_rate", "polling_s", "header_bytes", "port.enabled", "port.rate",
         "port.egress_rate", "port.polling_s"}
    ),
    directions=frozenset({Direction.NONE, Direction.INGRESS, Direction.EGRESS, Direction.BOTH}),
    file_name="{}.openconfig.json",
)  # fmt: skip
