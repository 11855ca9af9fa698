"""`flowprism token`, as it is typed: what programs show instead of a password."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from flowprism.cli.user import Results

app = typer.Typer(help="Tokens, which programs show instead of a password.", no_args_is_help=True)


class TokenScope(StrEnum):
    """What a token may be used for."""

    METRICS = "metrics"
    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"


@app.command()
def add(
    user: Annotated[str, typer.Argument(metavar="USER", help="On whose behalf; it may never do more than they may.")],
    scope: Annotated[
        list[TokenScope] | None,
        typer.Option(help="What it may be used for, `read` if nothing is said; may be repeated."),
    ] = None,
    expires_days: Annotated[
        float, typer.Option(metavar="DAYS", min=0.0, help="It is void after this time; 0: never.")
    ] = 90.0,
    results: Results = None,
) -> None:
    """Make a token and print its text, which is shown this once."""
    from flowprism.cli import people  # here, so that `--help` need not wait for the database

    people.add_token(user, [one.value for one in scope or (TokenScope.READ,)], expires_days, results)


@app.command(name="list")
def list_tokens(
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Of this user only.")] = None,
    results: Results = None,
) -> None:
    """List tokens, void ones among them, without their secrets."""
    from flowprism.cli import people  # as above

    people.show_tokens(user, results)


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="The part between the first two underlines.")],
    results: Results = None,
) -> None:
    """Make a token void at once."""
    from flowprism.cli import people  # as above

    people.revoke(token, results)
