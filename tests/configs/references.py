"""Mistakes made in the right configurations by program, and whether an audit finds each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from flowprism.exporter_config.audit import AuditReport
from flowprism.exporter_config.dialects import DIALECTS, recognize
from flowprism.exporter_config.model import ExportConfig, PortSampling, Vendor, default
from flowprism.exporter_config.output.audit_text import render_text
from tests.configs.mutants import mutants
from tests.configs.problem import Problem, problems

# Lines of a reference that its settings, written anew, need around them: who the device is, and what its ports are.
_AROUND = {
    Vendor.ARISTA_EOS: ("hostname", "interface Loopback0", "   ip address"),
    Vendor.CISCO_NXOS: ("hostname", "interface", "  ip address", "  channel-group"),
    Vendor.NVIDIA_ONYX: ("   hostname",),
    Vendor.JUNIPER_JUNOS: ("set system host-name",),
    Vendor.CUMULUS_NVUE: ("nv set system hostname",),
}


@dataclass(frozen=True)
class Mistake:
    """One mistake: the reference's file, what was made wrong, and whether it has an error or a warning."""

    file: Path
    name: str
    is_found: bool


def mistakes_in_references(folder: Path) -> Iterator[Mistake]:
    """Every mistake in every reference, audited in copies below `folder`."""
    for problem in problems():
        for file in sorted((problem.folder / "reference").iterdir()):
            yield from _mistakes(problem, file, folder / f"{problem.name}-{file.name}")


def _mistakes(problem: Problem, file: Path, folder: Path) -> Iterator[Mistake]:
    reference = file.read_text()
    config = _read(file)
    write = DIALECTS[config.vendor].write
    control = _audited(problem, file, _surrounded(reference, config.vendor, write(config)), folder / "right")
    assert control.is_healthy, render_text(control)
    for number, (name, wrong) in enumerate(mutants(config)):
        text = _surrounded(reference, config.vendor, write(wrong))
        report = _audited(problem, file, text, folder / str(number))
        yield Mistake(file, name, not report.is_healthy)


def _read(file: Path) -> ExportConfig:
    vendor = recognize(file.read_text())
    assert vendor is not None
    config = DIALECTS[vendor].read(file.read_text(), file.name)
    if file.read_text().startswith("_uuid") and config.sampling is not None:  # a listing names no bridge
        bridge = PortSampling("br0", default(value=True))
        config = replace(config, sampling=replace(config.sampling, ports=(bridge,)))
    return config


def _surrounded(reference: str, vendor: Vendor, text: str) -> str:
    """The settings of `text` with the host name and addresses of the reference around them."""
    around = _AROUND.get(vendor, ())
    kept = [line for line in reference.splitlines() if line.startswith(around)] if around else []
    return "".join(f"{line}\n" for line in kept) + text


def _audited(problem: Problem, file: Path, text: str, folder: Path) -> AuditReport:
    shutil.copytree(problem.folder / "reference", folder)
    (folder / file.name).write_text(text)
    return problem.audit(folder)
