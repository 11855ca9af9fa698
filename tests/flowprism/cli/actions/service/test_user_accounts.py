"""`flowprism user` and `flowprism token` through the real command line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flowprism.cli import app
from flowprism.service.access.accounts import passwords
from flowprism.service.access.accounts.login_sessions import log_in, logged_in
from flowprism.service.access.accounts.tokens import valid_token
from storage.database import access
from storage.database.connection import Database

PASSWORD = "correct horse battery"  # noqa: S105 - of users of these tests
OTHER = "another horse battery"


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guessing these passwords may be cheap."""
    monkeypatch.setattr(passwords, "_LOG_COST", 4)


@pytest.fixture
def results(tmp_path: Path) -> str:
    """Address of a database."""
    return f"sqlite:///{tmp_path}/results.sqlite"


def run(*words: str, typed: str = "") -> Result:
    """What a command does."""
    return CliRunner().invoke(app, list(words), input=typed)


def test_listing_tokens_makes_no_database(tmp_path: Path) -> None:
    """Who only looks is told that there is none, and leaves none."""
    done = CliRunner().invoke(app, ["token", "list", "--results", f"sqlite:///{tmp_path}/none.sqlite"])
    assert "there is no results database" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_user_is_added_and_can_log_in(results: str) -> None:
    """With the password of stdin; the database is named, so that a wrong one is noticed."""
    said = run("user", "add", "ann", "--role", "admin", "--results", results, typed=f"{PASSWORD}\n")
    assert said.exit_code == 0
    assert said.stdout == f"ann is an admin in {results}\n"
    database = Database(results)
    assert log_in(database, "ann", PASSWORD, time.time_ns(), 1.0) is not None
    user = access.user(database, "ann")
    assert user is not None
    assert (user.role, user.tenant) == ("admin", None)
    database.close()


def test_the_database_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is named it is the service's own."""
    monkeypatch.setenv("FLOWPRISM_STORE__FOLDER", str(tmp_path))
    said = run("user", "add", "vic", "--tenant", "t1", "--no-password")
    assert said.stdout == f"vic is a viewer in sqlite:///{tmp_path}/results.sqlite\n"
    assert "vic   viewer  t1      no password" in run("user", "list").stdout


@pytest.mark.parametrize(
    ("words", "typed", "cause"),
    [
        (["user", "add", "ann"], PASSWORD, "ann: there is a user of this name"),
        (["user", "add", "bob"], "short", "a password has 12 to 1000 characters, this one has 5"),
        (["user", "add", " bob"], PASSWORD, "a user's name is one line"),
        (["user", "add", "bob", "--role", "admin", "--tenant", "t1"], PASSWORD, "an admin sees all tenants' jobs"),
        (["user", "remove", "bob"], "", "bob: there is no user of this name"),
        (["user", "password", "bob"], PASSWORD, "bob: there is no user of this name"),
        (["token", "add", "bob"], "", "bob: there is no user of this name"),
        (["token", "revoke", "k1"], "", "k1: no valid token of this id"),
    ],
)
def test_what_cannot_be(results: str, words: list[str], typed: str, cause: str) -> None:
    """One line with its cause, and nothing is changed."""
    run("user", "add", "ann", "--results", results, typed=PASSWORD)
    said = run(*words, "--results", results, typed=typed)
    assert cause in str(said.exception)
    database = Database(results)
    assert [user.name for user in access.users(database)] == ["ann"]
    database.close()


def test_password_and_removal(results: str) -> None:
    """Another password ends every log-in; who is removed is out, tokens and all."""
    run("user", "add", "ann", "--results", results, typed=PASSWORD)
    database = Database(results)
    before = log_in(database, "ann", PASSWORD, time.time_ns(), 1.0)
    assert before is not None
    assert "log-ins ended: 1" in run("user", "password", "ann", "--results", results, typed=OTHER).stdout
    assert logged_in(database, before, time.time_ns()) is None
    assert log_in(database, "ann", PASSWORD, time.time_ns(), 1.0) is None
    assert log_in(database, "ann", OTHER, time.time_ns(), 1.0) is not None
    text = run("token", "add", "ann", "--results", results).stdout.strip()
    assert valid_token(database, text, time.time_ns()) is not None
    run("user", "remove", "ann", "--results", results)
    assert valid_token(database, text, time.time_ns()) is None
    database.close()


def test_tokens(results: str) -> None:
    """Stdout has the text and nothing else; the list has no secret; revoked is void."""
    run("user", "add", "ann", "--results", results, typed=PASSWORD)
    made = run(
        "token", "add", "ann", "--scope", "read", "--scope", "metrics", "--expires-days", "2", "--results", results
    )
    text = made.stdout.strip()
    database = Database(results)
    found = valid_token(database, text, time.time_ns() + 86_400 * 10**9)
    assert found is not None
    assert found[0].scopes == ("metrics", "read")
    assert valid_token(database, text, time.time_ns() + 3 * 86_400 * 10**9) is None
    listed = run("token", "list", "ann", "--results", results).stdout
    assert found[0].id in listed
    assert text.split("_", 2)[2] not in listed
    run("token", "revoke", found[0].id, "--results", results)
    assert valid_token(database, text, time.time_ns()) is None
    assert "revoked 20" in run("token", "list", "--results", results).stdout
    lasting = run("token", "add", "ann", "--expires-days", "0", "--results", results).stdout.strip()
    assert valid_token(database, lasting, time.time_ns() * 2) is not None
    database.close()


def test_what_is_done_by_hand_is_written_down(results: str) -> None:
    """By whom, as the system knows them; no password and no secret."""
    run("user", "add", "ann", "--results", results, typed=PASSWORD)
    text = run("token", "add", "ann", "--results", results).stdout.strip()
    database = Database(results)
    entries = [entry for _, entry in access.audit_log(database)]
    assert [entry.action for entry in entries] == ["token add", "user add"]
    assert all(entry.actor.startswith("command line: ") for entry in entries)
    assert PASSWORD not in repr(entries)
    assert text.split("_", 2)[2] not in repr(entries)
    database.close()
