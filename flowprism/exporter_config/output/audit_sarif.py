"""An audit as SARIF 2.1.0, which code hosts show next to the lines of a repository of configurations."""

from __future__ import annotations

import json
from pathlib import PurePath

import flowprism
from flowprism.exporter_config.audit import AuditReport
from flowprism.exporter_config.findings import RULES, ConfigFinding, Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_sarif(report: AuditReport) -> str:
    """One run; each finding is a result with file, line and the lines to type."""
    driver = {
        "name": "flowprism",
        "version": flowprism.__version__,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(found) for found in report.findings]}],
    }
    return json.dumps(document, indent=2) + "\n"


def _result(found: ConfigFinding) -> dict[str, object]:
    text = f"{found.device}: {found.message}"
    if found.fix:
        text += "\nType:\n" + "\n".join(found.fix)
    result: dict[str, object] = {
        "ruleId": found.rule,
        "ruleIndex": list(RULES).index(found.rule),
        "level": _LEVELS[found.severity],
        "message": {"text": text},
        "properties": {"device": found.device, "type": list(found.fix)},
    }
    if found.file:
        place: dict[str, object] = {"artifactLocation": {"uri": PurePath(found.file).as_posix()}}
        if found.line:
            place["region"] = {"startLine": found.line}
        result["locations"] = [{"physicalLocation": place}]
    return result
