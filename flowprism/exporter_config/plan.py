"""`flowprism.export_plan/v1`: what the exporters of a fabric ought to be set to."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from datamodel.document import Document
from datamodel.errors import InputError
from flowprism.exporter_config.model import Direction, Vendor

# A RoCEv2 packet of the usual path MTU: 4,096 bytes of data, 58 to 94 of headers and checksum, 24 of preamble and gap.
PACKET_BYTES = 4200


class PlannedCollector(Document):
    """A collector: address, UDP port of sFlow, and the VRF or namespace that leads to it."""

    address: str
    port: int = Field(default=6343, ge=1, le=65535)
    vrf: str | None = None


class ExportPlan(Document):
    """The goal. What is left out is not held against a device.

    Attributes:
        collectors: where datagrams go.
        rates: N of 1 in N by port speed in Gb/s.
        rate: N for ports of other or unknown speed.
        direction: which packets to sample; both directions show each packet twice.
        polling_s: seconds between counter readings.
        header_bytes: bytes of each sampled packet.
        tunnels: samples hold a tunnel's headers before the packet's own.
        iteration_s: the shortest iteration that flow records must show.
        packet_bytes: of a full packet on the wire, from which the samples to expect follow.
        vendors: which language each device speaks, by name or pattern (for `generate`).
        ports: names of the ports of each device, by name or pattern, where the inventory's numbers do not give them.
    """

    schema_: Literal["flowprism.export_plan/v1"] = Field(default="flowprism.export_plan/v1", alias="schema")
    collectors: tuple[PlannedCollector, ...] = ()
    rates: dict[int, int] = Field(default={})
    rate: int | None = Field(default=None, ge=1)
    direction: Direction = Direction.INGRESS
    polling_s: int = Field(default=10, ge=1, le=20)
    header_bytes: int = Field(default=128, ge=64)
    tunnels: bool = False
    iteration_s: float | None = Field(default=None, gt=0)
    packet_bytes: int = Field(default=PACKET_BYTES, ge=64)
    vendors: dict[str, Vendor] = Field(default={})
    ports: dict[str, tuple[str, ...]] = Field(default={})

    @model_validator(mode="before")
    @classmethod
    def _short_collectors(cls, document: Any) -> Any:  # noqa: ANN401 -- whatever the file holds
        """A collector may be written as `address` or `address:port`."""
        if isinstance(document, dict) and isinstance(document.get("collectors"), list):
            document = {**document, "collectors": [_collector(row) for row in document["collectors"]]}
        return document

    def rate_for(self, mbps: int | None) -> int | None:
        """The planned N for a port of this speed; None where the plan says nothing of it."""
        return self.rates.get((mbps or 0) // 1000, self.rate)

    def vendor_of(self, device: str) -> Vendor | None:
        """The language of a device."""
        return next((v for pattern, v in self.vendors.items() if fnmatchcase(device, pattern)), None)

    def ports_of(self, device: str) -> tuple[str, ...]:
        """The ports that the plan names for a device."""
        return next((names for pattern, names in self.ports.items() if fnmatchcase(device, pattern)), ())


def _collector(row: Any) -> Any:  # noqa: ANN401 -- whatever the file holds
    if not isinstance(row, str):
        return row
    address, colon, port = row.rpartition(":")
    if colon and port.isdecimal() and (":" not in address or address.startswith("[")):
        return {"address": address.strip("[]"), "port": int(port)}
    return {"address": row}


def load_plan(path: Path) -> ExportPlan:
    """Read a plan from YAML.

    Raises:
        InputError: the file cannot be read or is no plan.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    try:
        return ExportPlan.model_validate(document if document is not None else {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}") from error
