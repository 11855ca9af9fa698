"""`flowprism inventory`, as it is typed: what is known of the fabric, from what a site has already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The inventory: hosts, switches, links and the labels of jobs.", no_args_is_help=True)


@app.callback()
def inventory() -> None:
    """The inventory: hosts, switches, links and the labels of jobs."""


@app.command(name="import")
def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Inventories, or listings of NetBox, Slurm or Kubernetes."),
    ],
    into: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What is known already, an inventory as YAML or CSV.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the inventory here, not to stdout.")] = None,
    results: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Put it in force in this results database; merged with the one in force."),
    ] = None,
) -> None:
    """Make one inventory of what several listings say, and say what of them could not be used."""
    from flowprism.cli import importing  # here, so that `--help` need not wait for the readers

    importing.run(paths, into, out, results)
