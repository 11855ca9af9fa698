"""Cisco NX-OS running configurations (Nexus 9000): `sflow ...`, and NetFlow's exporters and monitors.

Commands, defaults and limits: Nexus 9000 Series NX-OS System Management Configuration Guide, chapters "Configuring
sFlow" and "Configuring NetFlow" (release 10.5(x)). sFlow always samples both directions of a data source; there is one
collector; samples to the CPU pass a hardware rate limiter of 40,000 packets a second unless configured. A NetFlow
monitor exports every `flow timeout`, 10 s unless configured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from flowprism.exporter_config.commands import Command, keyed, keyed_settings, script
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
    Value,
    Vendor,
    default,
    sorted_ports,
)
from flowprism.exporter_config.vendors.sampling_statements import take_statements
from flowprism.exporter_config.vendors.text_blocks import (
    Block,
    Line,
    find_blocks,
    find_first,
    find_lines,
    line_of,
    unread_line,
    with_newlines,
)

DEFAULT_RATE = 4096
DEFAULT_LIMIT = 40_000
FLOW_TIMEOUT_S = 10.0
_HOSTNAME = re.compile(r"^(?:hostname|switchname) (\S+)", re.MULTILINE)
_TUNNEL = re.compile(r"^(?:interface nve|feature nv overlay)", re.MULTILINE)
_SFLOW = re.compile(r"^(?:(?:no )?feature sflow|(?:no )?sflow [^\n]*|hardware rate-limiter sflow [^\n]*)", re.MULTILINE)
_FLOW_TIMEOUT = re.compile(r"^flow timeout (\d+)", re.MULTILINE)
_ADDRESS = re.compile(r"^\s+ip(?:v6)? address ([^\s/]+)", re.MULTILINE)
_SPEED = re.compile(r"^\s+speed (\d+)\s*$", re.MULTILINE)
_CHANNEL = re.compile(r"^\s+channel-group (\d+)", re.MULTILINE)
_FLOW_WORDS = frozenset(
    {"destination", "transport", "source", "description", "version", "dscp", "template", "option", "record", "exporter",
     "match", "collect", "no", "exit", "exporter-stats"}
)  # fmt: skip
_RANGE = re.compile(r"(.*?)(\d+)-(\d+)$")
_BLANK = PacketSampling(
    rate=default(DEFAULT_RATE),
    direction=default(Direction.BOTH),
    all_ports=default(False),
    polling_s=default(20),
    limit_per_s=default(DEFAULT_LIMIT),
)


def read(text: str, file: str) -> ExportConfig:
    """The export settings of a running configuration."""
    text = with_newlines(text)
    blocks = list(find_blocks(text, "interface "))
    found = take_statements(find_lines(text, _SFLOW), _with_line, unread_line, _BLANK)
    exported = [line for block in find_blocks(text, "flow (?:exporter|monitor) \\S") for line in block.lines()]
    around = Surroundings(
        file=file,
        hostname=find_first(text, _HOSTNAME),
        interfaces=tuple(_interface(block) for block in blocks),
        tunnel_line=line_of(text, _TUNNEL),
        statements=found.seen + len(exported),
        unread=(*found.unread, *(unread_line(line) for line in exported if line.words[0] not in _FLOW_WORDS)),
    )
    return ExportConfig(Vendor.CISCO_NXOS, found.sampling, tuple(_flows(text, blocks)), around)


def _with_line(sampling: PacketSampling, line: Line) -> PacketSampling | None:
    """With one statement more; None where it is not understood."""
    match line.words:
        case ["feature", "sflow"]:
            return replace(sampling, enabled=Value(True, line=line.number))
        case ["no", *_]:
            return sampling  # the default
        case ["hardware", "rate-limiter", "sflow", number] if number.isdecimal():
            return replace(sampling, limit_per_s=Value(int(number), line=line.number))
        case ["sflow", "sampling-rate", number] if number.isdecimal():
            return replace(sampling, rate=Value(int(number), line=line.number))
        case ["sflow", "max-sampled-size", number] if number.isdecimal():
            return replace(sampling, header_bytes=Value(int(number), line=line.number))
        case ["sflow", "counter-poll-interval", number] if number.isdecimal():
            return replace(sampling, polling_s=Value(int(number), line=line.number))
        case ["sflow", "collector-ip", address, *rest]:
            return _with_collector(sampling, address, rest, line)
        case ["sflow", "collector-port", number] if number.isdecimal():
            ported = tuple(replace(c, port=Value(int(number), line=line.number)) for c in sampling.collectors)
            return replace(sampling, collectors=ported)
        case ["sflow", "agent-ip", address]:
            return replace(sampling, agent=Value(address, line=line.number))
        case ["sflow", "data-source", "interface", *port] if port:
            return _with_ports(sampling, "".join(port), line)
        case ["sflow", "max-datagram-size" | "extended", *_]:
            return sampling
    return None


def _with_collector(sampling: PacketSampling, address: str, rest: list[str], line: Line) -> PacketSampling:
    vrf = Value(rest[1], line=line.number) if rest[:1] == ["vrf"] and len(rest) > 1 else None
    port = sampling.collectors[0].port if sampling.collectors else default(6343)
    return replace(sampling, collectors=(*sampling.collectors, Collector(address, port, vrf, line.number)))


def _with_ports(sampling: PacketSampling, named: str, line: Line) -> PacketSampling:
    return sampling.with_ports(*(PortSampling(name, Value(True, line=line.number)) for name in expand_ports(named)))


def expand_ports(named: str) -> Iterator[str]:
    """Names of the ports in `ethernet1/1-64` or `port-channel7`, as `interface` lines write them."""
    name = "Ethernet" + named[len("ethernet") :] if named.lower().startswith("ethernet") else named
    found = _RANGE.fullmatch(name) if name.startswith("Ethernet") else None
    if found is None:
        yield name
        return
    for number in range(int(found.group(2)), int(found.group(3)) + 1):
        yield f"{found.group(1)}{number}"


def _interface(block: Block) -> Interface:
    """A port's name, the speed that is forced on it (Mb/s), and its addresses."""
    speed = _SPEED.search(block.body)
    addresses = tuple(_ADDRESS.findall(block.body)) if " address " in block.body else ()
    channel = find_first(block.body, _CHANNEL)
    return Interface(
        block.head.text.removeprefix("interface "), int(speed.group(1)) if speed else None, addresses,
        None if channel is None else f"port-channel{channel}",
    )  # fmt: skip


def _flows(text: str, blocks: list[Block]) -> Iterator[FlowExport]:
    """NetFlow monitors with the exporter that each names."""
    exporters = {block.head.words[2]: block for block in find_blocks(text, "flow exporter \\S")}
    found = _FLOW_TIMEOUT.search(text)
    timeout: Value[float] = default(FLOW_TIMEOUT_S)
    if found is not None:
        timeout = Value(float(found.group(1)), line=line_of(text, _FLOW_TIMEOUT))
    for block in find_blocks(text, "flow monitor \\S"):
        name = block.head.words[2]
        flow = FlowExport(
            name, "NetFlow v9", Value(True, line=block.head.number), (), active_timeout_s=timeout,
            ports=sorted_ports(_monitored(blocks, name)), line=block.head.number,
        )  # fmt: skip
        for line in block.lines():
            if line.words[0] == "exporter" and line.words[-1] in exporters:
                flow = _with_exporter(flow, exporters[line.words[-1]])
        yield flow


def _with_exporter(flow: FlowExport, block: Block) -> FlowExport:
    address: Line | None = None
    vrf: Value[str] | None = None
    port: Value[int] = default(9995)
    source: Value[str] | None = flow.source
    for line in block.lines():
        match line.words:
            case ["destination", _, "use-vrf", name]:
                address, vrf = line, Value(name, line=line.number)
            case ["destination", _]:
                address = line
            case ["transport", "udp", number] if number.isdecimal():
                port = Value(int(number), line=line.number)
            case ["source", *name]:
                source = Value("".join(name), line=line.number)
    if address is None:
        return flow
    collector = Collector(address.words[1], port, vrf, address.number)
    return replace(flow, collectors=(*flow.collectors, collector), source=source)


def _monitored(blocks: list[Block], monitor: str) -> Iterator[PortSampling]:
    statement = f"ip flow monitor {monitor} input"
    for block in blocks:
        if statement in block.body:
            line = next((line for line in block.lines() if line.text.startswith(statement)), block.head)
            yield PortSampling(block.head.text.removeprefix("interface "), Value(True, line=line.number))


def commands(config: ExportConfig) -> list[Command]:
    """The settings as commands."""
    out = _sflow_commands(config.sampling) if config.sampling is not None else []
    if config.flows:
        out.append(Command("feature netflow"))
        timeout = config.flows[0].active_timeout_s
        if timeout is not None and timeout.configured:
            out.append(Command(f"flow timeout {timeout.value:g}", key="flow timeout"))
    for flow in config.flows:
        out += _monitor_commands(flow)
    return out


def _sflow_commands(sampling: PacketSampling) -> list[Command]:
    out: list[Command] = []
    if sampling.enabled.configured and sampling.enabled.value:
        out.append(Command("feature sflow", undo="no feature sflow"))
    out += keyed_settings(
        ("sflow sampling-rate", sampling.rate),
        ("sflow max-sampled-size", sampling.header_bytes),
        ("sflow counter-poll-interval", sampling.polling_s),
        ("hardware rate-limiter sflow", sampling.limit_per_s),
    )
    for collector in sampling.collectors:
        vrf = f" vrf {collector.vrf.value}" if collector.vrf is not None else ""
        out.append(Command(f"sflow collector-ip {collector.address}{vrf}", undo="no sflow collector-ip"))
    if sampling.collectors and sampling.collectors[0].port.configured:
        port = sampling.collectors[0].port.value
        out.append(keyed("sflow collector-port", port))
    if sampling.agent is not None:
        out.append(keyed("sflow agent-ip", sampling.agent.value))
    for port_ in sampling.ports:
        line = f"sflow data-source interface {port_.name}"
        out.append(Command(line, undo=f"no {line}"))
    return out


def _monitor_commands(flow: FlowExport) -> list[Command]:
    out = []
    names = [flow.name if n == 0 else f"{flow.name}-{n}" for n in range(len(flow.collectors))]
    for name, collector in zip(names, flow.collectors, strict=True):
        context = (f"flow exporter {name}",)
        vrf = f" use-vrf {collector.vrf.value}" if collector.vrf is not None else ""
        out.append(Command(f"destination {collector.address}{vrf}", context, key="destination"))
        if collector.port.configured:
            out.append(Command(f"transport udp {collector.port.value}", context, key="transport"))
        if flow.source is not None:
            out.append(Command(f"source {flow.source.value}", context, key="source"))
        out.append(Command("version 9", context))
    context = (f"flow monitor {flow.name}",)
    out.append(Command(context[0]))
    out.append(Command("record netflow-original", context))
    out += [Command(f"exporter {name}", context, undo=f"no exporter {name}") for name in names]
    for port in flow.ports:
        line = f"ip flow monitor {flow.name} input"
        out.append(Command(line, (f"interface {port.name}",), undo=f"no {line}"))
    return out


def _form(config: ExportConfig) -> str:
    """The settings as lines of a running configuration."""
    return script(commands(config), indent="  ")


DIALECT = ConfigDialect(
    vendor=Vendor.CISCO_NXOS,
    document="Nexus 9000 Series NX-OS System Management Configuration Guide, Configuring sFlow",
    blank=_BLANK,
    read=read,
    form=_form,
    commands=commands,
    limits=Limits(
        rate=(4096, 1_000_000_000), polling_s=(1, 2_147_483_647), header_bytes=(64, 256), collectors=1,
        timeout_s=(5, 60),
    ),
    settable=frozenset({"agent", "collector.vrf", "rate", "polling_s", "header_bytes", "limit_per_s", "port.enabled"}),
    directions=frozenset({Direction.BOTH}),
    indent="  ",
)  # fmt: skip
