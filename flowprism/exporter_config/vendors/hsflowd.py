"""Host sFlow's `/etc/hsflowd.conf`, on hosts and on switches that run Linux.

Settings: https://sflow.net/host-sflow-linux-config.php; defaults and limits: the daemon's own reader (`src/Linux/
hsflowconfig.c` of https://github.com/sflow/host-sflow). `sampling` counts only for ports of unknown speed: a port of
known speed samples 1 in `sampling.<speed>`, else 1 in speed / 10^6 bit/s (`sampling.bps_ratio = 0` switches that off).
`psample` samples at ingress unless `egress = on`; `samplingDirection` is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from flowprism.exporter_config.commands import Command
from flowprism.exporter_config.dialect import ConfigDialect, Limits
from flowprism.exporter_config.model import (
    DISCOVERED,
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
)
from flowprism.exporter_config.vendors.sampling_statements import take_statements
from flowprism.exporter_config.vendors.text_blocks import with_newlines

DEFAULT_RATE = 400
DEFAULT_POLLING_S = 30
_TOKEN = re.compile(r'"[^"]*"|[{}]|[^\s=;{}]+')
_SAMPLERS = frozenset({"psample", "pcap", "nflog", "ulog", "ovs", "sonic", "cumulus", "dent", "opx", "os10", "vpp"})
# Modules and settings that change neither rates nor collectors.
_OTHER = frozenset(
    {"tcp", "dns-sd", "dnssd", "domain", "docker", "containerd", "k8s", "kvm", "xen", "json", "nvml", "dbus", "systemd",
     "eapi", "nlroute", "datagrambytes", "subagentid", "uuid", "loopback", "samplingdirection", "modulespath",
     "refreshadaptors", "checkadaptors", "refreshvms", "forgetvms", "agent.cidr"}
)  # fmt: skip
_BLANK = PacketSampling(
    enabled=default(True),
    rate=default(DEFAULT_RATE),
    direction=default(Direction.NONE),  # until a module samples
    all_ports=default(True),
    polling_s=default(DEFAULT_POLLING_S),
)


@dataclass(frozen=True, slots=True)
class _Setting:
    """`key = value` inside modules (`sflow` itself left out), lower case; a module alone has an empty value."""

    path: tuple[str, ...]
    key: str
    value: str
    line: int


def read(text: str, file: str) -> ExportConfig:
    """The export settings of an `hsflowd.conf`."""
    text = with_newlines(text)
    begun = re.search(r"^\s*sflow\s*\{", text, re.MULTILINE) is not None
    found = take_statements(_settings(text), _with_setting, _unread, _BLANK, begun=begun)
    around = Surroundings(file, statements=found.seen, unread=found.unread)
    return ExportConfig(Vendor.HSFLOWD, found.sampling, around=around)


def _unread(setting: _Setting) -> Unread:
    return Unread(setting.line, f"sflow {setting.path[0] if setting.path else setting.key}")


def _settings(text: str) -> Iterator[_Setting]:
    """Settings in their order; modules nest in braces."""
    path: list[str] = []
    pending: tuple[str, int] | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        for piece in _TOKEN.findall(raw.split("#", 1)[0]):
            if piece == "{":
                if pending is not None:
                    path.append(pending[0].lower())
                    if len(path) > 1:
                        yield _Setting(tuple(path[1:]), "", "", number)
                pending = None
            elif piece == "}":
                path = path[:-1]
                pending = None
            elif pending is None:
                pending = (piece, number)
            else:
                yield _Setting(tuple(path[1:]), pending[0].lower(), piece.strip('"'), pending[1])
                pending = None


def _with_setting(sampling: PacketSampling, setting: _Setting) -> PacketSampling | None:
    if setting.path[:1] == ("collector",):
        return _with_collector(sampling, setting)
    if setting.path[:1] in (("dns-sd",), ("dnssd",)) and not setting.key:
        found = Collector(DISCOVERED, default(6343), line=setting.line)
        return replace(sampling, collectors=(*sampling.collectors, found))
    if setting.path:
        return _with_module(sampling, setting)
    key, value, line = setting.key, setting.value, setting.line
    if key in ("agent", "agentip"):
        return replace(sampling, agent=Value(value, line=line))
    if key == "headerbytes" and value.isdecimal():
        return replace(sampling, header_bytes=Value(int(value), line=line))
    if key == "polling" and value.isdecimal():
        return replace(sampling, polling_s=Value(int(value), line=line))
    if key == "sampling" and (rate := _number(value)) is not None:
        return replace(sampling, rate=Value(rate, line=line))
    if key.startswith("sampling.") and (rate := _number(value)) is not None:
        return _with_speed(sampling, key.removeprefix("sampling."), rate, line)
    return sampling if key in _OTHER or key.startswith("polling.") else None


def _with_speed(sampling: PacketSampling, speed: str, rate: int, line: int) -> PacketSampling:
    """With the rate of one speed; names of applications are no speeds and say nothing of packets."""
    mbps = _number(speed)
    if mbps is None or mbps < 1_000_000:
        return sampling
    return sampling.with_speed_rates({mbps // 1_000_000: Value(rate, line=line)})


def _number(text: str) -> int | None:
    """A number, with K, M or G behind it or not."""
    digits = text.rstrip("kKmMgG")
    if not digits.isdecimal() or len(text) - len(digits) > 1:
        return None
    return int(digits) * {"K": 10**3, "M": 10**6, "G": 10**9}.get(text[len(digits) :].upper(), 1)


def _with_collector(sampling: PacketSampling, setting: _Setting) -> PacketSampling | None:
    collectors = list(sampling.collectors)
    if not setting.key:
        collectors.append(Collector("", default(6343), line=setting.line))
        return replace(sampling, collectors=tuple(collectors))
    last = collectors[-1]
    match setting.key, setting.value:
        case "ip", address:
            last = replace(last, address=address)
        case "udpport", port if port.isdecimal():
            last = replace(last, port=Value(int(port), line=setting.line))
        case "namespace" | "dev", name:
            last = replace(last, vrf=Value(name, line=setting.line))
        case _:
            return None
    return replace(sampling, collectors=(*collectors[:-1], last))


def _with_module(sampling: PacketSampling, setting: _Setting) -> PacketSampling | None:
    module, line = setting.path[0], setting.line
    if module == "dropmon":
        off = setting.key == "start" and setting.value == "off"
        return replace(sampling, drops=Value(not off, line=line)) if off or not setting.key else sampling
    if module in _SAMPLERS:
        if not setting.key:
            both = module == "pcap"  # a tap on a device sees what it sends too
            return replace(sampling, direction=Value(Direction.BOTH if both else Direction.INGRESS, line=line))
        if module == "psample" and setting.key in ("egress", "ingress"):
            return replace(sampling, direction=Value(_turned(sampling.direction.value, setting), line=line))
        if module == "pcap" and setting.key == "dev":
            port = PortSampling(setting.value, Value(True, line=line))
            return replace(sampling, ports=(*sampling.ports, port))
        return sampling
    return sampling if module in _OTHER else None


def _turned(now: Direction, setting: _Setting) -> Direction:
    ingress, egress = now in (Direction.INGRESS, Direction.BOTH), now in (Direction.EGRESS, Direction.BOTH)
    if setting.key == "ingress":
        ingress = setting.value == "on"
    else:
        egress = setting.value == "on"
    return Direction.of(ingress=ingress, egress=egress)


def commands(config: ExportConfig) -> list[Command]:
    """The settings as lines of the file, inside `sflow { }`."""
    sampling = config.sampling
    if sampling is None:
        return []
    out: list[Command] = []
    if sampling.agent is not None:
        name = sampling.agent.value
        out.append(_set("agentIP" if name[:1].isdecimal() or ":" in name else "agent", name, key="agent"))
    if sampling.polling_s.configured:
        out.append(_set("polling", sampling.polling_s.value))
    if sampling.header_bytes.configured:
        out.append(_set("headerBytes", sampling.header_bytes.value))
    if sampling.rate is not None and sampling.rate.configured:
        out.append(_set("sampling", sampling.rate.value))
    for mbps, rate in sampling.rates_by_speed:
        speed = f"{mbps // 1000}G" if mbps % 1000 == 0 else f"{mbps}M"
        out.append(_set(f"sampling.{speed}", rate.value))
    for collector in sampling.collectors:
        port = f" udpport={collector.port.value}" if collector.port.configured else ""
        where = f" namespace={collector.vrf.value}" if collector.vrf is not None else ""
        out.append(_line(f"collector {{ ip={collector.address}{port}{where} }}"))
    out += _sampler(sampling)
    if sampling.drops.configured and sampling.drops.value:
        out.append(_line("dropmon { group=1 start=on limit=50 }"))
    return out


def _sampler(sampling: PacketSampling) -> list[Command]:
    if sampling.ports:
        return [_line(f"pcap {{ dev={port.name} }}") for port in sampling.ports]
    ways = {
        Direction.INGRESS: "", Direction.EGRESS: " ingress=off egress=on", Direction.BOTH: " egress=on",
    }  # fmt: skip
    if not sampling.direction.configured or sampling.direction.value not in ways:
        return []
    line = f"psample {{ group=1{ways[sampling.direction.value]} }}"
    return [Command(line, key="psample", undo="# remove: psample")]


def _set(setting: str, value: object, key: str = "") -> Command:
    return Command(f"{setting} = {value}", key=key or setting, undo=f"# remove: {setting}")


def _line(line: str) -> Command:
    return Command(line, undo=f"# remove: {line}")


def _form(config: ExportConfig) -> str:
    """The settings as a file."""
    body = "".join(f"  {command.line}\n" for command in commands(config))
    return f"sflow {{\n{body}}}\n" if config.sampling is not None else ""


DIALECT = ConfigDialect(
    vendor=Vendor.HSFLOWD,
    document="https://sflow.net/host-sflow-linux-config.php",
    blank=_BLANK,
    read=read,
    form=_form,
    commands=commands,
    limits=Limits(rate=(0, 10_000_000), polling_s=(1, 300)),
    settable=frozenset(
        {"agent", "collector.vrf", "rate", "rates_by_speed", "polling_s", "header_bytes", "direction", "drops"}
    ),
    directions=frozenset({Direction.NONE, Direction.INGRESS, Direction.EGRESS, Direction.BOTH}),
    speed_divisor=1_000_000,
    rate_needs_unknown_speed=True,
    file_name="{}.hsflowd.conf",
    indent="  ",
)
