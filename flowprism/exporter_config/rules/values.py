"""Does the device accept the values, and are they what the analysis needs?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowprism.exporter_config.device import Device
from flowprism.exporter_config.dialect import Range
from flowprism.exporter_config.findings import ConfigFinding, Severity, finding
from flowprism.exporter_config.model import FlowExport, PacketSampling, Value

COUNTERS_S = 20  # an interface that carries a job's bursts is reconciled over windows of a minute
TUNNEL_HEADER_BYTES = 128  # 50 of VXLAN, and below it Ethernet to RETH
ROCE_HEADER_BYTES = 94  # Ethernet with a VLAN tag 18, IPv6 40, UDP 8, BTH 12, RETH 16
TIMEOUT_SHARE = 20  # timeouts of flow records for each iteration


def check_values(device: Device) -> Iterator[ConfigFinding]:
    """Values that are refused, and those with which the feed shows too little."""
    sampling = device.sampling
    if sampling is not None:
        yield from _refused(device, sampling)
        yield from _header(device, sampling)
        yield from _counters(device, sampling)
        if "drops" in device.dialect.settable and not sampling.drops.value:
            fixed = replace(sampling, drops=Value(value=True))
            text = "discarded packets are not reported"
            yield finding(device, "no-drop-notifications", Severity.INFO, sampling.drops, text, fixed)
    for flow in device.config.flows:
        if flow.enabled.value:
            yield from _timeouts(device, flow)
    for statement in device.config.around.unread:
        text = f"not understood: {statement.statement} ..."
        yield finding(device, "unread-statement", Severity.INFO, statement.line, text)


def _refused(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    limits = device.dialect.limits
    yield from _refused_rates(device, sampling)
    for name, value, accepted, corrected in (
        ("counter interval", sampling.polling_s, limits.polling_s, _with_polling),
        ("header size", sampling.header_bytes, limits.header_bytes, _with_header),
        ("sample limit", sampling.limit_per_s, limits.samples_per_s, _with_limit),
    ):
        if value is None or accepted is None or not _beyond(value, accepted):
            continue
        if corrected is _with_polling and not value.value:
            continue  # 0 switches polling off
        fixed = corrected(sampling, Value(_nearest(accepted, value.value)))
        yield finding(device, "refused-value", Severity.ERROR, value, _refusal(name, value, accepted), fixed)
    if limits.collectors is not None and len(sampling.collectors) > limits.collectors:
        planned = {collector.address for collector in device.plan.collectors}
        kept = sorted(sampling.collectors, key=lambda c: c.address not in planned)[: limits.collectors]
        text = f"{len(sampling.collectors)} collectors; the device takes {limits.collectors}"
        fixed = replace(sampling, collectors=tuple(kept))
        yield finding(device, "refused-value", Severity.ERROR, sampling.collectors[-1].line, text, fixed)


def _with_polling(sampling: PacketSampling, value: Value[int]) -> PacketSampling:
    return replace(sampling, polling_s=value)


def _with_header(sampling: PacketSampling, value: Value[int]) -> PacketSampling:
    return replace(sampling, header_bytes=value)


def _with_limit(sampling: PacketSampling, value: Value[int]) -> PacketSampling:
    return replace(sampling, limit_per_s=value)


def _with_rate(sampling: PacketSampling, value: Value[int]) -> PacketSampling:
    return replace(sampling, rate=value)


def _with_egress_rate(sampling: PacketSampling, value: Value[int]) -> PacketSampling:
    return replace(sampling, egress_rate=value)


def _nearest(accepted: Range, value: int) -> int:
    return min(max(value, accepted[0]), accepted[1])


def _refusal(name: str, value: Value[int], accepted: Range) -> str:
    return f"{name} {value.value} is outside {accepted[0]} to {accepted[1]}"


def _refused_rates(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    """Rates beyond what the device accepts, wherever they stand."""
    accepted = device.dialect.limits.rate
    if accepted is None:
        return
    below = device.dialect.limits.confirm_below
    rate = sampling.rate
    if rate is not None and rate.configured and accepted[0] <= rate.value < below and not sampling.confirmed:
        text = f"1 in {rate.value} is below 1 in {below} and needs to be confirmed (`dangerous`)"
        yield finding(device, "refused-value", Severity.ERROR, rate, text, replace(sampling, confirmed=True))
    for value, corrected in ((sampling.rate, _with_rate), (sampling.egress_rate, _with_egress_rate)):
        if value is not None and _beyond(value, accepted):
            fixed = corrected(sampling, Value(_nearest(accepted, value.value)))
            yield finding(device, "refused-value", Severity.ERROR, value, _refusal("rate 1 in", value, accepted), fixed)
    for mbps, value in sampling.rates_by_speed:
        if _beyond(value, accepted):
            fixed = sampling.with_speed_rates({mbps: Value(_nearest(accepted, value.value))})
            yield finding(device, "refused-value", Severity.ERROR, value, _refusal("rate 1 in", value, accepted), fixed)
    for port in sampling.ports:
        if port.rate is not None and _beyond(port.rate, accepted):
            right = replace(port, rate=Value(_nearest(accepted, port.rate.value)))
            fixed = replace(sampling, ports=tuple(right if p is port else p for p in sampling.ports))
            text = f"{port.name}: {_refusal('rate 1 in', port.rate, accepted)}"
            yield finding(device, "refused-value", Severity.ERROR, port.rate, text, fixed)


def _beyond(value: Value[int], accepted: Range) -> bool:
    return value.configured and not accepted[0] <= value.value <= accepted[1]


def _header(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    tunnels = device.plan.tunnels or device.config.around.tunnel_line > 0
    needed = TUNNEL_HEADER_BYTES if tunnels else ROCE_HEADER_BYTES
    size = sampling.header_bytes
    if size.value >= needed:
        return
    fixed = replace(sampling, header_bytes=Value(max(device.plan.header_bytes, needed)))
    what = "behind a tunnel's headers" if tunnels else "for a RoCEv2 packet's"
    text = f"{size.value} bytes of each packet are too few {what}: {needed} are needed"
    yield finding(
        device,
        "short-header",
        Severity.WARNING,
        size,
        text,
        fixed if "header_bytes" in device.dialect.settable else None,
    )


def _counters(device: Device, sampling: PacketSampling) -> Iterator[ConfigFinding]:
    seconds = sampling.polling_s
    if 0 < seconds.value <= COUNTERS_S:
        return
    fixed = replace(sampling, polling_s=Value(device.plan.polling_s))
    origin = "" if seconds.configured else ", the vendor's default"
    said = f"counters every {seconds.value} s{origin}" if seconds.value else "counters are not read"
    text = f"{said}; {COUNTERS_S} s at most show a rate that is exported wrongly"
    yield finding(device, "slow-counters", Severity.WARNING, seconds, text, fixed)


def _timeouts(device: Device, flow: FlowExport) -> Iterator[ConfigFinding]:
    """Records that hold several bursts of an iteration."""
    if device.plan.iteration_s is None:
        return
    most = device.plan.iteration_s / TIMEOUT_SHARE
    for name, value in (("active", flow.active_timeout_s), ("inactive", flow.inactive_timeout_s)):
        if value is None or value.value <= most:
            continue
        least = device.dialect.limits.timeout_s
        text = f"{flow.protocol} {flow.name}: {name} timeout {value.value:g} s; {most:g} s at most show iterations"
        if least is not None and least[0] > most:
            text += f", and {least[0]} s is the least here: use sFlow for timelines"
        yield finding(device, "long-timeout", Severity.WARNING, value, text)
