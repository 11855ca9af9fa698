"""`flowprism token`, as it is typed: what programs show instead of a password."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from flowprism.cli.commands.service.user import Results

app = typer.Typer(help="API tokens of users.", no_args_is_help=True)


class TokenScope(StrEnum):
    """What a token may be used for."""

    METRICS = "metrics"
    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"


@app.command()
def add(
    user: Annotated[str, typer.Argument(metavar="USER", help="User whose permissions limit the token.")],
    scope: Annotated[
        list[TokenScope] | None,
        typer.Option(help="Scope of the token, default `read`; repeatable."),
    ] = None,
    expires_days: Annotated[
        float, typer.Option(metavar="DAYS", min=0.0, help="Lifetime of the token; 0: unlimited.")
    ] = 90.0,
    results: Results = None,
) -> None:
    """Make a token and print its text, which is shown this once."""
    # Here, so that `--help` need not wait for the database.
    from flowprism.cli.actions.service.user_accounts import add_token

    add_token(user, [one.value for one in scope or (TokenScope.READ,)], expires_days, results)


@app.command(name="list")
def list_tokens(
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only tokens of this user.")] = None,
    results: Results = None,
) -> None:
    """List tokens, void ones among them, without their secrets."""
    from flowprism.cli.actions.service.user_accounts import print_tokens  # as above

    print_tokens(user, results)


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="Token ID: the part between the first two underscores.")],
    results: Results = None,
) -> None:
    """Make a token void at once."""
    from flowprism.cli.actions.service.user_accounts import revoke_token  # as above

    revoke_token(token, results)
