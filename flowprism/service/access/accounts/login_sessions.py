"""Log-ins by password. A browser holds a random text; the database holds its hash, whose it is, and until when."""

from __future__ import annotations

import hashlib
import secrets

from datamodel.service.result_rows import LoginSession, User
from flowprism.service.access.accounts.passwords import verify_password
from storage.database import access
from storage.database.connection import Database

NAME = "flowprism_session"
SECURE_NAME = "__Host-flowprism_session"  # a browser takes it only by https, for this host, for all its paths


def log_in(database: Database, name: str, password: str, now_ns: int, hours: float) -> str | None:
    """A new log-in's text, for the browser to show; None where name and password do not fit, in the same time.

    Raises:
        StorageError: the database cannot be reached.
    """
    user = access.user(database, name)
    usable = user is not None and not user.disabled
    if not verify_password(password, user.password_hash if user is not None and usable else ""):
        return None
    text = secrets.token_urlsafe(32)
    session = LoginSession(_hash(text), name, now_ns, now_ns + round(hours * 3600e9))
    return text if access.save_session(database, session) else None


def logged_in(database: Database, text: str, now_ns: int) -> User | None:
    """Find the user of a session's text; None if it has ended, or the user is disabled.

    Raises:
        StorageError: the database cannot be reached.
    """
    found = access.session(database, _hash(text))
    if found is None:
        return None
    session, user = found
    return None if session.expires_ns <= now_ns or user.disabled else user


def log_out(database: Database, text: str) -> None:
    """Forget a log-in.

    Raises:
        StorageError: the database cannot be reached.
    """
    access.remove_session(database, _hash(text))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
