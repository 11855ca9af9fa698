"""`flowprism scan`, as it is typed; what it does is in `flowprism.cli.actions.service.scan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.arguments.choices import LeastSeverity, SamplingRates, ScanFormat


def scan(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Captures, flow records or collected folders of one window.")
    ],
    inventory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hosts, switches and links, as YAML or CSV.")
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this job, by label or ID; repeatable."),
    ] = None,
    at_least: Annotated[
        LeastSeverity, typer.Option(help="Minimum severity of findings that count.")
    ] = LeastSeverity.WARNING,
    sampling_rate: SamplingRates = None,
    last: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Only the last 90s, 10m, 2h or 1d of the records.")
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Store the scan and its incidents: sqlite:///FILE or postgresql://."),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help="Policy under which the scan is stored.")] = "default",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Analyze jobs on the workers of this dask scheduler.")
    ] = None,
    scan_format: Annotated[ScanFormat, typer.Option("--format", help="Format of the verdict.")] = ScanFormat.TEXT,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the verdict here, not to stdout.")] = None,
    every: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Repeat until SIGTERM, with a window of --last; needs --results."),
    ] = None,
) -> None:
    """Say whether training jobs are healthy.

    Exits 0 where all are, 1 where something is wrong, 2 where the feed cannot
    show the verdict, an expected job is not seen, or an input cannot be used.
    """
    from flowprism.cli.actions.service.scan import (  # here, so that `--help` need not wait for the decoders
        ResultTarget,
        ScanArguments,
        scan_once,
        scan_repeatedly,
    )

    rates = tuple(sampling_rate or ())
    given = ScanArguments(tuple(paths), inventory, tuple(job or ()), at_least.value, rates, last, scheduler)
    kept = None if results is None else ResultTarget(results, policy)
    if every is not None:
        scan_repeatedly(given, kept, every)
        return
    raise typer.Exit(scan_once(given, kept, scan_format, out))
