"""What a vendor's configuration language can say: its reader, its writer, and the limits of the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowprism.exporter_config.commands import Command, script
from flowprism.exporter_config.model import Direction, ExportConfig, PacketSampling, Vendor

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """What the device accepts. None: no limit is documented, or there is no such setting.

    Attributes:
        rate: least and greatest N of 1 in N.
        confirm_below: a lesser N is accepted only where it is confirmed.
        polling_s: least and greatest interval besides 0, which switches polling off.
        header_bytes: least and greatest.
        collectors: the most sFlow collectors.
        samples_per_s: the range of the limiter.
        timeout_s: of flow records.
    """

    rate: Range | None = None
    confirm_below: int = 0
    polling_s: Range | None = None
    header_bytes: Range | None = None
    collectors: int | None = None
    samples_per_s: Range | None = None
    timeout_s: Range | None = None


@dataclass(frozen=True, slots=True)
class ConfigDialect:
    """A vendor's configuration language.

    Attributes:
        vendor: its name.
        document: the vendor's page that limits and defaults are from.
        blank: packet sampling where nothing is configured.
        read: text and file name to settings.
        commands: settings to single commands, from which the lines to type come.
        limits: what the device accepts.
        settable: fields of `PacketSampling` that can be set; of ports "port.rate" and the like; "collector.vrf".
        directions: that sampling can have.
        form: settings to a file, where it is more than the commands.
        speed_divisor: without a rate, N is the port's bit/s divided by this; 0: not so.
        rate_needs_unknown_speed: the general rate counts only for ports of unknown speed (hsflowd).
        limit_per_card: the limiter counts each line card of its own.
        file_name: what a file written for a device is called, "{}" stands for the device.
        indent: of nested commands.
    """

    vendor: Vendor
    document: str
    blank: PacketSampling
    read: Callable[[str, str], ExportConfig]
    commands: Callable[[ExportConfig], list[Command]]
    limits: Limits
    settable: frozenset[str]
    directions: frozenset[Direction]
    form: Callable[[ExportConfig], str] | None = None
    speed_divisor: int = 0
    rate_needs_unknown_speed: bool = False
    limit_per_card: bool = False
    file_name: str = "{}.conf"
    indent: str = "   "

    def write(self, config: ExportConfig) -> str:
        """Convert settings to text that `read` gives back."""
        return script(self.commands(config)) if self.form is None else self.form(config)
