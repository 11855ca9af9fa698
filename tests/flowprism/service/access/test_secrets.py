"""Passwords, tokens and log-ins against a real database."""

from __future__ import annotations

import dataclasses

import pytest

from datamodel.errors import InputError
from datamodel.service.result_rows import Role, User
from flowprism.service.access.accounts.login_sessions import log_in, log_out, logged_in
from flowprism.service.access.accounts.passwords import hash_password, verify_password
from flowprism.service.access.accounts.tokens import new_token, role_by, valid_token
from storage.database import access
from storage.database.connection import Database

PASSWORD = "correct horse battery"  # noqa: S105 - of a user of these tests
HOUR_NS = 3_600_000_000_000


@pytest.fixture(autouse=True)
def ann(database: Database) -> None:
    """An operator of one tenant."""
    access.save_user(database, User("ann", "operator", "t1", hash_password(PASSWORD), 0))


def test_what_a_guess_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """2**15 blocks of 1 KiB, three times over; a hash of another cost is still understood."""
    cheap = hash_password(PASSWORD)
    monkeypatch.undo()
    dear = hash_password(PASSWORD)
    assert dear.startswith("scrypt$15$8$3$")
    assert verify_password(PASSWORD, dear)
    assert verify_password(PASSWORD, cheap)


def test_a_password_fits_its_own_hash_only() -> None:
    """Hashes of one password differ by their salt, and hold nothing of it."""
    kept = hash_password(PASSWORD)
    assert kept != hash_password(PASSWORD)
    assert PASSWORD not in kept
    assert verify_password(PASSWORD, kept)
    assert not any(
        verify_password(other, kept) for other in ("", PASSWORD + " ", PASSWORD.upper(), "x" * 5000, "\ud800" * 12)
    )
    assert not verify_password("", "")
    assert not verify_password(PASSWORD, PASSWORD)


@pytest.mark.parametrize("password", ["", "elevenchars", "x" * 1001])
def test_passwords_have_a_length(password: str) -> None:
    """One that is too short is guessed; one that is too long is no password."""
    with pytest.raises(InputError, match="12 to 1000 characters"):
        hash_password(password)


def test_a_token_is_known_by_its_whole_text(database: Database) -> None:
    """Neither its id nor another secret will do, and the database holds no secret."""
    token, text = new_token("ann", ["read"], 5, None)
    assert access.save_token(database, token)
    found = valid_token(database, text, 6)
    assert found is not None
    assert found[0] == token
    assert text.split("_", 2)[2] not in token.hash
    wrong = [
        text[:-1],
        text + "x",
        text[3:],
        f"fp_{token.id}_",
        f"fp_{token.id}",
        "fp_",
        "",
        "fp__x",
        f"fp_{token.id}_{token.hash}",
    ]
    assert [valid_token(database, other, 6) for other in wrong] == [None] * len(wrong)


def test_a_token_is_void_when_it_is_over(database: Database) -> None:
    """It expires, is revoked, and rests while its user is disabled."""
    token, text = new_token("ann", ["read"], 5, 10)
    access.save_token(database, token)
    assert valid_token(database, text, 9) is not None
    assert valid_token(database, text, 10) is None
    lasting, other = new_token("ann", ["read"], 5, None)
    access.save_token(database, lasting)
    ann = access.user(database, "ann")
    assert ann is not None
    access.save_user(database, dataclasses.replace(ann, disabled=True))
    assert valid_token(database, other, 9) is None
    access.save_user(database, ann)
    access.revoke_token(database, lasting.id, 9)
    assert valid_token(database, other, 9) is None


@pytest.mark.parametrize(
    ("scopes", "role", "may"),
    [
        (["read"], "admin", "viewer"),
        (["operate", "read"], "admin", "operator"),
        (["admin"], "viewer", "viewer"),
        (["admin"], "admin", "admin"),
        (["metrics"], "admin", None),
        (["metrics", "read"], "operator", "viewer"),
    ],
)
def test_scopes_narrow_a_role(scopes: list[str], role: Role, may: Role | None) -> None:
    """A token does no more than its scopes say, nor more than its user may."""
    assert role_by(scopes, role) == may


@pytest.mark.parametrize("scopes", [[], ["read", "write"], [""]])
def test_scopes_are_known(scopes: list[str]) -> None:
    """A token that could do nothing, or something unknown, is not made."""
    with pytest.raises(InputError, match="there are metrics, read, operate, admin"):
        new_token("ann", scopes, 0, None)


def test_log_in(database: Database) -> None:
    """A log-in counts until it is over or ended; a wrong password or name gives none."""
    assert log_in(database, "ann", "wrong password", 0, 1.0) is None
    assert log_in(database, "bob", PASSWORD, 0, 1.0) is None
    text = log_in(database, "ann", PASSWORD, 0, 1.0)
    other = log_in(database, "ann", PASSWORD, 0, 2.0)
    assert text is not None
    assert other is not None
    assert text != other
    found = logged_in(database, text, HOUR_NS - 1)
    assert found is not None
    assert found.name == "ann"
    assert logged_in(database, text, HOUR_NS) is None
    log_out(database, other)
    assert logged_in(database, other, 1) is None


def test_a_disabled_user_is_out(database: Database) -> None:
    """Those who are logged in as well as those who come."""
    text = log_in(database, "ann", PASSWORD, 0, 1.0)
    ann = access.user(database, "ann")
    assert text is not None
    assert ann is not None
    access.save_user(database, dataclasses.replace(ann, disabled=True))
    assert logged_in(database, text, 1) is None
    assert log_in(database, "ann", PASSWORD, 2, 1.0) is None
