"""Audits and writes exporter settings from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from flowprism.cli.arguments.sampling_rates import parse_sampling_rates
from flowprism.cli.output_errors import name_output_errors
from flowprism.exporter_config.audit import AuditReport, audit
from flowprism.exporter_config.configurations import read_configurations
from flowprism.exporter_config.generate import generate
from flowprism.exporter_config.output.audit_json import render_json
from flowprism.exporter_config.output.audit_junit import render_junit
from flowprism.exporter_config.output.audit_sarif import render_sarif
from flowprism.exporter_config.output.audit_text import render_text
from flowprism.exporter_config.plan import ExportPlan, load_plan
from flowprism.inputs.feed_survey import survey
from flowprism.inputs.inventory_file import load_inventory

_RENDERERS: dict[str, Callable[[AuditReport], str]] = {
    "text": render_text,
    "json": render_json,
    "sarif": render_sarif,
    "junit": render_junit,
}


def run_audit(
    paths: Sequence[Path], plan: Path | None, inventory: Path | None, feed: Sequence[Path], form: str, out: Path | None
) -> bool:
    """Write what an audit finds; whether there is neither error nor warning.

    Raises:
        InputError: a file cannot be used, or no configuration was understood.
    """
    report = audit(
        read_configurations(paths),
        load_plan(plan) if plan is not None else ExportPlan(),
        load_inventory(inventory) if inventory is not None else None,
        survey(feed, parse_sampling_rates(())) if feed else None,
    )
    text = _RENDERERS[form](report)
    if out is None:
        sys.stdout.write(text)
    else:
        with name_output_errors(out):
            out.write_text(text, encoding="utf-8")
    return report.is_healthy


def run_generate(inventory: Path, plan: Path, out: Path) -> None:
    """Write a file for each switch into a folder.

    Raises:
        InputError: a file cannot be read or written, or the plan leaves something open.
    """
    files = generate(load_inventory(inventory), inventory, load_plan(plan))
    with name_output_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        for file in files:
            (out / file.name).write_text(file.text, encoding="utf-8")
    typer.echo(f"{out}: {len(files)} files")
