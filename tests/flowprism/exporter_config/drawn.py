"""Draws settings that a vendor's language can say, for property tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from flowprism.exporter_config.dialects import DIALECTS
from flowprism.exporter_config.model import (
    Collector,
    Direction,
    ExportConfig,
    FlowExport,
    PacketSampling,
    PortSampling,
    Value,
    Vendor,
    default,
    sorted_ports,
)

WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,11}", fullmatch=True)
ADDRESSES = st.ip_addresses(v=4).map(str)
NUMBERS = st.integers(1, 2_000_000)
PORTS = {
    Vendor.ARISTA_EOS: st.from_regex(r"Ethernet[1-9]\d?(/[1-8])?", fullmatch=True),
    Vendor.CISCO_NXOS: st.from_regex(r"Ethernet1/[1-9]\d?", fullmatch=True),
    Vendor.JUNIPER_JUNOS: st.from_regex(r"et-\d/\d/\d\.0", fullmatch=True),
    Vendor.SONIC: st.from_regex(r"Ethernet\d{1,3}", fullmatch=True),
    Vendor.CUMULUS_NVUE: st.from_regex(r"swp[1-9]\d?(s\d)?", fullmatch=True),
    Vendor.HSFLOWD: st.from_regex(r"eth\d{1,2}", fullmatch=True),
    Vendor.OPEN_VSWITCH: st.from_regex(r"br\d{1,2}", fullmatch=True),
    Vendor.NVIDIA_ONYX: st.from_regex(r"1/[1-9]\d?", fullmatch=True),
    Vendor.OPENCONFIG: st.from_regex(r"eth-1/[1-9]\d?", fullmatch=True),
}
# Which settings of a port each language has.
PORT_SETTINGS: dict[Vendor, frozenset[str]] = {
    vendor: frozenset(name.removeprefix("port.") for name in dialect.settable if name.startswith("port."))
    for vendor, dialect in DIALECTS.items()
}
ONE_PORT_NUMBER = frozenset({Vendor.CISCO_NXOS})  # one UDP port for all collectors


@st.composite
def samplings(draw: st.DrawFn, vendor: Vendor) -> PacketSampling:
    """Settings of packet sampling of one vendor, each configured or left at its default."""
    start = DIALECTS[vendor].blank
    can = DIALECTS[vendor].settable
    chosen: dict[str, Any] = {"collectors": draw(collectors(vendor))}
    for name in ("rate", "egress_rate", "polling_s", "header_bytes", "limit_per_s"):
        if name in can and draw(st.booleans()):
            chosen[name] = Value(draw(NUMBERS))
    if draw(st.booleans()):
        chosen["agent"] = Value(draw(ADDRESSES))
    if "rates_by_speed" in can:
        speeds = draw(st.lists(st.sampled_from([1000, 10_000, 100_000, 400_000]), unique=True))
        chosen["rates_by_speed"] = tuple((speed, Value(draw(NUMBERS))) for speed in sorted(speeds))
    if "drops" in can and draw(st.booleans()):
        chosen["drops"] = Value(True)
    chosen |= draw(states(vendor, start))
    if vendor is not Vendor.HSFLOWD:
        chosen["ports"] = draw(ports(vendor))
    if vendor is Vendor.ARISTA_EOS and "rate" in chosen:
        chosen["confirmed"] = draw(st.booleans())
    sampling = replace(start, **chosen)
    if vendor in (Vendor.JUNIPER_JUNOS, Vendor.OPENCONFIG):
        made = Direction.of(ingress=sampling.rate is not None, egress=sampling.egress_rate is not None)
        sampling = replace(sampling, direction=default(made))
    return sampling


@st.composite
def states(draw: st.DrawFn, vendor: Vendor, start: PacketSampling) -> dict[str, Any]:
    """On or off, which direction, which ports beside those listed."""
    chosen: dict[str, Any] = {}
    off = vendor in (Vendor.JUNIPER_JUNOS, Vendor.SONIC, Vendor.CUMULUS_NVUE, Vendor.OPENCONFIG)
    on = vendor not in (Vendor.JUNIPER_JUNOS, Vendor.HSFLOWD, Vendor.OPEN_VSWITCH)
    values = [value for value, possible in ((True, on), (False, off)) if possible]
    configured: bool = draw(st.booleans())
    if values and configured:
        chosen["enabled"] = Value(values[draw(st.integers(0, len(values) - 1))])
    can = DIALECTS[vendor]
    if "direction" in can.settable and draw(st.booleans()):
        possible_ways = sorted(can.directions - {start.direction.value, Direction.NONE})
        chosen["direction"] = Value(draw(st.sampled_from(possible_ways)))
    if "all_ports" in can.settable and draw(st.booleans()):
        chosen["all_ports"] = Value(False)
    return chosen


@st.composite
def collectors(draw: st.DrawFn, vendor: Vendor, most: int = 2) -> tuple[Collector, ...]:
    """Different destinations, some in a VRF."""
    most = min(most, DIALECTS[vendor].limits.collectors or most)
    addresses = draw(st.lists(ADDRESSES, unique=True, max_size=most))
    vrf = vendor is not Vendor.OPEN_VSWITCH
    found = []
    for address in addresses:
        number = Value(draw(st.integers(1, 65535))) if draw(st.booleans()) else default(6343)
        where = Value(draw(WORDS)) if vrf and draw(st.booleans()) else None
        found.append(Collector(address, number, where))
    return tuple(found)


@st.composite
def ports(draw: st.DrawFn, vendor: Vendor) -> tuple[PortSampling, ...]:
    """Ports with the settings that the language has for them."""
    names = draw(st.lists(PORTS[vendor], unique=True, max_size=4))
    can = PORT_SETTINGS[vendor]
    off = vendor in (Vendor.ARISTA_EOS, Vendor.SONIC, Vendor.CUMULUS_NVUE, Vendor.OPENCONFIG)
    found = []
    for name in names:
        chosen: dict[str, Any] = {
            key: Value(draw(NUMBERS))
            for key in ("rate", "egress_rate", "polling_s")
            if key in can and draw(st.booleans())
        }
        if "direction" in can and draw(st.booleans()):
            ways = sorted(DIALECTS[vendor].directions)
            chosen["direction"] = Value(draw(st.sampled_from(ways)))
        found.append(PortSampling(name, Value(draw(st.booleans()) if off else True), **chosen))
    return sorted_ports(found)


@st.composite
def flows(draw: st.DrawFn, vendor: Vendor) -> tuple[FlowExport, ...]:
    """IPFIX or NetFlow where the language has it."""
    if vendor not in (Vendor.ARISTA_EOS, Vendor.CISCO_NXOS, Vendor.JUNIPER_JUNOS, Vendor.OPEN_VSWITCH):
        return ()
    if draw(st.booleans()):
        return ()
    name = draw(WORDS)
    seconds = Value(float(draw(st.integers(1, 600))))
    sent = tuple(replace(c, vrf=None, port=Value(c.port.value)) for c in draw(collectors(vendor)))
    sent = sent or (Collector("10.0.0.5", Value(4739)),)
    metered = tuple(PortSampling(p.name, Value(True)) for p in draw(ports(vendor)))
    match vendor:
        case Vendor.ARISTA_EOS:
            flow = FlowExport(f"sampled {name}", "IPFIX", default(False), sent, None, default(1_048_576))
            flow = replace(flow, active_timeout_s=seconds, inactive_timeout_s=default(15.0), ports=metered)
        case Vendor.CISCO_NXOS:
            flow = FlowExport(name, "NetFlow v9", Value(True), sent, active_timeout_s=seconds, ports=metered)
        case Vendor.JUNIPER_JUNOS:
            state = Value(True) if draw(st.booleans()) else default(False)
            flow = FlowExport(name, "IPFIX", state, sent, None, Value(draw(NUMBERS)), ports=metered)
            flow = replace(flow, active_timeout_s=seconds, inactive_timeout_s=default(60.0))
        case _:
            bridges = metered or (PortSampling("br0", Value(True)),)
            flow = FlowExport(",".join(p.name for p in bridges), "IPFIX", Value(True), sent, ports=bridges)
            flow = replace(flow, rate=Value(draw(NUMBERS)), active_timeout_s=seconds)
    return (flow,)


@st.composite
def configs(draw: st.DrawFn, vendor: Vendor) -> ExportConfig:
    """Settings of one device."""
    return ExportConfig(vendor, draw(samplings(vendor)), draw(flows(vendor)))
