"""NVIDIA Onyx (MLNX-OS) running configurations: `protocol sflow`, `sflow ...`, `interface ethernet 1/1 sflow enable`.

Commands, defaults and limits: NVIDIA Onyx User Manual 3.10.4, "sFlow" (https://docs.nvidia.com/networking/display/
nvidiaonyxusermanualv3104706lts/sflow). 1 in 16,000 unless configured, from 4,000 to 16,777,215; 64 to 256 bytes of each
packet; counters every 5 to 3,600 s. A port is sampled at ingress where it is enabled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from flowprism.exporter_config.commands import Command, keyed_settings
from flowprism.exporter_config.dialect import ConfigDialect, Limits
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    ExportConfig,
    Interface,
    PacketSampling,
    PortSampling,
    Surroundings,
    Value,
    Vendor,
    default,
)
from flowprism.exporter_config.vendors.sampling_statements import take_statements
from flowprism.exporter_config.vendors.text_blocks import (
    Line,
    find_first,
    find_lines,
    line_of,
    unread_line,
    with_newlines,
)

DEFAULT_RATE = 16_000
_LINES = re.compile(
    r"^[ \t]*(?:(?:no )?protocol sflow|(?:no )?sflow [^\n]*|interface ethernet \S+ (?:no )?sflow enable)[ \t]*$",
    re.MULTILINE,
)
_HOSTNAME = re.compile(r"^[ \t]*hostname (\S+)", re.MULTILINE)
_TUNNEL = re.compile(r"^[ \t]*(?:protocol nve|interface nve)", re.MULTILINE)
_PORTS = re.compile(r"^[ \t]*interface ethernet (\d+/\d+(?:/\d+)?)(?: speed (\d+)G?)?\b", re.MULTILINE)
_RANGE = re.compile(r"(\d+(?:/\d+)?)/(\d+)-(?:\1/)?(\d+)$")
_BLANK = PacketSampling(
    rate=default(DEFAULT_RATE),
    direction=default(Direction.INGRESS),
    all_ports=default(False),
    polling_s=default(20),
)


def read(text: str, file: str) -> ExportConfig:
    """The export settings of a running configuration."""
    text = with_newlines(text)
    found = take_statements(find_lines(text, _LINES), _with_line, unread_line, _BLANK)
    speeds: dict[str, int | None] = {}
    for name, speed in _PORTS.findall(text):
        speeds[name] = int(speed) * 1000 if speed else speeds.get(name)
    around = Surroundings(
        file=file,
        hostname=find_first(text, _HOSTNAME),
        interfaces=tuple(Interface(name, mbps) for name, mbps in speeds.items()),
        tunnel_line=line_of(text, _TUNNEL),
        statements=found.seen,
        unread=found.unread,
    )
    return ExportConfig(Vendor.NVIDIA_ONYX, found.sampling, around=around)


def _with_line(sampling: PacketSampling, line: Line) -> PacketSampling | None:
    match line.words:
        case ["protocol", "sflow"]:
            return sampling  # the commands are there; `sflow enable` starts the agent
        case ["sflow", "enable"]:
            return replace(sampling, enabled=Value(True, line=line.number))
        case ["sflow", "sampling-rate", rate] if rate.isdecimal():
            return replace(sampling, rate=Value(int(rate), line=line.number))
        case ["sflow", "max-sample-size", size] if size.isdecimal():
            return replace(sampling, header_bytes=Value(int(size), line=line.number))
        case ["sflow", "counter-poll-interval", seconds] if seconds.isdecimal():
            return replace(sampling, polling_s=Value(int(seconds), line=line.number))
        case ["sflow", "agent-ip", *name] if name:
            return replace(sampling, agent=Value(" ".join(name), line=line.number))
        case ["sflow", "collector-ip", address, *rest]:
            return _with_collector(sampling, address, rest, line)
        case ["interface", "ethernet", ports, "sflow", "enable"]:
            return _with_ports(sampling, ports, line)
        case ["no", *_] | ["interface", "ethernet", _, "no", "sflow", "enable"] | ["sflow", "max-datagram-size", _]:
            return sampling
    return None


def _with_collector(sampling: PacketSampling, address: str, rest: list[str], line: Line) -> PacketSampling:
    port, vrf = default(6343), None
    for name, value in zip(rest[::2], rest[1::2], strict=False):
        if name == "udp-port" and value.isdecimal():
            port = Value(int(value), line=line.number)
        elif name == "vrf":
            vrf = Value(value, line=line.number)
    return replace(sampling, collectors=(*sampling.collectors, Collector(address, port, vrf, line.number)))


def _with_ports(sampling: PacketSampling, named: str, line: Line) -> PacketSampling:
    return sampling.with_ports(*(PortSampling(name, Value(True, line=line.number)) for name in expand_ports(named)))


def expand_ports(named: str) -> Iterator[str]:
    """Ports of `1/1-1/32`, and of a port that is split, `1/5/1-1/5/4`."""
    found = _RANGE.fullmatch(named)
    if found is None:
        yield named
        return
    for number in range(int(found.group(2)), int(found.group(3)) + 1):
        yield f"{found.group(1)}/{number}"


def commands(config: ExportConfig) -> list[Command]:
    """The settings as commands."""
    sampling = config.sampling
    if sampling is None:
        return []
    out = [Command("protocol sflow")]
    if sampling.enabled.configured and sampling.enabled.value:
        out.append(Command("sflow enable", undo="no sflow enable"))
    out += keyed_settings(
        ("sflow sampling-rate", sampling.rate),
        ("sflow max-sample-size", sampling.header_bytes),
        ("sflow counter-poll-interval", sampling.polling_s),
    )
    if sampling.agent is not None:
        out.append(Command(f"sflow agent-ip {sampling.agent.value}", key="agent-ip", undo="no sflow agent-ip"))
    for collector in sampling.collectors:
        port = f" udp-port {collector.port.value}" if collector.port.configured else ""
        vrf = f" vrf {collector.vrf.value}" if collector.vrf is not None else ""
        line = f"sflow collector-ip {collector.address}{port}{vrf}"
        out.append(Command(line, undo=f"no sflow collector-ip {collector.address}"))
    for port_ in sampling.ports:
        head = f"interface ethernet {port_.name}"
        out.append(Command(f"{head} sflow enable", undo=f"{head} no sflow enable"))
    return out


DIALECT = ConfigDialect(
    vendor=Vendor.NVIDIA_ONYX,
    document="https://docs.nvidia.com/networking/display/nvidiaonyxusermanualv3104706lts/sflow",
    blank=_BLANK,
    read=read,
    commands=commands,
    limits=Limits(rate=(4000, 16_777_215), polling_s=(5, 3600), header_bytes=(64, 256)),
    settable=frozenset({"agent", "collector.vrf", "rate", "polling_s", "header_bytes", "port.enabled"}),
    directions=frozenset({Direction.INGRESS}),
)
