"""`flowprism scan`, as it is typed; what it does is in `flowprism.cli.scanning`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.options import Least, SamplingRates, ScanFormat


def scan(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Captures, flow records or collected folders of one window.")
    ],
    inventory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hosts, switches and links, as YAML or CSV.")
    ] = None,
    job: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Judge this job, by label or id, and no other; may be repeated."),
    ] = None,
    at_least: Annotated[Least, typer.Option(help="Findings of less severity do not count.")] = Least.WARNING,
    sampling_rate: SamplingRates = None,
    last: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Only the last 90s, 10m, 2h or 1d of the records.")
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Keep the scan and its incidents: sqlite:///FILE or postgresql://."),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help="What the scan is kept under.")] = "default",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Jobs are analysed by this dask scheduler's workers.")
    ] = None,
    scan_format: Annotated[ScanFormat, typer.Option("--format", help="How the verdict is written.")] = ScanFormat.TEXT,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the verdict here, not to stdout.")] = None,
    every: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Go on until SIGTERM, a window of --last each time; needs --results."),
    ] = None,
) -> None:
    """Say whether training jobs are healthy.

    Exits 0 where all are, 1 where something is wrong, 2 where the feed cannot
    tell, an expected job is not seen, or an input cannot be used.
    """
    from flowprism.cli import scanning  # here, so that `--help` need not wait for the decoders

    rates = tuple(sampling_rate or ())
    given = scanning.Given(tuple(paths), inventory, tuple(job or ()), at_least.value, rates, last, scheduler)
    kept = None if results is None else scanning.Kept(results, policy)
    if every is not None:
        scanning.run_repeatedly(given, kept, every)
        return
    raise typer.Exit(scanning.run(given, kept, scan_format, out))
