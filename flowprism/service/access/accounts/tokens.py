"""Tokens that programs show: `fp_<id>_<secret>`. The secret is random, so a plain SHA-256 protects it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from typing import Literal, get_args

from datamodel.errors import InputError
from datamodel.service.result_rows import Role, Token, User
from flowprism.service.viewer import ROLES
from storage.database.access import token as kept_token
from storage.database.connection import Database

PREFIX = "fp_"
Scope = Literal["metrics", "read", "operate", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_ROLE_OF: dict[str, Role] = {"read": "viewer", "operate": "operator", "admin": "admin"}


def new_token(user: str, scopes: Iterable[str], now_ns: int, expires_ns: int | None) -> tuple[Token, str]:
    """A token as it is kept, and the text that is shown once and never again.

    Raises:
        InputError: a scope is none, or there is none.
    """
    wanted = tuple(scope for scope in SCOPES if scope in set(scopes))
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not wanted:
        raise InputError(f"scopes: {unknown[0] if unknown else 'none given'}; there are {', '.join(SCOPES)}")
    name, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    return Token(name, user, _hash(secret), wanted, now_ns, expires_ns), f"{PREFIX}{name}_{secret}"


def valid_token(database: Database, text: str, now_ns: int) -> tuple[Token, User] | None:
    """Find the token of a text, and its user; None if there is none, it is revoked, or its user is disabled.

    Raises:
        StorageError: the database cannot be reached.
    """
    name, _, secret = text.removeprefix(PREFIX).partition("_")
    if not text.startswith(PREFIX) or not name.isalnum() or len(name) > 100:
        return None
    found = kept_token(database, name)
    expected = found[0].hash if found else _hash("")
    if not secrets.compare_digest(_hash(secret), expected) or found is None:
        return None
    token, user = found
    over = token.revoked_ns is not None or (token.expires_ns is not None and token.expires_ns <= now_ns)
    return None if over or user.disabled else found


def role_by(scopes: Iterable[str], role: Role) -> Role | None:
    """What a token lets do: no more than its scopes say, nor than its user may. None: no scope says anything."""
    roles = [_ROLE_OF[scope] for scope in scopes if scope in _ROLE_OF]
    return min(max(roles, key=ROLES.index), role, key=ROLES.index) if roles else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
