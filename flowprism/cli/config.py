"""`flowprism config`, as it is typed: are the service's settings right, and what are they?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Check and show the settings of the service.", no_args_is_help=True)
File = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A YAML file of settings; without one, defaults.")]


@app.command()
def check(file: File = None) -> None:
    """Say whether the settings can be used; what is wrong is one line that names where it stands."""
    from flowprism.cli import configuring  # here, so that `--help` need not wait for the rest

    configuring.check(file)


@app.command()
def show(file: File = None) -> None:
    """Print every setting as it will count, those of the environment included, secrets as stars."""
    from flowprism.cli import configuring  # as above

    configuring.show(file)
