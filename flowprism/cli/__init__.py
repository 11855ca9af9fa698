"""The command line. Each command is a module of its own and imports the heavy rooms only when it runs.

Exit codes: 0 done; 1 a need was not met (`evaluate --need`), something is wrong with a job (`scan`) or differs from
before (`backfill`); 2 the input or the command line is wrong, or the verdict is unknown (`scan`, `backfill`).
"""

from __future__ import annotations

import sys
from typing import Annotated, ClassVar

import typer

import flowprism
from datamodel.errors import FlowprismError
from flowprism.cli.command_group import CommandGroup
from flowprism.cli.commands.evaluation.evaluate import evaluate
from flowprism.cli.commands.evaluation.simulate import simulate
from flowprism.cli.commands.files.analyze import analyze
from flowprism.cli.commands.files.decode import decode
from flowprism.cli.commands.files.feeds import feeds
from flowprism.cli.commands.files.replay import replay
from flowprism.cli.commands.planning.plan import app as plan
from flowprism.cli.commands.profiles.profile import app as profile
from flowprism.cli.commands.service.alert import app as alert
from flowprism.cli.commands.service.backfill import backfill
from flowprism.cli.commands.service.collect import collect
from flowprism.cli.commands.service.compact import compact
from flowprism.cli.commands.service.config import app as config
from flowprism.cli.commands.service.inventory import app as inventory
from flowprism.cli.commands.service.query import query
from flowprism.cli.commands.service.scan import scan
from flowprism.cli.commands.service.serve import api, serve
from flowprism.cli.commands.service.token import app as token
from flowprism.cli.commands.service.user import app as user


class FlowprismCommands(CommandGroup):
    """All commands."""

    defined: ClassVar = {
        "serve": serve,
        "api": api,
        "analyze": analyze,
        "scan": scan,
        "evaluate": evaluate,
        "feeds": feeds,
        "decode": decode,
        "simulate": simulate,
        "collect": collect,
        "compact": compact,
        "query": query,
        "replay": replay,
        "backfill": backfill,
        "config": config,
        "alert": alert,
        "inventory": inventory,
        "plan": plan,
        "profile": profile,
        "user": user,
        "token": token,
    }


app = typer.Typer(
    name="flowprism",
    cls=FlowprismCommands,
    help="Performance diagnosis for LLM training clusters, from network flow records alone.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"flowprism {flowprism.__version__}")
        raise typer.Exit


@app.callback()
def flowprism_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Performance diagnosis for LLM training clusters, from network flow records alone."""


def main() -> None:
    """Run the command line; what a user can cause and fix becomes one line on stderr and exit code 2."""
    try:
        app(prog_name="flowprism")
    except FlowprismError as error:
        sys.exit(_complaint(str(error)))


def _complaint(cause: str) -> int:
    typer.echo(f"flowprism: {' '.join(cause.split())}", err=True)
    return 2
