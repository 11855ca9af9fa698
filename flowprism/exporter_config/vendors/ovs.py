"""Open vSwitch: `ovs-vsctl` commands that create sFlow or IPFIX, or what `ovs-vsctl list sflow` and `list ipfix` print.

Columns, defaults and limits: ovs-vswitchd.conf.db(5), tables sFlow and IPFIX (https://man7.org/linux/man-pages/man5/
ovs-vswitchd.conf.db.5.html). A bridge samples what enters it; unless configured 1 in 400 with 128 bytes of each packet,
counters every 30 s; IPFIX without `cache_active_timeout` exports each sampled packet at once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from flowprism.exporter_config.commands import Command
from flowprism.exporter_config.dialect import ConfigDialect, Limits
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    ExportConfig,
    FlowExport,
    PacketSampling,
    PortSampling,
    Surroundings,
    Unread,
    Value,
    Vendor,
    default,
)
from flowprism.exporter_config.vendors.text_blocks import with_newlines

DEFAULT_RATE = 400
_TARGET = re.compile(r"^(.*):(\d+)$")
_COLUMN = re.compile(r"^(\w+)\s*: (.*)$")
_IGNORED = frozenset({"_uuid", "external_ids", "other_config", "obs_domain_id", "obs_point_id", "cache_max_flows"})
V = TypeVar("V")
Pairs = list[tuple[str, str, int]]


def read(text: str, file: str) -> ExportConfig:
    """The export settings of commands, or of the listing of the two tables."""
    text = with_newlines(text)
    listed = re.search(r"^_uuid\s*:", text, re.MULTILINE) is not None
    rows = list(_listed(text) if listed else _created(text))
    sampling: PacketSampling | None = None
    flows: list[FlowExport] = []
    seen = 0
    unread: list[Unread] = []
    for table, bridges, pairs in rows:
        seen += len(pairs)
        if table == "sflow":
            sampling = _sampling(pairs, bridges, unread)
            if listed:  # a row that no bridge uses is deleted by the database
                sampling = replace(sampling, all_ports=default(value=True))
        else:
            flows.append(_flow(pairs, bridges, unread))
    around = Surroundings(file, statements=seen, unread=tuple(unread))
    return ExportConfig(Vendor.OPEN_VSWITCH, sampling, tuple(flows), around)


def _created(text: str) -> Iterator[tuple[str, Pairs, Pairs]]:
    """Rows that commands create, each with the bridges that are given it."""
    typed = list(_commands(text))
    given: dict[str, Pairs] = {}
    for words, line in typed:
        if words[:1] == ["set"] and len(words) > 3 and words[1].lower() == "bridge":
            given.setdefault(words[3].partition("=")[0].lower(), []).append((words[2], "", line))
    for words, line in typed:
        if words[:1] == ["create"] and len(words) > 1 and words[1].lower() in ("sflow", "ipfix"):
            table = words[1].lower()
            yield table, given.get(table, []), [(*_pair(word), line) for word in words[2:]]


def _commands(text: str) -> Iterator[tuple[list[str], int]]:
    """The single commands of each `ovs-vsctl`, options left out, with the line where it begins."""
    number = 1
    for logical in re.split(r"(?<!\\)\n", text):
        if "ovs-vsctl" in logical and not logical.lstrip().startswith("#"):
            try:
                words = shlex.split(logical.replace("\\\n", " "), comments=True)
            except ValueError:
                words = []
            part: list[str] = []
            for word in [*words, "--"]:
                if word != "--":
                    part.append(word)
                    continue
                part = [w for w in part if not w.startswith("--") and w not in ("sudo", "ovs-vsctl")]
                if part:
                    yield part, number
                part = []
        number += logical.count("\n") + 1


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, value


def _listed(text: str) -> Iterator[tuple[str, Pairs, Pairs]]:
    """Rows as `ovs-vsctl list` prints them: columns and values, an empty line between rows."""
    pairs: Pairs = []
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        found = _COLUMN.match(line)
        if found is not None:
            pairs.append((found.group(1), found.group(2), number))
        elif pairs:
            names = {name for name, _, _ in pairs}
            if "polling" in names or "cache_active_timeout" in names:
                yield ("sflow" if "polling" in names else "ipfix"), [], [p for p in pairs if p[1] != "[]"]
            pairs = []


def _targets(value: str, line: int, port: int) -> tuple[Collector, ...]:
    """Collectors in `["10.0.0.5:6343", ...]`."""
    collectors = []
    for target in value.strip("[]").replace('"', "").split(","):
        found = _TARGET.match(target.strip())
        if found is not None:
            address = found.group(1).strip("[]")
            collectors.append(Collector(address, Value(int(found.group(2)), line=line), line=line))
        elif target.strip():
            collectors.append(Collector(target.strip(), default(port), line=line))
    return tuple(collectors)


def _sampling(pairs: Pairs, bridges: Pairs, unread: list[Unread]) -> PacketSampling:
    sampling = PacketSampling(
        enabled=default(True),
        collectors=(),
        agent=None,
        rate=default(DEFAULT_RATE),
        direction=default(Direction.INGRESS),
        all_ports=default(False),
        header_bytes=default(128),
        polling_s=default(30),
        ports=tuple(PortSampling(name, Value(True, line=line)) for name, _, line in bridges),
    )
    for key, value, line in pairs:
        match key:
            case "agent":
                sampling = replace(sampling, agent=Value(value.strip('"'), line=line))
            case "targets" | "target":
                sampling = replace(sampling, collectors=_targets(value, line, 6343))
            case "header" if value.isdecimal():
                sampling = replace(sampling, header_bytes=Value(int(value), line=line))
            case "sampling" if value.isdecimal():
                sampling = replace(sampling, rate=Value(int(value), line=line))
            case "polling" if value.isdecimal():
                sampling = replace(sampling, polling_s=Value(int(value), line=line))
            case _ if key not in _IGNORED:
                unread.append(Unread(line, f"sflow {key}"))
    return sampling


def _flow(pairs: Pairs, bridges: Pairs, unread: list[Unread]) -> FlowExport:
    names = [name for name, _, _ in bridges]
    flow = FlowExport(
        ",".join(names) or "ipfix", "IPFIX", Value(bool(names), configured=bool(names)), (),
        rate=default(DEFAULT_RATE), active_timeout_s=default(0.0), line=pairs[0][2] if pairs else 0,
        ports=tuple(PortSampling(name, Value(True, line=line)) for name, _, line in bridges),
    )  # fmt: skip
    for key, value, line in pairs:
        match key:
            case "targets" | "target":
                flow = replace(flow, collectors=_targets(value, line, 4739))
            case "sampling" if value.isdecimal():
                flow = replace(flow, rate=Value(int(value), line=line))
            case "cache_active_timeout" if value.isdecimal():
                flow = replace(flow, active_timeout_s=Value(float(value), line=line))
            case _ if key not in _IGNORED:
                unread.append(Unread(line, f"ipfix {key}"))
    return flow


def commands(config: ExportConfig) -> list[Command]:
    """The settings as columns of the two tables, one command each; a record is named by a bridge that uses it."""
    out: list[Command] = []
    sampling = config.sampling
    if sampling is not None and (sampling.ports or sampling.all_ports.value):
        out += _row_commands("sflow", sampling.ports, _sflow_columns(sampling))
    for flow in config.flows:
        out += _row_commands("ipfix", flow.ports, _ipfix_columns(flow))
    return out


def _row_commands(
    table: str, bridges: tuple[PortSampling, ...], columns: Iterator[tuple[str, str]]
) -> Iterator[Command]:
    """The record given to its bridges, then its columns. A record that no bridge uses does not last."""
    record = bridges[0].name if bridges else "."
    for number, bridge in enumerate(bridges):
        source = f"get {table} {record}" if number else f"create {table}"
        line = f"ovs-vsctl -- --id=@{table} {source} -- set bridge {bridge.name} {table}=@{table}"
        key = f"{table} {bridge.name}"
        yield Command(line, key=key, undo=f"ovs-vsctl clear bridge {bridge.name} {table}")
    for column, value in columns:
        yield Command(f"ovs-vsctl set {table} {record} {column}={value}", key=f"{table} {record} {column}")


def _sflow_columns(sampling: PacketSampling) -> Iterator[tuple[str, str]]:
    if sampling.agent is not None:
        yield "agent", sampling.agent.value
    if sampling.collectors:
        yield "targets", _quoted(sampling.collectors)
    for key, value in (("header", sampling.header_bytes), ("sampling", sampling.rate), ("polling", sampling.polling_s)):
        if value is not None and value.configured:
            yield key, str(value.value)


def _ipfix_columns(flow: FlowExport) -> Iterator[tuple[str, str]]:
    if flow.collectors:
        yield "targets", _quoted(flow.collectors)
    if flow.rate is not None and flow.rate.configured:
        yield "sampling", str(flow.rate.value)
    if flow.active_timeout_s is not None and flow.active_timeout_s.configured:
        yield "cache_active_timeout", f"{flow.active_timeout_s.value:g}"


def _quoted(collectors: tuple[Collector, ...]) -> str:
    """Targets as the database takes them through a shell."""
    targets = []
    for collector in collectors:
        address = f"[{collector.address}]" if ":" in collector.address else collector.address
        targets.append(f'"{address}:{collector.port.value}"' if collector.port.configured else f'"{address}"')
    return f"'[{','.join(targets)}]'"


def _form(config: ExportConfig) -> str:
    """The settings as commands that create both rows and give them to their bridges."""
    out = []
    if config.sampling is not None:
        out.append(_creation("sflow", list(_sflow_columns(config.sampling)), config.sampling.ports))
    out += [_creation("ipfix", list(_ipfix_columns(flow)), flow.ports) for flow in config.flows]
    return "".join(out)


def _creation(table: str, columns: list[tuple[str, str]], bridges: tuple[PortSampling, ...]) -> str:
    values = "".join(f" {key}={value}" for key, value in columns)
    given = "".join(f" \\\n    -- set bridge {port.name} {table}=@{table}" for port in bridges)
    return f"ovs-vsctl -- --id=@{table} create {table}{values}{given}\n"


DIALECT = ConfigDialect(
    vendor=Vendor.OPEN_VSWITCH,
    document="https://man7.org/linux/man-pages/man5/ovs-vswitchd.conf.db.5.html",
    blank=_sampling([], [], []),
    read=read,
    form=_form,
    commands=commands,
    limits=Limits(rate=(1, 4_294_967_295), timeout_s=(0, 4200)),
    settable=frozenset({"agent", "rate", "polling_s", "header_bytes", "port.enabled"}),
    directions=frozenset({Direction.INGRESS}),
    file_name="{}.sh",
)
