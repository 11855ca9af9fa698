"""Users as people make and change them: what is checked before the database sees it."""

from __future__ import annotations

import dataclasses

from datamodel.errors import InputError
from datamodel.service.result_rows import Role, User
from flowprism.service.access.access_settings import ADMIN_OF_TENANT, AccessSettings
from flowprism.service.access.accounts.passwords import hash_password
from storage.database import access
from storage.database.connection import Database

LONGEST_NAME = 200


def new_user(name: str, role: Role, tenant: str | None, password: str | None, now_ns: int) -> User:
    """Create a user with a password or, without one, for tokens or a proxy.

    Raises:
        InputError: the name or the password cannot be one, or an admin would see one tenant only.
    """
    check_name(name)
    if tenant is not None and (not tenant or not tenant.isprintable() or len(tenant) > LONGEST_NAME):
        raise InputError("a tenant's name is one line of text")
    if role == "admin" and tenant is not None:
        raise InputError(ADMIN_OF_TENANT)
    return User(name, role, tenant, hash_password(password) if password is not None else "", now_ns)


def check_name(name: str) -> None:
    """A name is a line of text that begins and ends with no space.

    Raises:
        InputError: it is none.
    """
    if not name or name != name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise InputError(f"a user's name is one line of up to {LONGEST_NAME} characters, without spaces at its ends")


def set_password(database: Database, user: User, password: str | None) -> int:
    """Give a user another password, or none; they are logged out everywhere. How many log-ins that ended.

    Raises:
        InputError: the password cannot be one.
        StorageError: the database cannot be reached.
    """
    access.save_user(database, dataclasses.replace(user, password_hash=hash_password(password) if password else ""))
    return access.remove_sessions(database, user.name)


def nobody_can_administer(database: Database, settings: AccessSettings) -> str | None:
    """Return instructions if authentication is on without an admin; else None.

    Raises:
        StorageError: the database cannot be reached.
    """
    granted = any(grant.role == "admin" for grant in settings.grants)
    known = any(user.role == "admin" and not user.disabled for user in access.users(database))
    if settings.mode == "none" or granted or known:
        return None
    password = " --no-password" if settings.mode == "proxy" else ""
    return f"there is no admin yet: flowprism user add NAME --role admin{password} --results {database.name}"
