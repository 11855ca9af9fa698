"""`flowprism inventory`, as it is typed: what is known of the fabric, from what a site has already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Import the inventory: hosts, switches, links and job labels.", no_args_is_help=True)


@app.callback()
def inventory() -> None:
    """Import the inventory: hosts, switches, links and job labels."""


@app.command(name="import")
def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Inventories, or listings of NetBox, Slurm or Kubernetes."),
    ],
    into: Annotated[Path | None, typer.Option(metavar="FILE", help="Inventory to merge into, as YAML or CSV.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the inventory here, not to stdout.")] = None,
    results: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Merge into the current inventory of this results database."),
    ] = None,
) -> None:
    """Make one inventory of what several listings say, and say what of them could not be used."""
    # Here, so that `--help` need not wait for the readers.
    from flowprism.cli.actions.service.inventory import import_inventory

    import_inventory(paths, into, out, results)
