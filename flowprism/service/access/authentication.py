"""Authenticates requests: by token, log-in, proxy header or, if so configured, as local."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from starlette.requests import HTTPConnection

from datamodel.service.result_rows import User
from flowprism.service.access.access_settings import AccessSettings, is_loopback
from flowprism.service.access.accounts.login_sessions import NAME, SECURE_NAME, logged_in
from flowprism.service.access.accounts.tokens import PREFIX, role_by, valid_token
from flowprism.service.access.denied_responses import AccessDenied
from flowprism.service.access.peers import Peer, host_name
from flowprism.service.viewer import Viewer
from storage.database import access
from storage.database.connection import Database

Means = Literal["local", "token", "session", "proxy"]
_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Authentication:
    """An authenticated caller.

    Attributes:
        viewer: the user, with rights.
        means: how.
        token: id of the token they showed; "" where they showed none.
        metrics_only: whether the token is good for nothing but metrics.
    """

    viewer: Viewer
    means: Means
    token: str = ""
    metrics_only: bool = False


def authenticate(
    connection: HTTPConnection, peer: Peer, database: Database, settings: AccessSettings, now_ns: int
) -> Authentication | None:
    """Identify the caller; None without credentials.

    Raises:
        Refusal: what they show is not valid, or counts for nothing here.
        StorageError: the database cannot be reached.
    """
    shown = _bearer(connection, settings)
    if shown is not None:
        return _by_token(shown, database, now_ns)
    if settings.mode == "none":
        return _here(peer)
    if settings.mode == "login":
        return _by_session(connection, peer, database, now_ns)
    return _by_proxy(connection, database, settings) if peer.by_proxy else None


def _bearer(connection: HTTPConnection, settings: AccessSettings) -> str | None:
    """The token shown. What a proxy that checks people made them send, or sends itself, is not for us."""
    scheme, _, text = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or (settings.mode == "proxy" and not text.startswith(PREFIX)):
        return None
    return text.strip()


def _by_token(text: str, database: Database, now_ns: int) -> Authentication:
    found = valid_token(database, text, now_ns)
    if found is None:
        raise AccessDenied(401, "the token is unknown, has expired or was revoked", _CHALLENGE)
    token, user = found
    role = role_by(token.scopes, user.role)
    viewer = Viewer(user.name, role or "viewer", user.tenant)
    return Authentication(viewer, "token", token.id, metrics_only=role is None)


def _here(peer: Peer) -> Authentication:
    """Accept a local caller. A foreign host name that leads here, or a proxy, would let others in."""
    if not peer.here or peer.forwarded:
        raise AccessDenied(403, "access.mode is none: this machine only, and no proxy before it", {})
    if not is_loopback(host_name(peer.host)):
        raise AccessDenied(403, f"access.mode is none: ask for localhost, not for {host_name(peer.host)[:100]!r}", {})
    return Authentication(Viewer("local", "admin", None), "local")


def _by_session(connection: HTTPConnection, peer: Peer, database: Database, now_ns: int) -> Authentication | None:
    """By cookie; one that is over counts as none. Over https only the one that came by https counts."""
    text = connection.cookies.get(SECURE_NAME if peer.secure else NAME)
    user = logged_in(database, text, now_ns) if text else None
    return None if user is None else Authentication(_viewer(user), "session")


def _by_proxy(connection: HTTPConnection, database: Database, settings: AccessSettings) -> Authentication | None:
    """By the header that a trusted proxy sets: a user of the database, else by the first group that has a grant."""
    names = connection.headers.getlist(settings.user_header)
    if not names:
        return None
    name = names[0].strip()
    if len(names) > 1 or not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise AccessDenied(400, f"{settings.user_header}: not one name")
    user = access.user(database, name)
    if user is not None and user.disabled:
        raise AccessDenied(403, f"{name} may not use this service any longer")
    if user is not None:
        return Authentication(_viewer(user), "proxy")
    lines = connection.headers.getlist(settings.groups_header)
    groups = {group.strip() for line in lines for group in line.split(",")}
    for grant in settings.grants:
        if grant.group in groups:
            return Authentication(Viewer(name, grant.role, grant.tenant), "proxy")
    raise AccessDenied(403, f"{name} has no role here: no user of that name, and no grant for their groups")


def _viewer(user: User) -> Viewer:
    return Viewer(user.name, user.role, user.tenant)
