"""`flowprism alert`, as it is typed: do alerts reach people, and did they?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Test the receivers of alerts and list alerts.", no_args_is_help=True)
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The service's YAML file of settings.")]


@app.command(name="test")
def try_receivers(
    file: File = None,
    to: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this receiver; repeatable.")] = None,
) -> None:
    """Send every receiver an alert that says it is a test, and its end.

    Exits 1 where one of them does not accept it.
    """
    from flowprism.cli.actions.service.alert import try_receivers  # here, so that `--help` need not wait for the rest

    raise typer.Exit(try_receivers(file, to or []))


@app.command(name="list")
def list_alerts(
    file: File = None,
    incident: Annotated[str | None, typer.Option(metavar="ID", help="Only alerts of this incident.")] = None,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of alerts.")] = 50,
) -> None:
    """List the newest alerts: time, receiver, subject and state."""
    from flowprism.cli.actions.service.alert import print_alerts  # as above

    print_alerts(file, incident, most)
