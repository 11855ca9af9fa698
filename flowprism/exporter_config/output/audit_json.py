"""An audit as JSON, `flowprism.config_audit/v1`."""

from __future__ import annotations

import json
from dataclasses import asdict

from flowprism.exporter_config.audit import AuditReport
from flowprism.exporter_config.device import Device

SCHEMA = "flowprism.config_audit/v1"


def render_json(report: AuditReport) -> str:
    """Devices with what they are configured to export, findings, files that were not used."""
    document = {
        "schema": SCHEMA,
        "healthy": report.is_healthy,
        "devices": [_device(device) for device in report.devices],
        "findings": [asdict(found) for found in report.findings],
        "skipped": [asdict(skipped) for skipped in report.skipped],
    }
    return json.dumps(document, indent=2) + "\n"


def _device(device: Device) -> dict[str, object]:
    around, sampling = device.config.around, device.sampling
    rates = {
        rate.value for name, mbps in device.sampled_ports() or [("", None)]
        if (rate := device.rate_of(name, mbps)) is not None
    }  # fmt: skip
    return {
        "name": device.name,
        "vendor": device.config.vendor,
        "file": around.file,
        "agent": device.agent_address,
        "sflow": sampling is not None,
        "sampling_rates": sorted(rates),
        "collectors": [f"{c.address}:{c.port.value}" for c in sampling.collectors] if sampling is not None else [],
        "flow_exports": [flow.name for flow in device.config.flows if flow.enabled.value],
        "statements": around.statements,
        "unread_statements": len(around.unread),
    }
