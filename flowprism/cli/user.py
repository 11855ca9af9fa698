"""`flowprism user`, as it is typed: who may log in, and what they may do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(help="Users of the service: who may log in, and what they may do.", no_args_is_help=True)
Results = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The results database; where it is left out, the one of the service's settings and environment.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]


class UserRole(StrEnum):
    """What a user may do, each what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


@app.command()
def add(
    name: Name,
    role: Annotated[
        UserRole, typer.Option(help="Look; also act on incidents and scans; also manage users.")
    ] = UserRole.VIEWER,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Show them this tenant's jobs only.")] = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="They show tokens, or come through a proxy, and never log in.")
    ] = False,
    results: Results = None,
) -> None:
    """Add a user; the password is asked for, or read from the first line of stdin."""
    from flowprism.cli import people  # here, so that `--help` need not wait for the database

    people.add(name, role.value, tenant, no_password=no_password, results=results)


@app.command(name="list")
def list_users(results: Results = None) -> None:
    """List all users."""
    from flowprism.cli import people  # as above

    people.show_users(results)


@app.command()
def remove(name: Name, results: Results = None) -> None:
    """Remove a user with all tokens and log-ins."""
    from flowprism.cli import people  # as above

    people.remove(name, results)


@app.command()
def password(name: Name, results: Results = None) -> None:
    """Give a user another password and log them out everywhere; it is asked for as for `add`."""
    from flowprism.cli import people  # as above

    people.change_password(name, results)
