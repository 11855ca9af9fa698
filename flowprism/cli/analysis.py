"""One analysis from the command line: check the outputs, read the inventory, run the pipeline, write what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from datamodel.analysis import Analysis
from datamodel.errors import InputError
from flowprism import pipeline
from flowprism.cli.analyze import ReportFormat
from flowprism.cli.progress_bars import progress_bars
from flowprism.inventory_file import load_inventory
from flowprism.rendering.html import render_html
from flowprism.rendering.names import Names, names_of
from flowprism.rendering.perfetto import write_trace
from flowprism.rendering.report_json import render_json
from flowprism.rendering.text import print_report
from flowprism.rendering.timelines_file import check_suffix, write_timelines

_FILE_COLUMNS = 80


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where results go: the report (stdout where None), a Perfetto trace and the timelines (neither where None)."""

    report: Path | None = None
    perfetto: Path | None = None
    timelines: Path | None = None


def run(paths: Sequence[Path], inventory_path: Path | None, report_format: ReportFormat, outputs: Outputs) -> None:
    """Analyse `paths` and write the results.

    Raises:
        FlowprismError: an input cannot be used or an output cannot be written.
    """
    _check(outputs)
    inventory = None if inventory_path is None else load_inventory(inventory_path)
    with progress_bars() as progress:
        analysis = pipeline.analyze(paths, inventory, pipeline.AnalysisOptions(), progress)
    try:
        write(analysis, names_of(inventory), report_format, outputs)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{error.filename or 'output'}: cannot be written: {error.strerror or error}") from error


def _check(outputs: Outputs) -> None:
    """Refuse what cannot be written before the minutes of analysis, not after."""
    for path in (outputs.report, outputs.perfetto, outputs.timelines):
        if path is not None and not path.parent.is_dir():
            raise InputError(f"{path}: cannot be written: {path.parent} is not a directory")
        if path is not None and path.is_dir():
            raise InputError(f"{path}: cannot be written: is a directory")
    if outputs.timelines is not None:
        check_suffix(outputs.timelines)


def write(analysis: Analysis, names: Names, report_format: ReportFormat, outputs: Outputs) -> None:
    """Write the timelines and the trace where wanted, and the report last."""
    if outputs.timelines is not None:
        write_timelines(analysis.timelines, outputs.timelines)
    if outputs.perfetto is not None:
        write_trace(analysis, names, outputs.perfetto)
    if report_format is ReportFormat.TEXT:
        _write_text(analysis, names, outputs.report)
        return
    is_json = report_format is ReportFormat.JSON
    content = render_json(analysis.report) if is_json else render_html(analysis, names)
    if outputs.report is None:
        typer.echo(content, nl=False)
    else:
        outputs.report.write_text(content, encoding="utf-8")


def _write_text(analysis: Analysis, names: Names, out: Path | None) -> None:
    if out is None:
        print_report(analysis.report, names, Console(highlight=False))
        return
    with out.open("w", encoding="utf-8") as file:
        print_report(analysis.report, names, Console(file=file, width=_FILE_COLUMNS, highlight=False))
