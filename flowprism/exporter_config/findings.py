"""What an audit found: which rule, where, and the lines to type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from flowprism.exporter_config.device import Device
from flowprism.exporter_config.model import PacketSampling, Value, Vendor


class Severity(StrEnum):
    """`error`: the feed lacks or distorts traffic; `warning`: it shows less than planned; `info`: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


# Each rule with the sentence that explains it (docs/exporters.md has a section for each).
RULES = {
    "not-enabled": "Export is not enabled on a device that has to export.",
    "nothing-sampled": "The agent runs, but no port is sampled.",
    "no-configuration": "No configuration was read for a switch of the inventory.",
    "no-collector": "Export has no destination.",
    "other-collector": "A planned collector is not among the destinations.",
    "refused-value": "The device does not accept the value.",
    "default-rate": "The vendor's default sampling rate is left where the plan has another.",
    "rate-off-plan": "The configured sampling rate is not the planned one.",
    "ineffective-rate": "The general sampling rate does not count for ports of known speed.",
    "both-directions": "Packets are sampled where they enter and where they leave, so each is seen twice.",
    "egress-only": "Packets are sampled only where they leave.",
    "port-uncovered": "A port of the inventory is not sampled.",
    "limiter": "The device discards or thins samples below the rate to expect.",
    "agent-unset": "The device chooses its agent address by itself.",
    "agent-duplicate": "Two devices have one agent address.",
    "agent-unlike-inventory": "The agent address is not the inventory's.",
    "short-header": "Sampled headers are too short to hold what is read from them.",
    "slow-counters": "Interface counters are read too seldom, or not at all.",
    "long-timeout": "Flow records are longer than a twentieth of an iteration.",
    "unequal-rates": "Ports of one speed are sampled at different rates.",
    "no-drop-notifications": "The device can report discarded packets and does not.",
    "unread-statement": "An export statement is not understood.",
    "silent": "The device is configured to export, and nothing of it was received.",
    "exported-rate": "The exported sampling rate is not the configured one.",
    "counted-rate": "The sampling rate that counters imply is not the configured one.",
}


@dataclass(frozen=True, slots=True)
class ConfigFinding:
    """One finding.

    Attributes:
        rule: a key of `RULES`.
        severity: how much it matters.
        device: its name.
        vendor: its language; None where no configuration was read.
        file: the configuration's file; empty where there is none.
        line: in it, from 1; 0: of no line.
        message: what is wrong, with the numbers.
        fix: the lines to type; empty where none would help.
    """

    rule: str
    severity: Severity
    device: str
    vendor: Vendor | None
    file: str
    line: int
    message: str
    fix: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[object, ...]:
        """Sorting key: device, line, rule."""
        return self.device, self.file, self.line, self.rule, self.message


def finding(
    device: Device,
    rule: str,
    severity: Severity,
    value: Value[int] | Value[str] | Value[bool] | Value[float] | int | None,
    message: str,
    fixed: PacketSampling | None = None,
) -> ConfigFinding:
    """A finding about a value (or a line) of a device; `fixed` is its sampling put right."""
    line = value if isinstance(value, int) else (value.line if value is not None else 0)
    return ConfigFinding(
        rule, severity, device.name, device.config.vendor, device.config.around.file, line or device.first_line,
        message, device.typed(fixed) if fixed is not None else (),
    )  # fmt: skip


def in_order(findings: Iterable[ConfigFinding]) -> tuple[ConfigFinding, ...]:
    """Sorted, each once."""
    return tuple(sorted(set(findings), key=lambda found: found.order))
