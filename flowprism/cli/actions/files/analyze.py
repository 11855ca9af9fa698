"""One analysis from the command line: check the outputs, read the inventory, run the pipeline, write what was asked."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from rich.console import Console

from datamodel.reports.analysis import Analysis
from flowprism import pipeline
from flowprism.cli.arguments.choices import ReportFormat
from flowprism.cli.arguments.sampling_rates import parse_sampling_rates
from flowprism.cli.output_errors import check_output, name_output_errors
from flowprism.cli.progress_bars import progress_bars
from flowprism.gc_tuning import raise_gc_threshold
from flowprism.inputs.inventory_file import load_inventory
from flowprism.rendering.formats.html import render_html
from flowprism.rendering.formats.report_json import render_json
from flowprism.rendering.formats.text import print_report
from flowprism.rendering.formats.timelines_file import check_suffix, write_timelines
from flowprism.rendering.names import Names, names_of
from flowprism.worker_pool import WorkerPool

_PLAIN_COLUMNS = 80
# What becomes of letters that stdout's encoding lacks; our JSON is ASCII.
_BEYOND_ENCODING = {ReportFormat.TEXT: "replace", ReportFormat.JSON: "strict", ReportFormat.HTML: "xmlcharrefreplace"}


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where results go: the report (stdout where None), a Perfetto trace and the timelines (neither where None)."""

    report: Path | None = None
    perfetto: Path | None = None
    timelines: Path | None = None


@dataclass(frozen=True, slots=True)
class AnalyzeArguments:
    """What is analyzed: inputs, the inventory's file (None for none), sampling rates as typed, and the tenant."""

    paths: tuple[Path, ...]
    inventory: Path | None = None
    rates: tuple[str, ...] = ()
    crew: WorkerPool = field(default_factory=WorkerPool)


def analyze_files(given: AnalyzeArguments, report_format: ReportFormat, outputs: Outputs) -> None:
    """Analyze what is given and write the results.

    Raises:
        FlowprismError: an input cannot be used or an output cannot be written.
    """
    _check(outputs)
    raise_gc_threshold()
    drawn = report_format is ReportFormat.HTML or outputs.perfetto is not None or outputs.timelines is not None
    options = pipeline.AnalysisOptions(rates=parse_sampling_rates(given.rates), crew=given.crew, tables=drawn)
    inventory = None if given.inventory is None else load_inventory(given.inventory)
    with progress_bars() as progress:
        analysis = pipeline.analyze(given.paths, inventory, options, progress)
    write_outputs(analysis, names_of(inventory), report_format, outputs)


def _check(outputs: Outputs) -> None:
    for path in (outputs.report, outputs.perfetto, outputs.timelines):
        check_output(path)
    if outputs.timelines is not None:
        check_suffix(outputs.timelines)


def write_outputs(analysis: Analysis, names: Names, report_format: ReportFormat, outputs: Outputs) -> None:
    """Write the timelines and the trace where wanted, and the report last.

    Raises:
        InputError: an output cannot be written; the message names it.
    """
    if outputs.timelines is not None:
        with name_output_errors(outputs.timelines):
            write_timelines(analysis.timelines, outputs.timelines)
    if outputs.perfetto is not None:
        from flowprism.rendering.formats.perfetto import write_trace  # its messages take a tenth of a second to import

        with name_output_errors(outputs.perfetto):
            write_trace(analysis, names, outputs.perfetto)
    if outputs.report is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors=_BEYOND_ENCODING[report_format])
        with name_output_errors("stdout"):
            _report(analysis, names, report_format, sys.stdout)
            sys.stdout.flush()
        return
    with name_output_errors(outputs.report), outputs.report.open("w", encoding="utf-8") as file:
        _report(analysis, names, report_format, file)


def _report(analysis: Analysis, names: Names, report_format: ReportFormat, file: TextIO) -> None:
    if report_format is ReportFormat.JSON:
        file.write(render_json(analysis.report))
    elif report_format is ReportFormat.HTML:
        file.write(render_html(analysis, names))
    else:
        columns = None if file is sys.stdout and file.isatty() else _PLAIN_COLUMNS
        print_report(analysis.report, names, Console(file=file, width=columns, highlight=False))
