"""NVIDIA Cumulus Linux by NVUE: `nv set system sflow ...`, as commands or as the YAML of `nv config show`.

Settings, defaults and limits: Cumulus Linux 5.15 User Guide, "Monitoring System Statistics and Network Traffic with
sFlow" (https://docs.nvidia.com/networking-ethernet-software/cumulus-linux-515/), and the NVUE command reference. A port
samples 1 in speed / 10^6 bit/s at ingress unless its speed has a rate; at most 16,384 samples a second reach the CPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

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
from flowprism.exporter_config.vendors.nvue_statements import read_statements
from flowprism.exporter_config.vendors.text_blocks import with_newlines

DEFAULT_RATE = 400
DEFAULT_POLICER = 16_384
DEFAULT_POLLING_S = 30  # hsflowd's, which runs below
_RANGE = re.compile(r"([a-z]+(?:\d+s)?)(\d+)-(\d+)")
_BLANK = PacketSampling(
    rate=default(DEFAULT_RATE),
    direction=default(Direction.INGRESS),
    all_ports=default(True),
    polling_s=default(DEFAULT_POLLING_S),
    limit_per_s=default(DEFAULT_POLICER),
)


def read(text: str, file: str) -> ExportConfig:
    """The export settings of `nv set` commands or of NVUE's YAML."""
    text = with_newlines(text)
    sampling: PacketSampling | None = None
    hostname, seen, unread = None, 0, []
    for statement in read_statements(text):
        words = statement.words
        if words[:2] == ("system", "hostname") and len(words) > 2:
            hostname = words[2]
        elif "sflow" in words[1:3]:
            seen += 1
            taken = _with_statement(sampling or _BLANK, words, statement.line)
            if taken is None:
                unread.append(Unread(statement.line, " ".join(words[1:3])))
            else:
                sampling = taken
    if sampling is not None:
        sampling = replace(sampling, ports=sorted_ports(sampling.ports))
    tunnel = text.find("vxlan")
    line = text.count("\n", 0, tunnel) + 1 if tunnel >= 0 else 0
    around = Surroundings(file, hostname, tunnel_line=line, statements=seen, unread=tuple(unread))
    return ExportConfig(Vendor.CUMULUS_NVUE, sampling, around=around)


def _with_statement(sampling: PacketSampling, words: tuple[str, ...], line: int) -> PacketSampling | None:
    match words:
        case ["system", "sflow", *rest]:
            return _with_setting(sampling, rest, line)
        case ["interface", names, "sflow", setting, value]:
            found: PacketSampling | None = sampling
            for name in expand_ports(names):
                found = _with_port(found, name, setting, value, line) if found is not None else None
            return found
        case ["interface", _, "sflow"]:
            return sampling
    return None


def _with_setting(sampling: PacketSampling, words: list[str], line: int) -> PacketSampling | None:
    match words:
        case ["state", state]:
            return replace(sampling, enabled=Value(state == "enabled", line=line))
        case ["agent", "interface" | "ip", name]:
            return replace(sampling, agent=Value(name, line=line))
        case ["collector", address, *rest]:
            return _with_collector(sampling, address, rest, line)
        case ["poll-interval", seconds] if seconds.isdecimal():
            return replace(sampling, polling_s=Value(int(seconds), line=line))
        case ["sampling-rate", "default", rate] if rate.isdecimal():
            return replace(sampling, rate=Value(int(rate), line=line))
        case ["sampling-rate", speed, rate] if rate.isdecimal() and (mbps := _speed(speed)):
            return sampling.with_speed_rates({mbps: Value(int(rate), line=line)})
        case ["policer", "rate", rate] if rate.isdecimal():
            return replace(sampling, limit_per_s=Value(int(rate), line=line))
        case ["dropmon", "hw" | "sw"]:
            return replace(sampling, drops=Value(True, line=line))
        case ["policer"] | ["policer", "burst", *_] | ["dropmon"] | ["sampling-rate"] | ["agent"] | ["collector"]:
            return sampling
    return None


def expand_ports(names: str) -> Iterator[str]:
    """Ports of `swp1-4,swp9s0-3`."""
    for name in names.split(","):
        found = _RANGE.fullmatch(name)
        if found is None:
            yield name
            continue
        for number in range(int(found.group(2)), int(found.group(3)) + 1):
            yield f"{found.group(1)}{number}"


def _speed(word: str) -> int:
    """Mb/s of `speed-400g`; 0 where it is no speed."""
    number = word.lower().removeprefix("speed-")
    digits, unit = number[:-1], number[-1:]
    return int(digits) * {"g": 1000, "m": 1}.get(unit, 0) if digits.isdecimal() else 0


def _with_collector(sampling: PacketSampling, address: str, rest: list[str], line: int) -> PacketSampling:
    collector = sampling.collector(address) or Collector(address, default(6343), line=line)
    match rest:
        case ["port", port] if port.isdecimal():
            collector = replace(collector, port=Value(int(port), line=line))
        case ["interface", name]:
            collector = replace(collector, vrf=Value(name, line=line))
    return sampling.with_collector(collector)


def _with_port(sampling: PacketSampling, name: str, setting: str, value: str, line: int) -> PacketSampling | None:
    port = sampling.port(name) or PortSampling(name, default(True))
    match setting, value:
        case "state", _:
            port = replace(port, enabled=Value(value == "enabled", line=line))
        case "sample-rate", rate if rate.isdecimal():
            port = replace(port, rate=Value(int(rate), line=line))
        case _:
            return None
    return sampling.with_ports(port)


def commands(config: ExportConfig) -> list[Command]:
    """The settings as `nv set` commands."""
    sampling = config.sampling
    if sampling is None:
        return []
    top = "system sflow"
    out: list[Command] = []
    if sampling.agent is not None:
        name = sampling.agent.value
        kind = "ip" if name[:1].isdecimal() or ":" in name else "interface"
        out.append(Command(f"nv set {top} agent {kind} {name}", key="agent", undo=f"nv unset {top} agent"))
    for collector in sampling.collectors:
        here = f"{top} collector {collector.address}"
        out.append(_set(here))
        if collector.port.configured:
            out.append(_set(f"{here} port", collector.port.value))
        if collector.vrf is not None:
            out.append(_set(f"{here} interface", collector.vrf.value))
    out += _rate_commands(sampling, top)
    if sampling.enabled.configured:
        out.append(_set(f"{top} state", "enabled" if sampling.enabled.value else "disabled"))
    return out + _port_commands(sampling.ports)


def _rate_commands(sampling: PacketSampling, top: str) -> list[Command]:
    out: list[Command] = []
    if sampling.rate is not None and sampling.rate.configured:
        out.append(_set(f"{top} sampling-rate default", sampling.rate.value))
    for mbps, rate in sampling.rates_by_speed:
        speed = f"{mbps // 1000}g" if mbps >= 1000 else f"{mbps}m"
        out.append(_set(f"{top} sampling-rate speed-{speed}", rate.value))
    if sampling.polling_s.configured:
        out.append(_set(f"{top} poll-interval", sampling.polling_s.value))
    if sampling.drops.configured and sampling.drops.value:
        out.append(Command(f"nv set {top} dropmon hw", key="dropmon", undo=f"nv unset {top} dropmon"))
    if sampling.limit_per_s is not None and sampling.limit_per_s.configured:
        out.append(_set(f"{top} policer rate", sampling.limit_per_s.value))
    return out


def _port_commands(ports: tuple[PortSampling, ...]) -> list[Command]:
    out = []
    for port in ports:
        if port.enabled.configured:
            state = "enabled" if port.enabled.value else "disabled"
            out.append(_set(f"interface {port.name} sflow state", state))
        if port.rate is not None:
            out.append(_set(f"interface {port.name} sflow sample-rate", port.rate.value))
    return out


def _set(path: str, value: object = "") -> Command:
    return Command(f"nv set {path} {value}".rstrip(), key=path, undo=f"nv unset {path}")


DIALECT = ConfigDialect(
    vendor=Vendor.CUMULUS_NVUE,
    document="https://docs.nvidia.com/networking-ethernet-software/cumulus-linux-515/",
    blank=_BLANK,
    read=read,
    commands=commands,
    limits=Limits(samples_per_s=(0, 16_384)),
    settable=frozenset(
        {
            "agent",
            "collector.vrf",
            "rate",
            "rates_by_speed",
            "polling_s",
            "limit_per_s",
            "drops",
            "port.enabled",
            "port.rate",
        }
    ),
    directions=frozenset({Direction.INGRESS}),
    speed_divisor=1_000_000,
    rate_needs_unknown_speed=True,
    file_name="{}.sh",
)
