"""Users and tokens from the command line: access to the database includes the right to make admins."""

from __future__ import annotations

import getpass
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import typer

from datamodel.durations import DAY_NS
from datamodel.errors import InputError
from datamodel.service.result_rows import Role, User
from flowprism.service.access.accounts.tokens import new_token
from flowprism.service.access.accounts.user_accounts import new_user, set_password
from flowprism.service.access.audit_log import audit_command
from flowprism.service.config.settings_file import load_settings
from storage.database import access
from storage.database.connection import Database, is_there


def add_user(name: str, role: Role, tenant: str | None, *, no_password: bool, results: str | None) -> None:
    """Add a user.

    Raises:
        InputError: there is one of this name, or something given cannot be.
        StorageError: the database cannot be reached.
    """
    with _opened(results, made=True) as database:
        if access.user(database, name) is not None:
            raise InputError(f"{name}: there is a user of this name in {database.name}")
        user = new_user(name, role, tenant, None, time.time_ns())
        if not no_password:
            user = new_user(name, role, tenant, _asked_password(), time.time_ns())
        access.save_user(database, user)
        _written_down(database, "user add", name, role=role, tenant=tenant or "")
        typer.echo(f"{name} is {'an' if role[0] in 'ao' else 'a'} {role} in {database.name}")


def print_users(results: str | None) -> None:
    """List all users, one a line.

    Raises:
        StorageError: the database cannot be reached.
    """
    with _opened(results) as database:
        rows = [
            (
                user.name,
                user.role,
                user.tenant or "-",
                "password" if user.password_hash else "no password",
                _state(user),
            )
            for user in access.users(database)
        ]
        _print_table(("NAME", "ROLE", "TENANT", "LOGS IN BY", "STATE"), rows)


def remove_user(name: str, results: str | None) -> None:
    """Remove a user.

    Raises:
        InputError: there is none of this name.
        StorageError: the database cannot be reached.
    """
    with _opened(results) as database:
        _known(database, name)
        access.remove_user(database, name)
        _written_down(database, "user remove", name)
        typer.echo(f"{name} is removed from {database.name}")


def change_password(name: str, results: str | None) -> None:
    """Give a user another password.

    Raises:
        InputError: there is none of this name, or the password cannot be one.
        StorageError: the database cannot be reached.
    """
    with _opened(results) as database:
        ended = set_password(database, _known(database, name), _asked_password())
        _written_down(database, "user password", name)
        typer.echo(f"{name} has another password; log-ins ended: {ended}")


def add_token(user: str, scopes: Sequence[str], expires_days: float, results: str | None) -> None:
    """Make a token; its text, and nothing else, goes to stdout.

    Raises:
        InputError: there is no such user.
        StorageError: the database cannot be reached.
    """
    with _opened(results) as database:
        _known(database, user)
        now_ns = time.time_ns()
        token, text = new_token(user, scopes, now_ns, now_ns + round(expires_days * DAY_NS) if expires_days else None)
        access.save_token(database, token)
        _written_down(database, "token add", token.id, user=user, scopes=" ".join(token.scopes))
        typer.echo(f"token {token.id} of {user}, valid {_until(token.expires_ns)}; this is shown once:", err=True)
        typer.echo(text)


def print_tokens(user: str | None, results: str | None) -> None:
    """List tokens, one a line.

    Raises:
        StorageError: the database cannot be reached.
    """
    with _opened(results) as database:
        rows = [
            (
                token.id,
                token.user,
                ",".join(token.scopes),
                f"revoked {_day(token.revoked_ns)}" if token.revoked_ns is not None else _until(token.expires_ns),
            )
            for token in access.tokens(database, user)
        ]
        _print_table(("ID", "USER", "SCOPES", "VALID"), rows)


def revoke_token(token: str, results: str | None) -> None:
    """Make a token void.

    Raises:
        InputError: there is none of this id, or it is void already.
        StorageError: the database cannot be reached.
    """
    with _opened(results) as database:
        if not access.revoke_token(database, token, time.time_ns()):
            raise InputError(f"{token}: no valid token of this id in {database.name}")
        _written_down(database, "token revoke", token)
        typer.echo(f"token {token} is void")


@contextmanager
def _opened(results: str | None, *, made: bool = False) -> Iterator[Database]:
    """The results database; one that is not there is `made`, or else an error: who only looks makes nothing."""
    address = results or load_settings(None, os.environ).store.database
    if not made and not is_there(address):
        raise InputError(f"{address}: there is no results database; `flowprism user add` makes one")
    database = Database(address)
    try:
        yield database
    finally:
        database.close()


def _known(database: Database, name: str) -> User:
    user = access.user(database, name)
    if user is None:
        raise InputError(f"{name}: there is no user of this name in {database.name}")
    return user


def _asked_password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")


def _written_down(database: Database, action: str, subject: str, **detail: str) -> None:
    audit_command(database, system_user(), action, subject, time.time_ns(), **detail)


def system_user() -> str:
    """Return the system's user name; a container's user may have none."""
    try:
        return f"command line: {getpass.getuser()}"
    except (KeyError, OSError):
        return f"command line: user {os.getuid()}"


def _state(user: User) -> str:
    return "disabled" if user.disabled else f"since {_day(user.created_ns)}"


def _until(expires_ns: int | None) -> str:
    return "for ever" if expires_ns is None else f"until {_day(expires_ns)}"


def _day(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d")


def _print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[n]) for row in (header, *rows)) for n in range(len(header))]
    for row in (header, *rows):
        typer.echo("  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip())
