"""The report as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from datamodel.reports.report import Report
from flowprism.rendering.formats.report_json import render_json
from tests.flowprism import sample

SCHEMA = Path(__file__).parents[4] / "docs" / "schemas" / "report-v1.json"


def test_it_is_the_published_document() -> None:
    """It satisfies the schema in docs/ and reads back as the same report."""
    report = sample.analysis(iterations=16).report
    text = render_json(report)
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()))
    assert json.loads(text)["schema"] == "flowprism.report/v1"
    assert Report.model_validate_json(text) == report


def test_equal_reports_are_equal_bytes() -> None:
    """Keys are sorted, whatever order the report was filled in; the file ends in a newline."""
    report = sample.analysis(iterations=2, slow=False).report
    turned = report.model_copy(
        update={"feed": report.feed.model_copy(update={"rejected": dict(reversed(report.feed.rejected.items()))})}
    )
    assert render_json(turned) == render_json(report)
    assert render_json(report).endswith("}\n")


def test_what_json_cannot_say_is_refused() -> None:
    """An infinite ratio would make a file that other readers reject."""
    report = sample.analysis(iterations=16).report
    endless = report.findings[0].model_copy(update={"slowdown_ratio": float("inf")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        render_json(report.model_copy(update={"findings": (endless,)}))
