"""JSON Schemas of the published documents, made from the code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from datamodel.cluster.inventory import Inventory
from datamodel.reports.report import Report
from datamodel.reports.scan import Scan
from datamodel.reports.truth import Truth
from datamodel.service.alerts import AlertMessage


def documents() -> dict[str, dict[str, Any]]:
    """File name -> JSON Schema (draft 2020-12) of each published document."""
    return {
        "alerts-v1.json": AlertMessage.model_json_schema(by_alias=True, mode="serialization"),
        "inventory-v1.json": Inventory.model_json_schema(by_alias=True),
        "report-v1.json": Report.model_json_schema(by_alias=True, mode="serialization"),
        "scan-v1.json": Scan.model_json_schema(by_alias=True, mode="serialization"),
        "truth-v1.json": Truth.model_json_schema(by_alias=True),
    }


def write(folder: Path) -> None:
    """Write every schema into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in documents().items():
        (folder / name).write_text(json.dumps(schema, indent=2) + "\n")
