"""A judged problem, read from its folder.

`story.md` says what went wrong, `configs/` holds the devices' configurations, `reference/` the right ones,
`inventory.yaml` and `plan.yaml` what the audit is given, and `labels.yaml` what it must find: a list of findings whose
fields are exact values, `"*"` (anything), a list (one of these) or `{near: N, within: M}` (a number so close).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.optimize import linear_sum_assignment

from datamodel.cluster.inventory import Inventory
from flowprism.exporter_config.audit import AuditReport, audit
from flowprism.exporter_config.configurations import read_configurations
from flowprism.exporter_config.findings import ConfigFinding
from flowprism.exporter_config.plan import ExportPlan, load_plan
from flowprism.inputs.inventory_file import load_inventory

FOLDER = Path(__file__).parent / "problems"


@dataclass(frozen=True)
class Problem:
    """One folder."""

    folder: Path

    @property
    def name(self) -> str:
        """Vendor and number."""
        return f"{self.folder.parent.name}-{self.folder.name}"

    @property
    def labels(self) -> list[dict[str, Any]]:
        """The findings that must come, no more and no fewer."""
        labels: list[dict[str, Any]] = yaml.safe_load((self.folder / "labels.yaml").read_text())
        return labels

    def audit(self, configs: Path) -> AuditReport:
        """The audit of a folder of configurations with the problem's plan and inventory."""
        return audit(read_configurations([configs]), *_goal(self.folder))


@cache
def _goal(folder: Path) -> tuple[ExportPlan, Inventory | None]:
    """Plan and inventory of a problem."""
    inventory = folder / "inventory.yaml"
    return load_plan(folder / "plan.yaml"), load_inventory(inventory) if inventory.exists() else None


def problems() -> list[Problem]:
    """All of them, by vendor and number."""
    folders = [path.parent for path in FOLDER.glob("*/*/labels.yaml")]
    return [Problem(folder) for folder in sorted(folders, key=lambda path: (path.parent.name, int(path.name)))]


def score(labels: list[dict[str, Any]], findings: tuple[ConfigFinding, ...]) -> float:
    """Labels and findings matched one to one so that most fields agree, in [0, 1]; 1 only where all do."""
    if not labels and not findings:
        return 1.0
    if not labels or not findings:
        return 0.0
    agreement = np.array([[_agreement(label, found) for found in findings] for label in labels])
    rows, columns = linear_sum_assignment(-agreement)
    return float(agreement[rows, columns].sum() / max(len(labels), len(findings)))


def _agreement(label: dict[str, Any], found: ConfigFinding) -> float:
    """Share of the label's fields that agree; 0 where the rule is another."""
    if label["rule"] != found.rule:
        return 0.0
    seen = {**_fields(found), "file": Path(found.file).name}
    return sum(_fits(wanted, seen[field]) for field, wanted in label.items()) / len(label)


def _fields(found: ConfigFinding) -> dict[str, Any]:
    return {"rule": found.rule, "device": found.device, "line": found.line, "fix": list(found.fix)}


def _fits(wanted: Any, value: Any) -> bool:  # noqa: ANN401 -- whatever a label holds
    if wanted == "*":
        return bool(value)
    if isinstance(wanted, dict):
        return abs(int(value) - int(wanted["near"])) <= int(wanted["within"])
    if isinstance(wanted, list) and not isinstance(value, list):
        return str(value) in map(str, wanted) or "*" in wanted
    same: bool = wanted == value
    return same
