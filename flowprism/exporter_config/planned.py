"""The settings a device ought to have: from the plan, its language, and its ports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from flowprism.exporter_config.device import effective_rate
from flowprism.exporter_config.dialect import ConfigDialect
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    PacketSampling,
    PortSampling,
    Value,
    default,
    sorted_ports,
)
from flowprism.exporter_config.plan import ExportPlan

Ports = Sequence[tuple[str, int | None]]  # name, Mb/s


def planned_sampling(dialect: ConfigDialect, plan: ExportPlan, ports: Ports, agent: str | None) -> PacketSampling:
    """All settings by the plan, where the device's language has them."""
    sampling = dialect.blank
    chosen: dict[str, Any] = {"collectors": planned_collectors(plan, dialect)}
    if not sampling.enabled.value:
        chosen["enabled"] = Value(value=True)
    if agent is not None:
        chosen["agent"] = Value(agent)
    if dialect.limits.polling_s is None or _accepts(dialect.limits.polling_s, plan.polling_s):
        chosen["polling_s"] = Value(plan.polling_s)
    if "header_bytes" in dialect.settable and plan.header_bytes != sampling.header_bytes.value:
        chosen["header_bytes"] = Value(plan.header_bytes)
    if "drops" in dialect.settable:
        chosen["drops"] = Value(value=True)
    sampling = replace(sampling, **chosen)
    if not sampling.all_ports.value:
        sampling = replace(sampling, ports=sorted_ports(PortSampling(n, Value(value=True)) for n, _ in ports))
    sampling = with_direction(dialect, sampling, plan.direction)
    sampling = with_planned_rates(dialect, plan, sampling, ports)
    return with_enough_samples(dialect, plan, sampling, ports)


def planned_collectors(plan: ExportPlan, dialect: ConfigDialect) -> tuple[Collector, ...]:
    """The plan's collectors, as many as the device takes."""
    most = dialect.limits.collectors or len(plan.collectors)
    has_vrf = "collector.vrf" in dialect.settable
    return tuple(
        Collector(c.address, Value(c.port), Value(c.vrf) if c.vrf is not None and has_vrf else None)
        for c in plan.collectors[:most]
    )


def _accepts(accepted: tuple[int, int], value: int) -> bool:
    return accepted[0] <= value <= accepted[1]


def with_direction(dialect: ConfigDialect, sampling: PacketSampling, wanted: Direction) -> PacketSampling:
    """Sampling in this direction, where the device can."""
    if wanted not in dialect.directions:
        return sampling
    ports = tuple(replace(port, direction=None) for port in sampling.ports)
    if "egress_rate" in dialect.settable:
        rate = sampling.rate or sampling.egress_rate
        ingress, egress = wanted is not Direction.EGRESS, wanted is not Direction.INGRESS
        ports = tuple(replace(port, egress_rate=port.egress_rate if egress else None) for port in ports)
        return replace(
            sampling, ports=ports, rate=rate if ingress else None, egress_rate=rate if egress else None,
            direction=default(wanted),
        )  # fmt: skip
    if "direction" not in dialect.settable or sampling.direction.value is wanted:
        return replace(sampling, ports=ports)
    blank = dialect.blank.direction
    return replace(sampling, ports=ports, direction=blank if blank.value is wanted else Value(wanted))


def with_planned_rates(
    dialect: ConfigDialect, plan: ExportPlan, sampling: PacketSampling, ports: Ports
) -> PacketSampling:
    """With the plan's rate for every port: by speed where the language can, else by port, else one for all."""
    speeds = sorted({mbps for _, mbps in ports if mbps is not None})
    if "rates_by_speed" in dialect.settable:
        return _with_rates_by_speed(plan, sampling, speeds, unknown=any(mbps is None for _, mbps in ports))
    wanted = [plan.rate_for(mbps) for _, mbps in ports] or [plan.rate_for(None)]
    known = {rate for rate in wanted if rate is not None}
    if not known:
        return sampling
    if "rate" in dialect.settable:
        general = max(known)  # what does not overload the fastest ports
        sampling = replace(sampling, rate=Value(general), confirmed=general < dialect.limits.confirm_below)
        if "egress_rate" in dialect.settable and sampling.direction.value is not Direction.INGRESS:
            sampling = replace(sampling, egress_rate=Value(general))
    if "port.rate" not in dialect.settable:
        return sampling
    return replace(sampling, ports=_with_rates_by_port(dialect, plan, sampling, ports))


def _with_rates_by_speed(
    plan: ExportPlan, sampling: PacketSampling, speeds: list[int], *, unknown: bool
) -> PacketSampling:
    planned = {mbps: plan.rate_for(mbps) for mbps in speeds or [1000 * gbps for gbps in plan.rates]}
    if plan.rate is not None and (unknown or not speeds):
        sampling = replace(sampling, rate=Value(plan.rate))
    ports = tuple(replace(port, rate=None) for port in sampling.ports)
    said = tuple(port for port in ports if port.enabled.configured)
    sampling = sampling.with_speed_rates({mbps: Value(rate) for mbps, rate in planned.items() if rate is not None})
    return replace(sampling, ports=said)


def _with_rates_by_port(
    dialect: ConfigDialect, plan: ExportPlan, sampling: PacketSampling, ports: Ports
) -> tuple[PortSampling, ...]:
    """Ports, those whose rate is not yet the planned one with a rate of their own."""
    found = {port.name: port for port in sampling.ports}
    for name, mbps in ports:
        rate = plan.rate_for(mbps)
        port = replace(found.get(name, PortSampling(name, default(value=True))), rate=None)
        now = effective_rate(sampling, dialect, port, mbps)
        if rate is not None and (now is None or now.value != rate):
            found[name] = replace(port, rate=Value(rate))
        elif name in found:
            found[name] = port
    return sorted_ports(found.values())


def samples_per_s(plan: ExportPlan, ports: Iterable[tuple[int | None, int | None, int]]) -> float:
    """Samples a second of full ports, given as Mb/s, N and how many directions are sampled."""
    packets = [(mbps or 0) * 1e6 / 8 / plan.packet_bytes / rate * ways for mbps, rate, ways in ports if rate]
    return sum(packets)


def card_of(port: str) -> str:
    """The line card of a Junos port, et-CARD/PIC/PORT."""
    return port.partition("-")[2].partition("/")[0]


def with_enough_samples(
    dialect: ConfigDialect, plan: ExportPlan, sampling: PacketSampling, ports: Ports
) -> PacketSampling:
    """With a limiter above the samples to expect, as far as the device allows."""
    if "limit_per_s" not in dialect.settable or sampling.limit_per_s is None:
        return sampling
    cards: dict[str, list[tuple[int | None, int | None, int]]] = {}
    for name, mbps in ports:
        rate = effective_rate(sampling, dialect, sampling.port(name), mbps)
        row = (mbps, rate.value if rate is not None else None, sampling.direction.value.directions)
        cards.setdefault(card_of(name) if dialect.limit_per_card else "", []).append(row)
    needed = math.ceil(max((samples_per_s(plan, rows) for rows in cards.values()), default=0))
    if needed <= sampling.limit_per_s.value:
        return sampling
    most = dialect.limits.samples_per_s[1] if dialect.limits.samples_per_s is not None else needed
    return replace(sampling, limit_per_s=Value(min(needed, most)))
