"""Is export enabled, does it go anywhere, and does it cover the ports?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from flowprism.exporter_config.device import Device
from flowprism.exporter_config.findings import ConfigFinding, Severity, finding
from flowprism.exporter_config.model import (
    DISCOVERED,
    Collector,
    Direction,
    FlowExport,
    PacketSampling,
    PortSampling,
    Value,
    Vendor,
    sorted_ports,
)
from flowprism.exporter_config.planned import planned_collectors, planned_sampling

_SHOWN = 8  # port names in one message


def check_presence(device: Device) -> Iterator[ConfigFinding]:
    """Find export that is off, has no collector or covers no port."""
    flows = [flow for flow in device.config.flows if flow.enabled.value]
    sampling = device.sampling
    if sampling is None and not flows:
        if device.required:
            yield _not_enabled(device)
        return
    for flow in flows:
        yield from _flow_destinations(device, flow)
    if sampling is None:
        yield from _flow_coverage(device, flows)
        return
    yield from _destinations(device, sampling)
    if not _samples_something(device, sampling):
        yield _nothing_sampled(device, sampling)
    else:
        yield from _coverage(device, sampling)


def _flow_destinations(device: Device, flow: FlowExport) -> Iterator[ConfigFinding]:
    """Flow records that go nowhere, or not to a planned collector; UDP ports differ from those of samples."""
    if not flow.collectors:
        text = f"{flow.protocol} {flow.name}: no collector is configured"
        yield finding(device, "no-collector", Severity.ERROR, flow.line, text)
        return
    reached = {collector.address for collector in flow.collectors}
    planned = [collector.address for collector in device.plan.collectors]
    if planned and not reached & set(planned):
        text = f"{flow.protocol} {flow.name}: records go to {', '.join(sorted(reached))}, not to {planned[0]}"
        yield finding(device, "other-collector", Severity.ERROR, flow.collectors[0].line, text)


def _flow_coverage(device: Device, flows: Sequence[FlowExport]) -> Iterator[ConfigFinding]:
    """Ports of the inventory or the plan that no flow record is metered on, where there are no samples."""
    metered = {name for flow in flows for port in flow.ports for name in (port.name, port.name.partition(".")[0])}
    line = flows[0].line
    if not metered:
        text = f"{flows[0].protocol} {flows[0].name}: flows are metered on no port"
        yield finding(device, "nothing-sampled", Severity.ERROR, line, text)
        return
    names = [name for name, _ in _wanted_ports(device)]
    missing = [name for name in names if name not in metered and device.group_of(name) not in metered]
    if missing and device.config.vendor is not Vendor.OPEN_VSWITCH:
        text = f"flows are not metered on {_list_of(missing)}"
        yield finding(device, "port-uncovered", Severity.ERROR, line, text)


def _list_of(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _wanted_ports(device: Device) -> list[tuple[str, int | None]]:
    """Ports that ought to be sampled, by name: the inventory's, else the plan's, else those that are listed."""
    named = [(port.name, port.mbps) for port in device.ports if port.name is not None]
    if named:
        return named
    planned = device.plan.ports_of(device.name)
    if planned:
        return [(name, device.speed_of(name)) for name in planned]
    listed = device.config.sampling.ports if device.config.sampling is not None else ()
    return [(port.name, device.speed_of(port.name)) for port in listed]


def _not_enabled(device: Device) -> ConfigFinding:
    value = device.config.sampling.enabled if device.config.sampling is not None else None
    agent = device.switch.agent if device.switch is not None else None
    if device.config.vendor in (Vendor.SONIC, Vendor.OPEN_VSWITCH):
        agent = None  # named by an interface
    fixed = planned_sampling(device.dialect, device.plan, _wanted_ports(device), agent)
    if device.config.sampling is not None:
        fixed = _enabled(device.config.sampling, fixed)
    message = "export is switched off" if value is not None and value.line else "no export is configured"
    return finding(device, "not-enabled", Severity.ERROR, value, message, fixed)


def _enabled(sampling: PacketSampling, planned: PacketSampling) -> PacketSampling:
    """What is configured, switched on, with the planned settings where there is none."""
    has_rate = (sampling.rate is not None and sampling.rate.configured) or sampling.rates_by_speed
    return replace(
        sampling,
        enabled=planned.enabled,
        collectors=sampling.collectors or planned.collectors,
        agent=sampling.agent or planned.agent,
        rate=sampling.rate if has_rate else planned.rate,
        rates_by_speed=sampling.rates_by_speed or planned.rates_by_speed,
        polling_s=sampling.polling_s if sampling.polling_s.configured else planned.polling_s,
        ports=sampling.ports or planned.ports,
        direction=sampling.direction if sampling.rate is not None else planned.direction,
    )


def _samples_something(device: Device, sampling: PacketSampling) -> bool:
    listed = [port for port in sampling.ports if port.enabled.value]
    if not sampling.all_ports.value and not listed:
        return False
    ways = [device.direction_of(port.name) for port in listed] if not sampling.all_ports.value else [sampling.direction]
    return any(way is not None and way.value is not Direction.NONE for way in ways)


def _nothing_sampled(device: Device, sampling: PacketSampling) -> ConfigFinding:
    fixed = planned_sampling(device.dialect, device.plan, _wanted_ports(device), None)
    fixed = replace(
        sampling, ports=sampling.ports or fixed.ports, rate=sampling.rate or fixed.rate,
        direction=fixed.direction, rates_by_speed=sampling.rates_by_speed or fixed.rates_by_speed,
    )  # fmt: skip
    what = "no port is enabled" if not sampling.all_ports.value and not sampling.ports else "no direction is sampled"
    return finding(device, "nothing-sampled", Severity.ERROR, None, what, fixed)


def _destinations(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    planned = planned_collectors(device.plan, device.dialect)
    if not any(collector.address for collector in sampling.collectors):
        fixed = replace(sampling, collectors=planned) if planned else None
        yield finding(device, "no-collector", Severity.ERROR, sampling.enabled, "no collector is configured", fixed)
        return
    if any(collector.address == DISCOVERED for collector in sampling.collectors):
        return
    for wanted in planned:
        reached = next((c for c in sampling.collectors if c.address == wanted.address), None)
        if reached is not None and reached.port.value == wanted.port.value and _leaves_by(reached, wanted.vrf):
            continue
        others = tuple(c for c in sampling.collectors if c.address != wanted.address)
        most = device.dialect.limits.collectors or len(others) + 1
        fixed = replace(sampling, collectors=(*others[: most - 1], wanted))
        yield finding(
            device, "other-collector", Severity.ERROR, (reached or sampling.collectors[0]).line,
            _destination_text(wanted, reached, sampling.collectors), fixed,
        )  # fmt: skip


def _leaves_by(reached: Collector, vrf: Value[str] | None) -> bool:
    """Whether datagrams leave by the planned VRF, where the plan names one."""
    return vrf is None or (reached.vrf is not None and reached.vrf.value == vrf.value)


def _destination_text(wanted: Collector, reached: Collector | None, now: tuple[Collector, ...]) -> str:
    if reached is not None and wanted.vrf is not None and not _leaves_by(reached, wanted.vrf):
        used = f"VRF {reached.vrf.value}" if reached.vrf is not None else "the default VRF"
        return f"samples to {wanted.address} leave by {used}, planned is {wanted.vrf.value}"
    if reached is not None:
        return f"samples go to UDP port {reached.port.value} of {wanted.address}, planned is {wanted.port.value}"
    others = ", ".join(f"{collector.address}:{collector.port.value}" for collector in now)
    return f"samples go to {others}, not to {wanted.address}:{wanted.port.value}"


def _coverage(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    """Ports of the inventory, or of the plan, that are not sampled."""
    listed = {port.name.partition(".")[0]: port for port in sampling.ports}
    listed |= {port.name: port for port in sampling.ports}
    missing = []
    for name, _ in _wanted_ports(device):
        port = listed.get(name) or listed.get(device.group_of(name) or "")
        if not (port.enabled.value if port is not None else sampling.all_ports.value):
            missing.append(name)
    if missing:
        others = [port for port in sampling.ports if port.name not in missing]
        now = [listed.get(name, PortSampling(name, Value(value=True))) for name in missing]
        added = [replace(port, enabled=Value(value=True)) for port in now]
        line = next((listed[name].enabled.line for name in missing if name in listed), 0)
        fixed = replace(sampling, ports=sorted_ports([*others, *added]))
        text = f"not sampled: {_list_of(missing)}"
        yield finding(device, "port-uncovered", Severity.ERROR, line or sampling.all_ports.line, text, fixed)
        return
    enabled = sum(port.enabled.value for port in sampling.ports)
    unnamed = sum(port.name is None for port in device.ports)
    is_bridge = device.config.vendor is Vendor.OPEN_VSWITCH
    if unnamed and not sampling.all_ports.value and not is_bridge and enabled < len(device.ports):
        text = f"{enabled} ports are sampled, the inventory has {len(device.ports)}"
        yield finding(device, "port-uncovered", Severity.ERROR, None, text)
