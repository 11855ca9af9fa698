"""The report as JSON text: the same report always gives the same bytes."""

from __future__ import annotations

import json

from datamodel.report import Report


def render_json(report: Report) -> str:
    """`flowprism.report/v1` with sorted keys, two spaces of indent and a newline at the end; pure ASCII.

    Raises:
        ValueError: a number in the report is infinite or not a number, which JSON cannot say.
    """
    document = report.model_dump(mode="json", by_alias=True)
    return json.dumps(document, sort_keys=True, indent=2, allow_nan=False) + "\n"
