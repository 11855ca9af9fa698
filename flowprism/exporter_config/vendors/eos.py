"""Arista EOS running configurations: `sflow ...` and `flow tracking sampled`.

Commands, defaults and limits: EOS User Manual, chapters "sFlow" (https://www.arista.com/en/um-eos/eos-sflow) and
"Sampled Flow Tracking" (https://www.arista.com/en/um-eos/eos-sampled-flow-tracking). Sampling is 1 in 1,048,576 unless
configured; a rate below 16,384 needs the keyword `dangerous`; counters are polled every 2 s; with `sflow run` every
Ethernet port is sampled at ingress unless it says otherwise. Timeouts of flow tracking are in milliseconds.
"""

from __future__ import annotations

import re
from dataclasses import replace

from flowprism.exporter_config.commands import Command, keyed, keyed_settings
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

DEFAULT_RATE = 1_048_576
SFLOW_PORT = 6343
IPFIX_PORT = 4739
INACTIVE_MS = 15_000
INTERVAL_MS = 300_000
_HOSTNAME = re.compile(r"^hostname (\S+)", re.MULTILINE)
_TUNNEL = re.compile(r"^interface Vxlan", re.MULTILINE)
_SFLOW = re.compile(r"^(?:no )?sflow [^\n]*", re.MULTILINE)
_ADDRESS = re.compile(r"^\s+ip(?:v6)? address (\S+?)(?:/\d+)?(?: secondary)?$", re.MULTILINE)
_SPEED = re.compile(r"^\s+speed (?:forced |auto )?(\d+)(g|full|gfull|half)?", re.MULTILINE)
# Settings that change neither which packets are sampled nor how they are dated or counted.
_HARMLESS = (
    "qos", "extension", "rewrite", "sample vxlan", "sample input", "sample output", "sample rewrite", "sample include",
)  # fmt: skip
_HARMLESS_TRACKING = (
    "tracker", "exporter", "flow table", "format", "template", "record format", "record export mpls",
    "hardware offload", "encapsulation", "local", "shutdown",
)  # fmt: skip
_BLANK = PacketSampling(
    rate=default(DEFAULT_RATE),
    direction=default(Direction.INGRESS),
    all_ports=default(True),
    polling_s=default(2),
)


def read(text: str, file: str) -> ExportConfig:
    """The export settings of a running configuration."""
    text = with_newlines(text)
    sampling = _BLANK if _SFLOW.search(text) else None
    blocks = list(find_blocks(text, "interface "))
    tracking = list(find_blocks(text, "flow tracking (?:sampled|hardware)"))
    trackers = [tracker for block in tracking for tracker in _flows(block)]
    around = Surroundings(
        file=file,
        hostname=find_first(text, _HOSTNAME),
        interfaces=tuple(_interface(block) for block in blocks),
        tunnel_line=line_of(text, _TUNNEL),
    )
    stated = [line for block in tracking for line in block.lines()]
    seen, unread = len(stated), [unread_line(line) for line in stated if not _is_tracking_statement(line)]
    if sampling is None and any("sflow" in block.body for block in blocks):
        sampling = _BLANK
    if sampling is not None:
        reader = _SflowReader(sampling)
        for line in find_lines(text, _SFLOW):
            seen += 1
            if not reader.take(line):
                unread.append(unread_line(line))
        for block in blocks:
            stated = [line for line in block.lines() if "sflow" in line.words[:2]] if "sflow" in block.body else []
            seen += len(stated)
            unread += [unread_line(line) for line in reader.take_port(block, stated)]
        sampling = reader.result()
    trackers = [replace(tracker, ports=sorted_ports(_tracked(blocks, tracker.name))) for tracker in trackers]
    return ExportConfig(
        Vendor.ARISTA_EOS, sampling, tuple(trackers), replace(around, statements=seen, unread=tuple(unread))
    )


class _SflowReader:
    """Takes one statement after the other; the last of a kind counts, as on the device."""

    def __init__(self, start: PacketSampling) -> None:
        self._is = start
        self._ports: dict[str, PortSampling] = {}

    def result(self) -> PacketSampling:
        return replace(self._is, ports=sorted_ports(self._ports.values()))

    def take(self, line: Line) -> bool:
        """Whether a statement at the margin is understood."""
        words = line.words
        if words[0] == "no":
            return self._revoked(words[2:])
        vrf = None
        if words[1:2] == ["vrf"] and len(words) > 3:
            vrf, words = Value(words[2]), [words[0], *words[3:]]
        return self._set(words[1:], vrf, line.number)

    def _revoked(self, words: list[str]) -> bool:
        return bool(words)  # what a running configuration says with `no` is the default

    def _set(self, words: list[str], vrf: Value[str] | None, line: int) -> bool:
        match words:
            case ["run"]:
                self._is = replace(self._is, enabled=Value(True, line=line))
            case ["sample", "dangerous", rate] if rate.isdecimal():
                self._is = replace(self._is, rate=Value(int(rate), line=line), confirmed=True)
            case ["sample", rate] if rate.isdecimal():
                self._is = replace(self._is, rate=Value(int(rate), line=line), confirmed=False)
            case ["sample", "truncate", "size", size] if size.isdecimal():
                self._is = replace(self._is, header_bytes=Value(int(size), line=line))
            case ["polling-interval", seconds] if _is_number(seconds):
                self._is = replace(self._is, polling_s=Value(round(float(seconds)), line=line))
            case ["destination", address, *port]:
                self._add_collector(address, port, vrf, line)
            case ["source" | "source-interface", name]:
                self._is = replace(self._is, agent=Value(name, line=line))
            case ["interface", "disable", "default"]:
                self._is = replace(self._is, all_ports=Value(False, line=line))
            case ["interface", "egress", *_, "enable", "default"]:
                self._is = replace(self._is, direction=Value(Direction.BOTH, line=line))
            case ["hardware", "acceleration", "sample", rate] if rate.isdecimal():
                self._is = replace(self._is, accelerated_rate=Value(int(rate), line=line))
            case ["hardware", "acceleration", *_]:
                pass
            case _:
                return " ".join(words).startswith(_HARMLESS)
        return True

    def _add_collector(self, address: str, port: list[str], vrf: Value[str] | None, line: int) -> None:
        number = Value(int(port[0]), line=line) if port and port[0].isdecimal() else default(SFLOW_PORT)
        collector = Collector(address, number, vrf, line)
        self._is = replace(self._is, collectors=(*self._is.collectors, collector))

    def take_port(self, block: Block, lines: list[Line]) -> list[Line]:
        """Take the sFlow statements of an interface; those that are not understood are returned."""
        name = block.head.text.removeprefix("interface ")
        port = PortSampling(name, default(True))
        unread = []
        for line in lines:
            match line.words:
                case ["sflow", "enable"]:
                    port = replace(port, enabled=Value(True, line=line.number))
                case ["no", "sflow", "enable"]:
                    port = replace(port, enabled=Value(False, line=line.number))
                case ["sflow", "egress", *_, "enable"]:
                    port = replace(port, direction=Value(Direction.BOTH, line=line.number))
                case ["no", "sflow", "egress", *_, "enable"]:
                    port = replace(port, direction=Value(Direction.INGRESS, line=line.number))
                case ["default", "sflow", *_, "enable"]:
                    pass
                case _:
                    unread.append(line)
        if len(unread) < len(lines):
            self._ports[name] = port
        return unread


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _interface(block: Block) -> Interface:
    """A port's name, the speed that is forced on it, and its addresses."""
    speed = _SPEED.search(block.body)
    mbps = None if speed is None else int(speed.group(1)) * (1 if speed.group(2) in ("full", "half") else 1000)
    addresses = tuple(_ADDRESS.findall(block.body)) if " address " in block.body else ()
    return Interface(block.head.text.removeprefix("interface "), mbps, addresses)


def _is_tracking_statement(line: Line) -> bool:
    """Whether a line of `flow tracking` is understood, by what it sets or because it changes neither rate nor time."""
    match line.words:
        case ["sample", number] | ["record", "export", "on", "interval", number]:
            return number.isdecimal()
        case ["record", "export", "on", "inactive", "timeout", number]:
            return number.isdecimal()
        case ["collector", _] | ["collector", _, "port", _] | ["no", "shutdown"]:
            return True
    return line.text.startswith(_HARMLESS_TRACKING)


def _flows(block: Block) -> list[FlowExport]:
    """The trackers of one kind; what is said before the first tracker counts for all of them."""
    kind = block.head.text.removeprefix("flow tracking ")
    rate: Value[int] | None = default(DEFAULT_RATE) if kind == "sampled" else None
    enabled: Value[bool] = default(False)
    trackers: list[FlowExport] = []
    for line in block.lines():
        match line.words:
            case ["sample", number] if number.isdecimal():
                rate = Value(int(number), line=line.number)
            case ["no", "shutdown"]:
                enabled = Value(True, line=line.number)
            case ["tracker", name]:
                trackers.append(_tracker(f"{kind} {name}", line.number))
            case words if trackers:
                trackers[-1] = _with_statement(trackers[-1], words, line.number)
    return [replace(tracker, rate=rate, enabled=enabled) for tracker in trackers]


def _tracker(name: str, line: int) -> FlowExport:
    return FlowExport(
        name, "IPFIX", default(False), (), active_timeout_s=default(INTERVAL_MS / 1000),
        inactive_timeout_s=default(INACTIVE_MS / 1000), line=line,
    )  # fmt: skip


def _with_statement(tracker: FlowExport, words: list[str], line: int) -> FlowExport:
    match words:
        case ["record", "export", "on", "inactive", "timeout", ms] if ms.isdecimal():
            return replace(tracker, inactive_timeout_s=Value(int(ms) / 1000, line=line))
        case ["record", "export", "on", "interval", ms] if ms.isdecimal():
            return replace(tracker, active_timeout_s=Value(int(ms) / 1000, line=line))
        case ["collector", address, "port", port] if port.isdecimal():
            collector = Collector(address, Value(int(port), line=line), line=line)
            return replace(tracker, collectors=(*tracker.collectors, collector))
        case ["collector", address]:
            return replace(
                tracker, collectors=(*tracker.collectors, Collector(address, default(IPFIX_PORT), line=line))
            )
        case ["local", "interface", name]:
            return replace(tracker, source=Value(name, line=line))
    return tracker


def _tracked(blocks: list[Block], tracker: str) -> list[PortSampling]:
    """Ports on which a tracker runs."""
    statement = f"flow tracker {tracker}"
    ports = []
    for block in blocks:
        if statement not in block.body:
            continue
        for line in block.lines():
            if line.text == statement:
                name = block.head.text.removeprefix("interface ")
                ports.append(PortSampling(name, Value(True, line=line.number)))
    return ports


def commands(config: ExportConfig) -> list[Command]:
    """The settings as commands."""
    out = _sflow_commands(config.sampling) if config.sampling is not None else []
    for kind in dict.fromkeys(flow.name.split()[0] for flow in config.flows):
        out += _tracking_commands(kind, [flow for flow in config.flows if flow.name.startswith(kind)])
    return out


def _sflow_commands(sampling: PacketSampling) -> list[Command]:
    out: list[Command] = []
    if sampling.rate is not None and sampling.rate.configured:
        keyword = "dangerous " if sampling.confirmed else ""
        out.append(keyed("sflow sample", f"{keyword}{sampling.rate.value}"))
    out += keyed_settings(
        ("sflow sample truncate size", sampling.header_bytes), ("sflow polling-interval", sampling.polling_s)
    )
    for collector in sampling.collectors:
        vrf = f"vrf {collector.vrf.value} " if collector.vrf is not None else ""
        number = f" {collector.port.value}" if collector.port.configured else ""
        line = f"sflow {vrf}destination {collector.address}{number}"
        out.append(Command(line, undo=f"no {line}"))
    if sampling.agent is not None:
        name = sampling.agent.value
        word = "source" if name[:1].isdecimal() or ":" in name else "source-interface"
        vrf = next((f"vrf {c.vrf.value} " for c in sampling.collectors if c.vrf is not None), "")
        out.append(Command(f"sflow {vrf}{word} {name}", key="source", undo=f"no sflow {vrf}{word}"))
    if sampling.all_ports.configured and not sampling.all_ports.value:
        out.append(Command("sflow interface disable default", undo="no sflow interface disable default"))
    if sampling.direction.configured and sampling.direction.value is Direction.BOTH:
        out.append(Command("sflow interface egress enable default", undo="no sflow interface egress enable default"))
    if sampling.accelerated_rate is not None:
        out.append(keyed("sflow hardware acceleration sample", sampling.accelerated_rate.value))
    if sampling.enabled.configured and sampling.enabled.value:
        out.append(Command("sflow run", undo="no sflow run"))
    for port in sampling.ports:
        out += _port_commands(port)
    return out


def _port_commands(port: PortSampling) -> list[Command]:
    context = (f"interface {port.name}",)
    out = []
    if port.enabled.configured:
        line = "sflow enable" if port.enabled.value else "no sflow enable"
        out.append(Command(line, context, key="sflow enable", undo="default sflow enable"))
    if port.direction is not None:
        line = "sflow egress enable" if port.direction.value is Direction.BOTH else "no sflow egress enable"
        out.append(Command(line, context, key="sflow egress", undo="default sflow egress enable"))
    return out


def _tracking_commands(kind: str, flows: list[FlowExport]) -> list[Command]:
    if not flows:
        return []
    context = (f"flow tracking {kind}",)
    out = []
    rate = flows[0].rate
    if rate is not None and rate.configured:
        out.append(Command(f"sample {rate.value}", context, key="sample"))
    for flow in flows:
        out += _tracker_commands(flow, context)
    if flows[0].enabled.value:
        out.append(Command("no shutdown", context, undo="shutdown"))
    for flow in flows:
        for port in flow.ports:
            line = f"flow tracker {flow.name}"
            out.append(Command(line, (f"interface {port.name}",), undo=f"no {line}"))
    return out


def _tracker_commands(flow: FlowExport, context: tuple[str, ...]) -> list[Command]:
    inside = (*context, f"tracker {flow.name.split()[1]}")
    out = [Command(inside[-1], context)]
    if flow.inactive_timeout_s is not None and flow.inactive_timeout_s.configured:
        ms = round(flow.inactive_timeout_s.value * 1000)
        out.append(Command(f"record export on inactive timeout {ms}", inside, key="inactive"))
    if flow.active_timeout_s is not None and flow.active_timeout_s.configured:
        ms = round(flow.active_timeout_s.value * 1000)
        out.append(Command(f"record export on interval {ms}", inside, key="interval"))
    exporter = (*inside, "exporter flowprism")
    for collector in flow.collectors:
        port = f" port {collector.port.value}" if collector.port.configured else ""
        out.append(Command(f"collector {collector.address}{port}", exporter, undo=f"no collector {collector.address}"))
    if flow.source is not None:
        out.append(Command(f"local interface {flow.source.value}", exporter, key="local"))
    return out


DIALECT = ConfigDialect(
    vendor=Vendor.ARISTA_EOS,
    document="https://www.arista.com/en/um-eos/eos-sflow",
    blank=_BLANK,
    read=read,
    commands=commands,
    limits=Limits(rate=(1, 4_294_967_295), confirm_below=16_384, polling_s=(1, 3600), header_bytes=(64, 512)),
    settable=frozenset(
        {
            "agent",
            "collector.vrf",
            "rate",
            "polling_s",
            "header_bytes",
            "direction",
            "all_ports",
            "port.enabled",
            "port.direction",
        }
    ),
    directions=frozenset({Direction.INGRESS, Direction.BOTH}),
)
