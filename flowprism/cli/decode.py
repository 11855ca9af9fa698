"""`flowprism decode`, as it is typed; what it does is in `flowprism.cli.decoding`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.options import SamplingRates


def decode(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Captures, bare export datagrams or flow records.")
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where to: .parquet, .csv or .jsonl (.gz, .zst); - is stdout, JSON lines."),
    ],
    wire: Annotated[
        bool, typer.Option("--wire", help="Write what export datagrams say, untouched, as JSON lines.")
    ] = False,
    sampling_rate: SamplingRates = None,
) -> None:
    """Write flow records, or with --wire what the wire said, a record a line."""
    from flowprism.cli import decoding  # here, so that `--help` need not wait for the decoders

    if wire:
        decoding.write_wire(paths, out)
    else:
        decoding.write_flows(paths, out, sampling_rate or ())
