"""`flowprism analyze`, as it is typed; what it does is in `flowprism.cli.actions.files.analyze`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.arguments.choices import ReportFormat, SamplingRates


def analyze(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Captures, flow records or collected folders of one window.")
    ],
    inventory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hosts, switches and links, as YAML or CSV.")
    ] = None,
    sampling_rate: SamplingRates = None,
    report_format: Annotated[ReportFormat, typer.Option("--format", help="Format of the report.")] = ReportFormat.TEXT,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report here, not to stdout.")] = None,
    perfetto: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a trace for ui.perfetto.dev.")
    ] = None,
    timelines: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write every span: .parquet, .arrow or .feather.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Threads that analyze jobs in parallel.  [default: one per CPU]"),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Analyze jobs on the workers of this dask scheduler.")
    ] = None,
) -> None:
    """Name the training jobs, how each is parallelized, and what slows it.

    Finding a fault, or no job at all, is an answer and exits 0; input that
    cannot be used exits 2.
    """
    from flowprism.cli.actions.files.analyze import (  # here, so that `--help` need not wait for the decoders
        AnalyzeArguments,
        Outputs,
        analyze_files,
    )
    from flowprism.worker_pool import WorkerPool

    given = AnalyzeArguments(tuple(paths), inventory, tuple(sampling_rate or ()), WorkerPool.asked(workers, scheduler))
    analyze_files(given, report_format, Outputs(out, perfetto, timelines))
