"""The command `flowprism user`: users and their rights."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(help="Users of the service and their roles.", no_args_is_help=True)
Results = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Results database; default: that of the service's settings and environment.",
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
        UserRole, typer.Option(help="Read; also act on incidents and scans; also manage users.")
    ] = UserRole.VIEWER,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Tenant whose jobs the user sees.")] = None,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="For users of tokens or of a proxy: no log-in by password.")
    ] = False,
    results: Results = None,
) -> None:
    """Add a user; the password is asked for, or read from the first line of stdin."""
    # Here, so that `--help` need not wait for the database.
    from flowprism.cli.actions.service.user_accounts import add_user

    add_user(name, role.value, tenant, no_password=no_password, results=results)


@app.command(name="list")
def list_users(results: Results = None) -> None:
    """List all users."""
    from flowprism.cli.actions.service.user_accounts import print_users  # as above

    print_users(results)


@app.command()
def remove(name: Name, results: Results = None) -> None:
    """Remove a user with all tokens and log-ins."""
    from flowprism.cli.actions.service.user_accounts import remove_user  # as above

    remove_user(name, results)


@app.command()
def password(name: Name, results: Results = None) -> None:
    """Give a user another password and log them out everywhere; it is asked for as for `add`."""
    from flowprism.cli.actions.service.user_accounts import change_password  # as above

    change_password(name, results)
