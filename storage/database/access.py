"""Users, tokens, log-ins, the audit log, and leases that decide which of several replicas does something."""

from __future__ import annotations

import json
from dataclasses import asdict

from sqlalchemy import Row, Table, delete, select, update
from sqlalchemy.exc import IntegrityError

from datamodel.service.result_rows import AuditEntry, LoginSession, Token, User
from storage.database.connection import Database, insert_new, upsert
from storage.database.tables import AUDIT, LEASES, SESSIONS, TOKENS, USERS


def save_user(database: Database, user: User) -> None:
    """Keep a user; one of the same name is replaced."""
    with database.writing() as connection:
        upsert(connection, USERS, [asdict(user)])


def user(database: Database, name: str) -> User | None:
    """The user of this name; None where there is none."""
    with database.reading() as connection:
        row = connection.execute(select(USERS).where(USERS.c.name == name)).first()
    return None if row is None else User(**row._asdict())


def users(database: Database) -> list[User]:
    """All users by name."""
    with database.reading() as connection:
        return [User(**row._asdict()) for row in connection.execute(select(USERS).order_by(USERS.c.name))]


def remove_user(database: Database, name: str) -> bool:
    """Remove a user with all tokens; whether there was one."""
    with database.writing() as connection:
        return connection.execute(delete(USERS).where(USERS.c.name == name)).rowcount > 0


def save_token(database: Database, token: Token) -> bool:
    """Keep a token; one of the same id is replaced. Whether its user is known; it is not kept otherwise."""
    try:
        with database.writing() as connection:
            upsert(connection, TOKENS, [{**asdict(token), "scopes": json.dumps(token.scopes)}])
    except IntegrityError:
        return False
    return True


def token(database: Database, name: str) -> tuple[Token, User] | None:
    """The token of this id and its user; None where there is none. Whether it is void is the caller's to see."""
    row = _with_owner(database, TOKENS, "id", name)
    return None if row is None else (_token(row), _owner(row))


def tokens(database: Database, owner: str | None = None) -> list[Token]:
    """All tokens, void ones among them, or those of one user; the newest first."""
    query = select(TOKENS).order_by(TOKENS.c.created_ns.desc(), TOKENS.c.id)
    if owner is not None:
        query = query.where(TOKENS.c.user == owner)
    with database.reading() as connection:
        return [_token(row) for row in connection.execute(query)]


def revoke_token(database: Database, name: str, time_ns: int) -> bool:
    """Make a token void; whether it was not yet."""
    valid = (TOKENS.c.id == name) & TOKENS.c.revoked_ns.is_(None)
    with database.writing() as connection:
        return connection.execute(update(TOKENS).where(valid).values(revoked_ns=time_ns)).rowcount > 0


def save_session(database: Database, session: LoginSession) -> bool:
    """Keep a log-in, and forget those that are over; whether its user is known. It is not kept otherwise."""
    try:
        with database.writing() as connection:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.expires_ns <= session.created_ns))
            upsert(connection, SESSIONS, [asdict(session)])
    except IntegrityError:
        return False
    return True


def session(database: Database, hashed: str) -> tuple[LoginSession, User] | None:
    """The log-in of this hash and its user; None where there is none. Whether it is over is the caller's to see."""
    row = _with_owner(database, SESSIONS, "hash", hashed)
    if row is None:
        return None
    said = row._asdict()
    return LoginSession(**{column.name: said[column.name] for column in SESSIONS.c}), _owner(row)


def remove_session(database: Database, hashed: str) -> bool:
    """Log out; whether there was such a log-in."""
    with database.writing() as connection:
        return connection.execute(delete(SESSIONS).where(SESSIONS.c.hash == hashed)).rowcount > 0


def remove_sessions(database: Database, owner: str) -> int:
    """Log a user out wherever they are logged in; how many log-ins that were."""
    with database.writing() as connection:
        return connection.execute(delete(SESSIONS).where(SESSIONS.c.user == owner)).rowcount


def audit(database: Database, entry: AuditEntry) -> None:
    """Store audit entries. They are never changed; a request stored twice is one entry."""
    with database.writing() as connection:
        row = {**asdict(entry), "detail": json.dumps(dict(entry.detail), sort_keys=True)}
        insert_new(connection, AUDIT, row)


def audit_log(database: Database, before: int | None = None, most: int = 100) -> list[tuple[int, AuditEntry]]:
    """Entries with their numbers, the newest first; `before` is the last number of the page before."""
    query = select(AUDIT).order_by(AUDIT.c.number.desc()).limit(most)
    if before is not None:
        query = query.where(AUDIT.c.number < before)
    with database.reading() as connection:
        rows = [row._asdict() for row in connection.execute(query)]
    return [(said.pop("number"), AuditEntry(**{**said, "detail": json.loads(said["detail"])})) for said in rows]


def forget_audit(database: Database, before_ns: int) -> int:
    """Remove entries of before a time; how many."""
    with database.writing() as connection:
        return connection.execute(delete(AUDIT).where(AUDIT.c.time_ns < before_ns)).rowcount


def take_lease(database: Database, name: str, holder: str, now_ns: int, until_ns: int) -> bool:
    """Take or extend a lease; returns whether `holder` has it now. An expired lease is free."""
    with database.writing() as connection:
        if insert_new(connection, LEASES, {"name": name, "holder": holder, "until_ns": until_ns}):
            return True
        free = (LEASES.c.holder == holder) | (LEASES.c.until_ns <= now_ns)
        mine = update(LEASES).where((LEASES.c.name == name) & free).values(holder=holder, until_ns=until_ns)
        return connection.execute(mine).rowcount > 0


def release_lease(database: Database, name: str, holder: str) -> None:
    """Give a lease back, where `holder` has it."""
    with database.writing() as connection:
        connection.execute(delete(LEASES).where((LEASES.c.name == name) & (LEASES.c.holder == holder)))


def _with_owner(database: Database, table: Table, key: str, value: str) -> Row[tuple[object, ...]] | None:
    """A row and, with `user_` before each name, the row of the user it belongs to."""
    owners = [column.label(f"user_{column.name}") for column in USERS.c]
    query = select(table, *owners).join(USERS, USERS.c.name == table.c.user).where(table.c[key] == value)
    with database.reading() as connection:
        return connection.execute(query).first()


def _owner(row: Row[tuple[object, ...]]) -> User:
    said = row._asdict()
    return User(**{column.name: said[f"user_{column.name}"] for column in USERS.c})


def _token(row: Row[tuple[object, ...]]) -> Token:
    values = row._asdict()
    said = {column.name: values[column.name] for column in TOKENS.c}
    return Token(**{**said, "scopes": tuple(json.loads(said["scopes"]))})
