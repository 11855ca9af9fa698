"""One ordinary configuration for each vendor."""

from __future__ import annotations

from dataclasses import replace

from flowprism.exporter_config.dialects import DIALECTS
from flowprism.exporter_config.model import Collector, Direction, ExportConfig, PortSampling, Value, Vendor, default

PORT_NAMES = {
    Vendor.ARISTA_EOS: "Ethernet1/1",
    Vendor.CISCO_NXOS: "Ethernet1/1",
    Vendor.JUNIPER_JUNOS: "et-0/0/0.0",
    Vendor.SONIC: "Ethernet0",
    Vendor.CUMULUS_NVUE: "swp1",
    Vendor.OPEN_VSWITCH: "br0",
    Vendor.NVIDIA_ONYX: "1/1",
    Vendor.OPENCONFIG: "eth-1/1",
}


def _sample(vendor: Vendor) -> ExportConfig:
    sampling = replace(
        DIALECTS[vendor].blank,
        collectors=(Collector("10.0.0.5", Value(6343)),),
        agent=Value("10.255.0.1"),
        polling_s=Value(10),
    )
    if DIALECTS[vendor].limits.rate is not None and vendor is not Vendor.SONIC:
        sampling = replace(sampling, rate=Value(16_384))
    if vendor not in (Vendor.JUNIPER_JUNOS, Vendor.HSFLOWD, Vendor.OPEN_VSWITCH):
        sampling = replace(sampling, enabled=Value(True))
    if vendor in PORT_NAMES:
        sampling = replace(sampling, ports=(PortSampling(PORT_NAMES[vendor], Value(True)),))
    if vendor is Vendor.JUNIPER_JUNOS:
        sampling = replace(sampling, direction=default(Direction.INGRESS))
    return ExportConfig(vendor, sampling)


SAMPLES = {vendor: _sample(vendor) for vendor in Vendor}
