"""Can each device be identified, and found in the inventory?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from flowprism.exporter_config.device import Device
from flowprism.exporter_config.findings import ConfigFinding, Severity, finding
from flowprism.exporter_config.model import PacketSampling, Value, Vendor

_BY_INTERFACE = frozenset({Vendor.SONIC, Vendor.OPEN_VSWITCH})  # the agent is named by an interface alone


def check_agent(device: Device) -> Iterator[ConfigFinding]:
    """An agent address that is left to chance, or that the inventory does not know."""
    sampling = device.sampling
    if sampling is None:
        return
    wanted = device.switch.agent if device.switch is not None else None
    fixed = _with_agent(device, sampling, wanted)
    if sampling.agent is None:
        text = "no agent address is configured; the device chooses one, and may choose another"
        yield finding(device, "agent-unset", Severity.WARNING, None, text, fixed)
        return
    address = device.agent_address
    if wanted is not None and address is not None and address != wanted:
        text = f"the agent is {address}; the inventory has {wanted}"
        yield finding(device, "agent-unlike-inventory", Severity.ERROR, sampling.agent, text, fixed)


def _with_agent(device: Device, sampling: PacketSampling, wanted: str | None) -> PacketSampling | None:
    """With the inventory's address as the agent, or the interface that has it."""
    if wanted is None:
        return None
    holders = [i.name for i in device.config.around.interfaces if wanted in i.addresses]
    if device.config.vendor in _BY_INTERFACE:
        return replace(sampling, agent=Value(holders[0])) if holders else None
    if device.config.vendor is Vendor.ARISTA_EOS and holders:
        return replace(sampling, agent=Value(holders[0]))
    return replace(sampling, agent=Value(wanted))


def check_duplicate_agents(devices: Sequence[Device]) -> Iterator[ConfigFinding]:
    """Find agent addresses of several devices: their samples cannot be attributed."""
    named: dict[str, list[Device]] = {}
    for device in devices:
        if device.agent_address is not None:
            named.setdefault(device.agent_address, []).append(device)
    for address, sharing in named.items():
        for device in sharing if len(sharing) > 1 else ():
            others = ", ".join(sorted(other.name for other in sharing if other is not device))
            sampling = device.sampling
            wanted = device.switch.agent if device.switch is not None else None
            right = wanted if wanted != address else None
            fixed = _with_agent(device, sampling, right) if sampling is not None else None
            agent = sampling.agent if sampling is not None else None
            yield finding(
                device, "agent-duplicate", Severity.ERROR, agent, f"agent {address} is also that of {others}", fixed
            )
