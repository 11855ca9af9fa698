"""An audit as text: findings by device, each with its place and the lines to type."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from flowprism.exporter_config.audit import AuditReport
from flowprism.exporter_config.findings import ConfigFinding, Severity


def render_text(report: AuditReport) -> str:
    """Findings, then files that were not used, then a summary."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: AuditReport) -> Iterator[str]:
    for device, findings in groupby(report.findings, key=lambda found: found.device):
        yield device
        for found in findings:
            yield from _finding(found)
        yield ""
    for skipped in report.skipped:
        yield f"not used: {skipped.file}: {skipped.reason}"
    counts = {severity: sum(f.severity is severity for f in report.findings) for severity in Severity}
    said = ", ".join(f"{severity} {count}" for severity, count in counts.items() if count) or "no findings"
    yield f"devices {len(report.devices)}: {said}"


def _finding(found: ConfigFinding) -> Iterator[str]:
    where = f"{found.file}:{found.line}: " if found.file else ""
    yield f"  {found.severity:<8}{where}{found.message} [{found.rule}]"
    for number, line in enumerate(found.fix):
        yield f"          {'type: ' if number == 0 else '      '}{line}"
