"""`flowprism config`, as it is typed: settings of the service, and of the exporters that feed it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Settings of the service, and of the switches and hosts that export to it.", no_args_is_help=True
)
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A YAML file of settings; without one, defaults.")]


class AuditFormat(StrEnum):
    """How an audit is written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


@app.command()
def check(file: File = None) -> None:
    """Say whether the settings can be used; what is wrong is one line that names where it stands."""
    from flowprism.cli.actions.service.config import check_settings  # here, so that `--help` need not wait for the rest

    check_settings(file)


@app.command()
def show(file: File = None) -> None:
    """Print every setting as it will count, those of the environment included, secrets as stars."""
    from flowprism.cli.actions.service.config import print_settings  # as above

    print_settings(file)


@app.command()
def audit(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Running configurations of devices, or folders of them.")
    ],
    plan: Annotated[Path | None, typer.Option(metavar="FILE", help="The settings to have, a YAML file.")] = None,
    inventory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The fabric, to audit every switch of it.")
    ] = None,
    feed: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A capture of export datagrams to compare with; repeatable."),
    ] = None,
    audit_format: Annotated[AuditFormat, typer.Option("--format", help="Output format.")] = AuditFormat.TEXT,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Output file instead of stdout.")] = None,
) -> None:
    """Audit exporter settings: exit 0 if all is well, 1 with errors or warnings, 2 if nothing could be read."""
    from flowprism.cli.actions.planning.exporter_config import run_audit  # as above

    if not run_audit(paths, plan, inventory, feed or (), audit_format, out):
        raise typer.Exit(1)


@app.command()
def generate(
    inventory: Annotated[Path, typer.Option(metavar="FILE", help="The fabric.")],
    plan: Annotated[Path, typer.Option(metavar="FILE", help="The settings to have, a YAML file.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the files.")],
) -> None:
    """Write exporter settings, a file for each switch, and the service's settings next to them."""
    from flowprism.cli.actions.planning.exporter_config import run_generate  # as above

    run_generate(inventory, plan, out)
