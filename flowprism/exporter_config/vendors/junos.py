"""Juniper Junos configurations: `protocols sflow`, and IPFIX by inline flow monitoring.

Statements, defaults and limits: Junos CLI Reference, "sample-rate", "polling-interval", "adaptive-sample-rate" and
"agent-id" at [edit protocols sflow], "flow-active-timeout" at [edit services flow-monitoring]
(https://www.juniper.net/documentation/us/en/software/junos/cli-reference/). Neither direction is sampled unless its
rate is configured. Adaptive sampling is on: beyond 300 samples a second and line card the device halves the rate of its
busiest ports by itself, unless `adaptive-sample-rate` allows more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flowprism.exporter_config.commands import Command
from flowprism.exporter_config.dialect import ConfigDialect, Limits
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    ExportConfig,
    FlowExport,
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
from flowprism.exporter_config.vendors.junos_statements import JunosStatement, read_statements
from flowprism.exporter_config.vendors.text_blocks import with_newlines

DEFAULT_LIMIT = 300
TIMEOUT_S = 60.0
_GLOBAL, _V9 = "sampling", "NetFlow v9"  # sampling without an instance, by the routing engine or a services card
_FLOW_STATEMENTS = (("services", "flow-monitoring"), ("forwarding-options", "sampling"))
_BLANK = PacketSampling(
    enabled=default(True),  # by the presence of statements
    rate=None,
    direction=default(Direction.NONE),
    all_ports=default(False),
    polling_s=default(20),
    limit_per_s=default(DEFAULT_LIMIT),
)


def read(text: str, file: str) -> ExportConfig:
    """The export settings of a configuration with braces or of `set` commands."""
    statements = read_statements(with_newlines(text))
    sampling: PacketSampling | None = None
    seen, unread = 0, []
    for statement in statements:
        if statement.words[:2] in _FLOW_STATEMENTS:
            seen += 1
            if not _is_flow_statement(statement.words[2:]):
                unread.append(Unread(statement.line, " ".join(statement.words[1:3])))
        if statement.words[:2] != ("protocols", "sflow"):
            continue
        seen += 1
        taken = _with_statement(sampling or _BLANK, statement.words[2:], statement.line)
        if taken is None:
            unread.append(Unread(statement.line, " ".join(statement.words[1:3])))
        else:
            sampling = taken
    if sampling is not None:
        direction = Direction.of(ingress=sampling.rate is not None, egress=sampling.egress_rate is not None)
        sampling = replace(sampling, ports=sorted_ports(sampling.ports), direction=default(direction))
    around = _surroundings(statements, file)
    return ExportConfig(
        Vendor.JUNIPER_JUNOS, sampling, tuple(_flows(statements)),
        replace(around, statements=seen, unread=tuple(unread)),
    )  # fmt: skip


def _is_flow_statement(words: tuple[str, ...]) -> bool:
    """Whether a statement on inline flow monitoring is understood, or changes neither rate nor time nor collector."""
    match words:
        case ["version-ipfix" | "version9" | "version", *_] | ["instance" | "input" | "family", _, *_]:
            return True
        case ["sample-once"] | ["traceoptions", *_]:
            return True
    return False


def _with_statement(sampling: PacketSampling, words: tuple[str, ...], line: int) -> PacketSampling | None:
    match words:
        case ["disable"]:
            return replace(sampling, enabled=Value(False, line=line))
        case ["agent-id", *_, address]:
            return replace(sampling, agent=Value(address, line=line))
        case ["polling-interval", seconds] if seconds.isdecimal():
            return replace(sampling, polling_s=Value(int(seconds), line=line))
        case ["sample-rate", "ingress", rate] if rate.isdecimal():
            return replace(sampling, rate=Value(int(rate), line=line))
        case ["sample-rate", "egress", rate] if rate.isdecimal():
            return replace(sampling, egress_rate=Value(int(rate), line=line))
        case ["sample-rate", rate] if rate.isdecimal():  # releases before 10.4, and QFX of old
            return replace(sampling, rate=Value(int(rate), line=line))
        case ["adaptive-sample-rate", rate, *_] if rate.isdecimal():
            return replace(sampling, limit_per_s=Value(int(rate), line=line))
        case ["collector", address, *rest]:
            return _with_collector(sampling, address, rest, line)
        case ["interfaces", name, *rest]:
            return _with_port(sampling, name, rest, line)
        case ["source-ip" | "adaptive-sample-rate" | "traceoptions" | "straight-routed-packets" | "no-tunnel", *_]:
            return sampling
    return None


def _with_collector(sampling: PacketSampling, address: str, rest: list[str], line: int) -> PacketSampling:
    collector = sampling.collector(address) or Collector(address, default(6343), line=line)
    match rest:
        case ["udp-port", port] if port.isdecimal():
            collector = replace(collector, port=Value(int(port), line=line))
        case ["routing-instance", name]:
            collector = replace(collector, vrf=Value(name, line=line))
    return sampling.with_collector(collector)


def _with_port(sampling: PacketSampling, name: str, rest: list[str], line: int) -> PacketSampling:
    if name == "all" and not rest:
        return replace(sampling, all_ports=Value(True, line=line))
    port = sampling.port(name) or PortSampling(name, Value(True, line=line))
    match rest:
        case ["sample-rate", "ingress", rate] | ["sample-rate", rate] if rate.isdecimal():
            port = replace(port, rate=Value(int(rate), line=line))
        case ["sample-rate", "egress", rate] if rate.isdecimal():
            port = replace(port, egress_rate=Value(int(rate), line=line))
        case ["polling-interval", seconds] if seconds.isdecimal():
            port = replace(port, polling_s=Value(int(seconds), line=line))
    return sampling.with_ports(port)


def _surroundings(statements: Iterable[JunosStatement], file: str) -> Surroundings:
    hostname, tunnel = None, 0
    addresses: dict[str, list[str]] = {}
    for statement in statements:
        match statement.words:
            case ["system", "host-name", name]:
                hostname = name
            case ["interfaces", name, "unit", unit, "family", "inet" | "inet6", "address", address, *_]:
                addresses.setdefault(f"{name}.{unit}", []).append(address.partition("/")[0])
            case ["interfaces", name, *_]:
                addresses.setdefault(name, [])
            case ["vlans", _, "vxlan", *_] if not tunnel:
                tunnel = statement.line
    interfaces = tuple(Interface(name, addresses=tuple(found)) for name, found in addresses.items())
    return Surroundings(file, hostname, interfaces, tunnel)


def _flows(statements: list[JunosStatement]) -> Iterable[FlowExport]:
    """Sampling instances with the IPFIX template that each uses."""
    templates: dict[str, dict[str, Value[float]]] = {}
    flows: dict[str, FlowExport] = {}
    used: dict[str, str] = {}
    ports: dict[str, PortSampling] = {}
    for statement in statements:
        line = statement.line
        match statement.words:
            case ["services", "flow-monitoring", "version-ipfix", "template", name, setting, seconds] if (
                setting.endswith("-timeout") and seconds.isdecimal()
            ):
                templates.setdefault(name, {})[setting] = Value(float(seconds), line=line)
            case ["forwarding-options", "sampling", "instance", name, *rest]:
                flow = flows.get(name) or FlowExport(name, "IPFIX", default(False), (), line=line)
                flows[name] = _with_instance(flow, rest, line)
                if rest[-3:-1] == ["version-ipfix", "template"]:
                    used[name] = rest[-1]
            case ["forwarding-options", "sampling", *rest] if rest[:1] in (["input"], ["family"]):
                flow = flows.get(_GLOBAL) or FlowExport(_GLOBAL, _V9, Value(True, line=line), (), line=line)
                flows[_GLOBAL] = _with_instance(flow, rest, line)
            case ["chassis", "fpc", _, "sampling-instance", name] if name in flows:
                flows[name] = replace(flows[name], enabled=Value(True, line=line))
            case ["interfaces", name, "unit", unit, "family", "inet" | "inet6", "sampling", "input" | "output"]:
                ports.setdefault(f"{name}.{unit}", PortSampling(f"{name}.{unit}", Value(True, line=line)))
    running = {s.words[4]: s.line for s in statements if s.words[:2] == ("chassis", "fpc") and len(s.words) == 5}
    for name, flow in flows.items():
        times = templates.get(used.get(name, ""), {})
        yield replace(
            flow,
            enabled=Value(True, line=running[name]) if name in running else flow.enabled,
            active_timeout_s=times.get("flow-active-timeout", default(TIMEOUT_S)),
            inactive_timeout_s=times.get("flow-inactive-timeout", default(TIMEOUT_S)),
            ports=sorted_ports(ports.values()),
        )


def _with_instance(flow: FlowExport, words: list[str], line: int) -> FlowExport:
    match words:
        case ["input", "rate", rate] if rate.isdecimal():
            return replace(flow, rate=Value(int(rate), line=line))
        case ["family", _, "output", "flow-server", address, *rest]:
            known = {collector.address: collector for collector in flow.collectors}
            collector = known.get(address, Collector(address, default(4739), line=line))
            if rest[:1] == ["port"] and rest[1:2] and rest[1].isdecimal():
                collector = replace(collector, port=Value(int(rest[1]), line=line))
            known[address] = collector
            return replace(flow, collectors=tuple(known.values()))
        case ["family", _, "output", "inline-jflow", "source-address", address]:
            return replace(flow, source=Value(address, line=line))
    return flow


def commands(config: ExportConfig) -> list[Command]:
    """The settings as `set` commands."""
    out = _sflow_commands(config.sampling) if config.sampling is not None else []
    for flow in config.flows:
        out += _instance_commands(flow)
    return out


def _set(path: str, value: object = "") -> Command:
    line = f"set {path} {value}".rstrip()
    return Command(line, key=path, undo=f"delete {path}")


def _sflow_commands(sampling: PacketSampling) -> list[Command]:
    top = "protocols sflow"
    out: list[Command] = []
    if sampling.enabled.configured and not sampling.enabled.value:
        out.append(_set(f"{top} disable"))
    if sampling.agent is not None:
        out.append(_set(f"{top} agent-id", sampling.agent.value))
    if sampling.polling_s.configured:
        out.append(_set(f"{top} polling-interval", sampling.polling_s.value))
    if sampling.rate is not None:
        out.append(_set(f"{top} sample-rate ingress", sampling.rate.value))
    if sampling.egress_rate is not None:
        out.append(_set(f"{top} sample-rate egress", sampling.egress_rate.value))
    if sampling.limit_per_s is not None and sampling.limit_per_s.configured:
        out.append(_set(f"{top} adaptive-sample-rate", sampling.limit_per_s.value))
    for collector in sampling.collectors:
        here = f"{top} collector {collector.address}"
        out.append(_set(here))
        if collector.port.configured:
            out.append(_set(f"{here} udp-port", collector.port.value))
        if collector.vrf is not None:
            out.append(_set(f"{here} routing-instance", collector.vrf.value))
    if sampling.all_ports.value:
        out.append(_set(f"{top} interfaces all"))
    for port in sampling.ports:
        out += _port_commands(port, f"{top} interfaces {port.name}")
    return out


def _port_commands(port: PortSampling, here: str) -> list[Command]:
    out = [_set(here)]
    for setting, value in (
        ("sample-rate ingress", port.rate), ("sample-rate egress", port.egress_rate),
        ("polling-interval", port.polling_s),
    ):  # fmt: skip
        if value is not None:
            out.append(_set(f"{here} {setting}", value.value))
    return out


def _instance_commands(flow: FlowExport) -> list[Command]:
    template = f"services flow-monitoring version-ipfix template {flow.name}"
    instance = f"forwarding-options sampling instance {flow.name}"
    output = f"{instance} family inet output"
    out: list[Command] = []
    for setting, value in (("active", flow.active_timeout_s), ("inactive", flow.inactive_timeout_s)):
        if value is not None and value.configured:
            out.append(_set(f"{template} flow-{setting}-timeout", f"{value.value:g}"))
    out.append(_set(f"{template} ipv4-template"))
    if flow.rate is not None:
        out.append(_set(f"{instance} input rate", flow.rate.value))
    for collector in flow.collectors:
        if collector.port.configured:
            out.append(_set(f"{output} flow-server {collector.address} port", collector.port.value))
        out.append(_set(f"{output} flow-server {collector.address} version-ipfix template", flow.name))
    if flow.source is not None:
        out.append(_set(f"{output} inline-jflow source-address", flow.source.value))
    if flow.enabled.value:
        out += [_set(f"chassis fpc {card} sampling-instance", flow.name) for card in _cards(flow)]
    for port in flow.ports:
        name, _, unit = port.name.partition(".")
        out.append(_set(f"interfaces {name} unit {unit or 0} family inet sampling input"))
    return out


def _cards(flow: FlowExport) -> list[str]:
    """Line cards of the metered ports, et-CARD/PIC/PORT."""
    cards = {port.name.partition("-")[2].partition("/")[0] for port in flow.ports if "-" in port.name}
    return sorted(cards) or ["0"]


DIALECT = ConfigDialect(
    vendor=Vendor.JUNIPER_JUNOS,
    document="https://www.juniper.net/documentation/us/en/software/junos/cli-reference/",
    blank=_BLANK,
    read=read,
    commands=commands,
    limits=Limits(
        rate=(1, 1_073_741_823), polling_s=(1, 3600), samples_per_s=(300, 30_000), collectors=4, timeout_s=(10, 600)
    ),
    settable=frozenset(
        {"agent", "collector.vrf", "rate", "egress_rate", "polling_s", "limit_per_s", "port.enabled", "port.rate",
         "port.egress_rate", "port.polling_s"}
    ),
    directions=frozenset({Direction.NONE, Direction.INGRESS, Direction.EGRESS, Direction.BOTH}),
    limit_per_card=True,
)  # fmt: skip
