"""Receivers and routes are checked before anybody relies on them; secrets stay secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from datamodel.errors import InputError
from flowprism.service.alerts.alert_settings import AlertSettings, AppriseReceiver, WebhookReceiver
from flowprism.service.alerts.apprise_sender import check_notifiable

HOOK: dict[str, object] = {"name": "hook", "kind": "webhook", "url": "https://hooks.example/T0/secret-path"}
PAGER: dict[str, object] = {"name": "pager", "kind": "alertmanager", "url": "http://alertmanager:9093/"}


def problem(**settings: object) -> str:
    """What is wrong with these settings."""
    with pytest.raises(ValidationError) as refused:
        AlertSettings.model_validate(settings)
    return str(refused.value)


def test_nothing_need_be_set() -> None:
    """Without settings nobody is told."""
    assert AlertSettings().receivers == ()


def test_secrets_come_from_environment_or_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret may stand in the settings, in the environment or in a file, and is the same."""
    (tmp_path / "key").write_text("k3y\n")
    monkeypatch.setenv("HOOK_KEY", "k3y")
    for said in ("k3y", {"env": "HOOK_KEY"}, {"file": str(tmp_path / "key")}):
        hook = WebhookReceiver.model_validate({**HOOK, "secret": said})
        assert hook.secret is not None
        assert hook.secret.get_secret_value() == "k3y"


def test_secrets_are_not_shown() -> None:
    """Neither the text of settings nor their JSON nor an error about them repeats a secret."""
    settings = AlertSettings.model_validate({"receivers": [{**HOOK, "secret": "k3y"}]})
    wrong = problem(receivers=[{**HOOK, "secret": "k3y", "group": "nothing", "authorization": "k3\ny"}])
    for text in (repr(settings), settings.model_dump_json(), wrong):
        assert "k3" not in text
        assert "secret-path" not in text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"env": "NOT_SET_ANYWHERE"}, "the environment has no NOT_SET_ANYWHERE"),
        ({"file": "/nowhere/key"}, "/nowhere/key: No such file or directory"),
        ({"vault": "x"}, "expected a text, {env: NAME} or {file: PATH}"),
        ("two\nlines", "expected one line of text"),
        ("", "expected one line of text"),
    ],
)
def test_a_secret_that_is_none_is_refused(said: object, expected: str) -> None:
    """What is missing is named, so that nobody finds out at the first incident."""
    assert expected in problem(receivers=[{**HOOK, "secret": said}])


@pytest.mark.parametrize(
    "url", ["ftp://host/x", "http://", "hooks.example", "http://host:99999/", "http://a b/", "http://u:p@host/"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Only http and https, with a host, and without credentials."""
    assert "expected http" in problem(receivers=[{**HOOK, "url": url}]) or "authorization" in problem(
        receivers=[{**HOOK, "url": url}]
    )


def test_receivers_and_routes_must_fit() -> None:
    """A name twice, a route to nowhere, a receiver that no route reaches: each is told."""
    assert "two receivers are named hook" in problem(receivers=[HOOK, HOOK])
    assert "a route leads to chat, which is no receiver" in problem(receivers=[HOOK], routes=[{"receivers": ["chat"]}])
    assert "no route leads to the receiver pager" in problem(receivers=[HOOK, PAGER], routes=[{"receivers": ["hook"]}])


def test_a_weekly_report_goes_to_receivers_of_text() -> None:
    """Apprise's; one that gets nothing else needs no route."""
    chat = {"name": "chat", "kind": "apprise", "url": "json://localhost"}
    assert "weekly_report: hook is no receiver of kind apprise" in problem(receivers=[HOOK], weekly_report=["hook"])
    route = {"receivers": ["hook"]}
    AlertSettings.model_validate({"receivers": [HOOK, chat], "routes": [route], "weekly_report": ["chat"]})


def test_a_key_in_a_url_needs_messages_of_one_incident() -> None:
    """`{key}` stands for one incident's key, which a message about several does not have."""
    url = "pagerduty://token@key?action=map&dedup={key}"
    assert "group: incident" in problem(receivers=[{"name": "p", "kind": "apprise", "url": url}])
    AlertSettings.model_validate({"receivers": [{"name": "p", "kind": "apprise", "url": url, "group": "incident"}]})


def test_a_trailing_slash_of_an_address_is_dropped() -> None:
    """Paths are appended to it."""
    settings = AlertSettings.model_validate({"receivers": [PAGER]})
    assert settings.model_dump()["receivers"][0]["url"] == "http://alertmanager:9093"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "unix:///run/x.sock", "gopher://h/x", "ftp://h/x", "//h/x"])
def test_receivers_speak_http(url: str) -> None:
    """Webhooks and Alertmanagers; Apprise knows no service of such schemes."""
    for kind in ("webhook", "alertmanager"):
        assert "expected http://HOST" in problem(receivers=[{"name": "a", "kind": kind, "url": url}])
    receiver = AppriseReceiver.model_validate({"name": "a", "kind": "apprise", "url": url})
    with pytest.raises(InputError, match="no URL of a service that Apprise knows"):
        check_notifiable(receiver)
