"""`flowprism profile`, as it is typed; what it does is in `flowprism.cli.actions.profile_read`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Profiles of suspects: the GPU at fault, and its slow function.", no_args_is_help=True)


class ProfileFormat(StrEnum):
    """Format of what profiles show."""

    TEXT = "text"
    JSON = "json"


@app.callback()
def profile() -> None:
    """Record and read profiles of a few ranks, where the network does not show why one is slow."""


@app.command()
def read(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Traces of PyTorch's profiler, one a rank.")],
    profile_format: Annotated[
        ProfileFormat, typer.Option("--format", help="Format of the answer.")
    ] = ProfileFormat.TEXT,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answer here, not to stdout.")] = None,
) -> None:
    """Compare profiles of ranks with those of their peers, however they were recorded.

    Traces are Kineto's, JSON, plain or compressed. A file that cannot be used is a line; the others are read.
    """
    from flowprism.cli.actions.profile_read import read_folder  # here, so that `--help` need not wait for the rest

    read_folder(folder, out, as_json=profile_format is ProfileFormat.JSON)
