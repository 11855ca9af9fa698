"""Compares what devices are configured to export with what a feed carries and what its counters imply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flowprism.exporter_config.device import Device
from flowprism.exporter_config.findings import ConfigFinding, Severity, finding
from flowprism.inputs.feed_survey import Survey

_TOLERANCE = 0.1  # of rates that counters imply; the survey reports none that differs less


def compare_with_feed(devices: Iterable[Device], feed: Survey) -> Iterator[ConfigFinding]:
    """Devices that are silent, or whose exported or counted rate is not the configured one."""
    for device in devices:
        agent = device.agent_address or (device.switch.agent if device.switch is not None else None)
        if device.sampling is None or agent is None:
            continue
        exporters = [e for e in feed.exporters if e.agent == agent and e.protocol.startswith("sFlow")]
        if not exporters:
            text = f"nothing was received from agent {agent}"
            yield finding(device, "silent", Severity.ERROR, None, text)
            continue
        yield from _exported(device, {rate for e in exporters for rate in e.sampling_rates if rate})
        counted = {(doubt.where, doubt.likely, doubt.counted) for e in exporters for doubt in e.doubted_rates}
        yield from _counted(device, agent, counted, feed)


def configured_rates(device: Device) -> dict[int, int]:
    """Rates of the sampled ports, each with its line."""
    ports = device.sampled_ports() or [("", None)]
    rates = [device.rate_of(name, mbps) for name, mbps in ports]
    return {rate.value: rate.line for rate in rates if rate is not None}


def _exported(device: Device, exported: set[int]) -> Iterator[ConfigFinding]:
    configured = configured_rates(device)
    other = sorted(exported - configured.keys())
    if not other or not configured:
        return
    said = ", ".join(f"1 in {rate}" for rate in other)
    meant = ", ".join(f"1 in {rate}" for rate in sorted(configured))
    text = f"samples carry {said}; configured is {meant}"
    if device.dialect.limit_per_card:
        text += "; adaptive sampling raises rates under load"
    yield finding(device, "exported-rate", Severity.WARNING, min(configured.values()), text)


def _counted(device: Device, agent: str, counted: set[tuple[str, int, str]], feed: Survey) -> Iterator[ConfigFinding]:
    """Rates that sample pools or interface counters imply."""
    configured = configured_rates(device)
    rows = sorted(counted)
    for doubt in feed.doubtful_rates:
        if doubt.exporter == agent:
            rows.append((f"interface {doubt.interface}", round(doubt.likely_rate), "interface counters"))
    for where, likely, source in rows:
        if configured and all(abs(likely - rate) > _TOLERANCE * rate for rate in configured):
            meant = ", ".join(f"1 in {rate}" for rate in sorted(configured))
            text = f"{where}: 1 in {likely} by its {source}; configured is {meant}"
            yield finding(device, "counted-rate", Severity.ERROR, min(configured.values()), text)
