"""`flowprism decode`, as it is typed; what it does is in `flowprism.cli.actions.files.decode`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.arguments.choices import SamplingRates


def decode(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Captures, bare export datagrams or flow records.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Output: .parquet, .csv or .jsonl (.gz, .zst); - writes JSON lines to stdout."
        ),
    ],
    wire: Annotated[
        bool, typer.Option("--wire", help="Write the decoded export datagrams unchanged, as JSON lines.")
    ] = False,
    sampling_rate: SamplingRates = None,
) -> None:
    """Write flow records, or with --wire the decoded export datagrams, one record per line."""
    from flowprism.cli.actions.files.decode import (  # here, so that `--help` need not wait for the decoders
        write_flows,
        write_wire,
    )

    if wire:
        write_wire(paths, out)
    else:
        write_flows(paths, out, sampling_rate or ())
