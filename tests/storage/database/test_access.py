"""Users, tokens, the audit log and leases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from datamodel.service.result_rows import AuditEntry, LoginSession, Token, User
from storage.database import access
from storage.database.connection import Database

ANN = User("ann", "admin", None, "scrypt$1", 5)
BOB = User("bob", "viewer", "t1", "scrypt$2", 6, disabled=True)
TOKEN = Token("k1", "bob", "sha$3", ("scan", "read"), 7, 99)


def test_users(database: Database) -> None:
    """A user is kept by name, replaced and removed."""
    access.save_user(database, User("bob", "operator", None, "old", 1))
    for user in (BOB, ANN):
        access.save_user(database, user)
    assert access.users(database) == [ANN, BOB]
    assert access.user(database, "bob") == BOB
    assert access.remove_user(database, "bob")
    assert not access.remove_user(database, "bob")
    assert access.user(database, "bob") is None


def test_secrets_are_not_shown() -> None:
    """Hashes are no part of what a log would print."""
    assert "scrypt" not in repr(ANN)
    assert "sha$3" not in repr(TOKEN)
    assert "h1" not in repr(LoginSession("h1", "ann", 10, 20))


def test_tokens(database: Database) -> None:
    """A token comes with its user, is void once, and goes with its user."""
    assert not access.save_token(database, TOKEN)
    access.save_user(database, BOB)
    assert access.save_token(database, TOKEN)
    assert access.token(database, "k1") == (TOKEN, BOB)
    assert access.revoke_token(database, "k1", 50)
    assert not access.revoke_token(database, "k1", 60)
    found = access.token(database, "k1")
    assert found is not None
    assert found[0].revoked_ns == 50
    access.remove_user(database, "bob")
    assert access.token(database, "k1") is None


def test_tokens_are_listed(database: Database) -> None:
    """All of them or one user's, the newest first."""
    for owner in (ANN, BOB):
        access.save_user(database, owner)
    later = Token("k2", "ann", "sha$4", ("read",), 8, None)
    for each in (TOKEN, later):
        access.save_token(database, each)
    assert access.tokens(database) == [later, TOKEN]
    assert access.tokens(database, "bob") == [TOKEN]


def test_sessions(database: Database) -> None:
    """A log-in comes with its user, ends when it is told to, with its user, and is forgotten when it is over."""
    first = LoginSession("h1", "ann", 10, 20)
    assert not access.save_session(database, first)
    access.save_user(database, ANN)
    assert access.save_session(database, first)
    assert access.session(database, "h1") == (first, ANN)
    assert access.save_session(database, LoginSession("h2", "ann", 20, 30))
    assert access.session(database, "h1") is None
    assert access.remove_session(database, "h2")
    assert not access.remove_session(database, "h2")
    for name in ("h3", "h4"):
        access.save_session(database, LoginSession(name, "ann", 20, 30))
    assert access.remove_sessions(database, "ann") == 2
    access.save_session(database, LoginSession("h5", "ann", 20, 30))
    access.remove_user(database, "ann")
    assert access.session(database, "h5") is None


def test_audit(database: Database) -> None:
    """Entries come newest first, page by page; a request told twice is one, as it was first told."""
    entries = [AuditEntry(f"r{n}", n, "ann", "mute", f"i{n}", {"until": "tomorrow"}) for n in range(5)]
    for entry in entries:
        access.audit(database, entry)
    access.audit(database, AuditEntry("r3", 9, "mallory", "delete", "all"))
    page = access.audit_log(database, most=2)
    assert [entry for _, entry in page] == entries[:2:-1]
    rest = access.audit_log(database, before=page[-1][0])
    assert [entry for _, entry in rest] == entries[2::-1]
    assert access.forget_audit(database, 3) == 3
    assert [entry for _, entry in access.audit_log(database)] == entries[:2:-1]


def test_leases(database: Database) -> None:
    """A lease is one holder's until it runs out or is given back."""
    assert access.take_lease(database, "scan j1", "a", now_ns=0, until_ns=10)
    assert not access.take_lease(database, "scan j1", "b", now_ns=9, until_ns=19)
    assert access.take_lease(database, "scan j1", "a", now_ns=9, until_ns=19)
    assert access.take_lease(database, "scan j1", "b", now_ns=19, until_ns=29)
    access.release_lease(database, "scan j1", "a")
    assert not access.take_lease(database, "scan j1", "a", now_ns=20, until_ns=30)
    access.release_lease(database, "scan j1", "b")
    assert access.take_lease(database, "scan j1", "a", now_ns=20, until_ns=30)


def test_a_lease_has_one_holder(database: Database) -> None:
    """Of many who ask at once, one gets it."""
    with ThreadPoolExecutor(8) as pool:
        asked = pool.map(lambda n: access.take_lease(database, "one", f"replica {n}", 0, 10), range(16))
        assert sum(asked) == 1
