"""Audits configurations against a plan, an inventory and a feed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from datamodel.cluster.inventory import Inventory, Switch
from flowprism.exporter_config.configurations import Configurations, Skipped
from flowprism.exporter_config.device import Device, known_ports
from flowprism.exporter_config.dialects import DIALECTS
from flowprism.exporter_config.feed_comparison import compare_with_feed
from flowprism.exporter_config.findings import ConfigFinding, Severity, in_order
from flowprism.exporter_config.model import ExportConfig
from flowprism.exporter_config.plan import ExportPlan
from flowprism.exporter_config.rules.agents import check_agent, check_duplicate_agents
from flowprism.exporter_config.rules.presence import check_presence
from flowprism.exporter_config.rules.rates import check_equal_rates, check_rates
from flowprism.exporter_config.rules.values import check_values
from flowprism.inputs.feed_survey import Survey


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What came of an audit.

    Attributes:
        devices: that were audited, by name.
        findings: in the order of device and line.
        skipped: files that were not used.
    """

    devices: tuple[Device, ...]
    findings: tuple[ConfigFinding, ...]
    skipped: tuple[Skipped, ...]

    @property
    def is_healthy(self) -> bool:
        """Nothing needs to be typed: no error and no warning."""
        return all(found.severity is Severity.INFO for found in self.findings)


def audit(
    configurations: Configurations,
    plan: ExportPlan,
    inventory: Inventory | None = None,
    feed: Survey | None = None,
) -> AuditReport:
    """Run every rule on every device, and those that compare devices on all of them."""
    devices = sorted(_devices(configurations.configs, plan, inventory), key=lambda device: device.name)
    found: list[ConfigFinding] = []
    for device in devices:
        for check in (check_presence, check_values, check_rates, check_agent):
            found += check(device)
    found += check_equal_rates(devices)
    found += check_duplicate_agents(devices)
    if inventory is not None:
        found += _missing(inventory, devices)
    if feed is not None:
        found += compare_with_feed(devices, feed)
    return AuditReport(tuple(devices), in_order(found), configurations.skipped)


def _devices(configs: Iterable[ExportConfig], plan: ExportPlan, inventory: Inventory | None) -> Iterator[Device]:
    """Configurations, each with its switch of the inventory. With switches there, only they have to export."""
    switches = inventory.switches if inventory is not None else ()
    devices = [Device(config, DIALECTS[config.vendor], plan, required=not switches) for config in configs]
    named = [_switch_named(device.config.name, switches) for device in devices]
    left = {switch.agent: switch for switch in switches if switch not in named}
    for device, by_name in zip(devices, named, strict=True):
        switch = by_name or left.get(device.agent_address or "")
        if switch is None or inventory is None:
            yield device
            continue
        ports = known_ports(inventory, device.dialect, device.config, switch.name)
        yield replace(device, switch=switch, ports=ports, required=True)


def _switch_named(name: str, switches: tuple[Switch, ...]) -> Switch | None:
    """The switch of this name, with its domain or without."""
    names = {name.lower(), name.lower().partition(".")[0]}
    return next((switch for switch in switches if switch.name.lower() in names), None)


def _missing(inventory: Inventory, devices: Iterable[Device]) -> Iterator[ConfigFinding]:
    """Switches of the inventory without a configuration."""
    read = {device.switch.name for device in devices if device.switch is not None}
    for switch in inventory.switches:
        if switch.name not in read:
            text = "no configuration of this switch was read"
            yield ConfigFinding("no-configuration", Severity.WARNING, switch.name, None, "", 0, text)
