"""`flowprism plan`, as it is typed: a group of plans, each a command of its own module."""

from __future__ import annotations

import typer

from flowprism.cli.commands.planning.plan_feeds import feeds
from flowprism.cli.commands.planning.plan_paths import paths

app = typer.Typer(help="Plans for the fabric. Nothing is applied.", no_args_is_help=True)
app.command()(feeds)
app.command()(paths)


@app.callback()
def plan() -> None:
    """Plan what an operator may apply to the fabric."""
