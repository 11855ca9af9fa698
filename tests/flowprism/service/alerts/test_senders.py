"""What receivers of each kind get, and that nobody learns their secrets from what went wrong."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from datamodel.errors import InputError
from datamodel.reports.eviction import EvictionAdvice, EvictionPlan
from datamodel.service.alerts import Alert, AlertChange, AlertMessage
from datamodel.service.incidents import Incident
from flowprism.service.alerts.alert_settings import AlertmanagerReceiver, AlertSettings
from flowprism.service.alerts.alertmanager import posted
from flowprism.service.alerts.http_post import NotDeliveredError
from flowprism.service.alerts.outbox import alert
from flowprism.service.alerts.senders import check_receivers, message_name, redacted, send, send_state
from tests.flowprism.service.alerts import told
from tests.flowprism.service.alerts.listening import listening
from tests.storage.database import results

NOW_NS = 1_790_000_000 * told.SECOND_NS + 123_456_789
KEY = "s3cret"
SCHEMA = Path(__file__).parents[4] / "docs" / "schemas" / "alerts-v1.json"


def an_alert(change: AlertChange = "opened", **incident: object) -> Alert:
    """Of an incident that began a minute ago."""
    since = {"start_ns": NOW_NS - 60 * told.SECOND_NS, **incident}
    one: Incident = results.incident().model_copy(update=since)
    return alert(one, change, NOW_NS, "llama", "t1", AlertSettings())


ADVICE = EvictionAdvice(
    host="h1", when="next_checkpoint", cost_s=95.0, down_s=75.0, down_source="job", lost_s=20.0, break_even_s=7200.0,
    standby="h9", plans=(EvictionPlan(orchestrator="slurm", apply=("scontrol update",), undo=("scontrol resume",)),),
)  # fmt: skip


def resolved(**incident: object) -> Alert:
    """Of one that is over."""
    return an_alert("resolved", **{"state": "resolved", "resolved_ns": NOW_NS, **incident})


def message(*alerts: Alert) -> AlertMessage:
    """To the receiver under test."""
    return AlertMessage(id=message_name([one.id for one in alerts]), receiver="hook", alerts=alerts)


def sent(settings: AlertSettings, *alerts: Alert, now_ns: int = NOW_NS) -> None:
    """Send a message to the first receiver."""
    send(settings.receivers[0], message(*alerts), now_ns, settings)


def test_a_webhook_gets_what_the_schema_says() -> None:
    """The published schema fits what comes, and it says all there is to say."""
    with listening() as server:
        advised = an_alert().model_copy(update={"eviction": ADVICE})
        sent(told.settings(told.webhook(url=f"{server.url}/hook?x=1")), advised, resolved())
        (came,) = server.wait(1)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(came.json)
    assert came.path == "/hook?x=1"
    assert [one["status"] for one in came.json["alerts"]] == ["firing", "resolved"]
    assert came.json["alerts"][0]["incident"]["summary"] == "s1 starts late — always"
    assert came.json["alerts"][0]["eviction"]["plans"][0]["undo"] == ["scontrol resume"]
    assert came.headers["idempotency-key"] == came.json["id"]
    assert came.headers["content-type"] == "application/json"
    assert "flowprism-signature" not in came.headers


def test_a_signature_proves_body_and_time() -> None:
    """Whoever has the secret can check it as docs/alerts.md says."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url, secret=KEY, authorization="Bearer b4b4"))
        sent(settings, an_alert())
        (came,) = server.wait(1)
    parts = dict(part.split("=") for part in came.headers["flowprism-signature"].split(","))
    assert parts["t"] == "1790000000"
    expected = hmac.new(KEY.encode(), b"1790000000." + came.body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(parts["v1"], expected)
    assert came.headers["authorization"] == "Bearer b4b4"


def test_a_repetition_is_the_same_message() -> None:
    """Sent again later: the same key, the same body, another time in the signature."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url, secret=KEY))
        sent(settings, an_alert())
        sent(settings, an_alert(), now_ns=NOW_NS + 60 * told.SECOND_NS)
        first, second = server.wait(2)
    assert (first.body, first.headers["idempotency-key"]) == (second.body, second.headers["idempotency-key"])
    assert first.headers["flowprism-signature"] != second.headers["flowprism-signature"]


PAGER: dict[str, object] = {"name": "pager", "kind": "alertmanager"}


def test_an_alertmanager_gets_its_own_form() -> None:
    """Labels that do not change while the incident lives; an end four rounds ahead; a link."""
    with listening(b"HTTP/1.1 200 OK\r\n\r\n") as server:
        settings = told.settings({**PAGER, "url": f"{server.url}/prefix/", "authorization": "Basic eDp5"})
        linked = an_alert().model_copy(update={"link": "https://fp.example/incidents/i1"})
        sent(settings, linked)
        (came,) = server.wait(1)
    assert (came.path, came.headers["authorization"]) == ("/prefix/api/v2/alerts", "Basic eDp5")
    (one,) = came.json
    assert one["labels"] == {
        "alertname": "FlowprismStraggler",
        "incident": "i1",
        "kind": "straggler",
        "severity": "warning",
        "training_job": "llama",
        "tenant": "t1",
    }
    assert one["annotations"]["summary"] == "s1 starts late — always"
    assert (one["startsAt"], one["endsAt"]) == ("2026-09-21T14:12:20.123456Z", "2026-09-21T14:17:20.123456Z")
    assert one["generatorURL"] == "https://fp.example/incidents/i1"


def test_labels_stay_while_an_incident_eases_and_moves() -> None:
    """Alertmanager would take other labels for another alert."""
    before = posted(an_alert(severity="critical", worst_severity="critical"), NOW_NS, 60)
    moved = results.incident("x").subject.model_copy(update={"ids": ("s9",)})
    after = posted(an_alert("relocated", severity="info", worst_severity="critical", subject=moved), NOW_NS, 60)
    assert before["labels"] == after["labels"]


@pytest.mark.parametrize("resolved_ns", [NOW_NS - 5, NOW_NS + 10**12, 0, None])
@pytest.mark.parametrize("start_ns", [NOW_NS - 100, NOW_NS + 10**12])
def test_what_is_over_is_over_for_an_alertmanager(resolved_ns: int | None, start_ns: int) -> None:
    """Whatever the clocks say, its end is not ahead of now and not before its start."""
    one = posted(resolved(start_ns=start_ns, resolved_ns=resolved_ns), NOW_NS, 60)
    assert str(one["startsAt"]) <= str(one["endsAt"]) <= "2026-09-21T14:13:20.123456Z"


def test_of_several_alerts_of_one_incident_the_last_counts() -> None:
    """Alertmanager is told how things are, not what happened."""
    with listening() as server:
        settings = told.settings({**PAGER, "url": server.url})
        sent(settings, an_alert(), resolved())
        (came,) = server.wait(1)
    assert [one["endsAt"] for one in came.json] == ["2026-09-21T14:13:20.123456Z"]


def test_nothing_open_is_nothing_to_tell() -> None:
    """No request where there is no alert: Alertmanager lets ends run out."""
    settings = told.settings({**PAGER, "url": "http://127.0.0.1:9"})
    receiver = settings.receivers[0]
    assert isinstance(receiver, AlertmanagerReceiver)
    send_state(receiver, [], NOW_NS, settings)


def apprise(url: str, **others: object) -> AlertSettings:
    """Settings of one receiver that Apprise serves."""
    return told.settings({"name": "chat", "kind": "apprise", "url": url, **others})


def test_apprise_gets_words() -> None:
    """A title that says the worst of it, and a paragraph an alert, what is on before what is over."""
    with listening(b"HTTP/1.1 200 OK\r\n\r\n") as server:
        bad = an_alert("escalated", severity="critical", slowdown_ratio=1.25)
        sent(apprise(f"json://127.0.0.1:{server.port}/x"), resolved(), bad.model_copy(update={"eviction": ADVICE}))
        (came,) = server.wait(1)
    assert came.json["title"] == "critical: 2 alerts in llama"
    assert came.json["type"] == "failure"
    assert came.json["message"].splitlines() == [
        "[worse] s1 starts late — always (llama)",
        "critical, since 2026-09-21 14:12:20 UTC, iterations take 25% longer, 90% sure",
        "what to do: look at s1",
        (
            "evict h1? at the next checkpoint: it costs 95.0 s, worth it if the job runs for longer than 2 h 00 min"
            "; h9 can take its place"
        ),
        "",
        "[resolved] s1 starts late — always (llama)",
        "from 2026-09-21 14:12:20 UTC, for 60.0 s",
    ]


def test_apprise_is_told_that_it_is_over() -> None:
    """By the type of the message, which services turn into a colour, or into the end of their own incident."""
    with listening(b"HTTP/1.1 200 OK\r\n\r\n") as server:
        sent(apprise(f"json://127.0.0.1:{server.port}/"), resolved())
        (came,) = server.wait(1)
    assert (came.json["title"], came.json["type"]) == ("resolved: straggler in llama", "success")


def test_a_key_in_an_apprise_url_is_the_incidents() -> None:
    """So that a service that has incidents of its own knows which one is meant."""
    with listening(b"HTTP/1.1 200 OK\r\n\r\n") as server:
        sent(apprise(f"json://127.0.0.1:{server.port}/{{key}}", group="incident"), an_alert())
        (came,) = server.wait(1)
    assert came.path == "/flowprism-i1"


def test_what_apprise_failed_at_is_told_without_its_url() -> None:
    """The service's answer, and neither token nor password."""
    with listening(b"HTTP/1.1 503 Busy\r\n\r\n") as server, pytest.raises(NotDeliveredError) as refused:
        sent(apprise(f"json://user:passw0rd@127.0.0.1:{server.port}/t0ken"), an_alert())
    assert "503" in str(refused.value)
    assert "passw0rd" not in str(refused.value)
    assert "t0ken" not in str(refused.value)


def test_a_url_that_apprise_does_not_know_is_found_before_it_is_needed() -> None:
    """At the start, by the receiver's name and without its secrets."""
    with pytest.raises(InputError) as refused:
        check_receivers(apprise("nosuchservice://t0ken/x"))
    assert str(refused.value) == "alerts.receivers: chat: no URL of a service that Apprise knows"


def test_a_receiver_that_repeats_secrets_does_not_get_them_kept() -> None:
    """A server that answers with what it was sent."""
    answer = b"HTTP/1.1 403 Forbidden\r\n\r\nBearer b4b4b4 is wrong for /hook/T0KEN, key s3cret%21"
    with listening(answer) as server:
        settings = told.settings(
            told.webhook(url=f"{server.url}/hook/T0KEN", secret=KEY + "!", authorization="Bearer b4b4b4")
        )
        with pytest.raises(NotDeliveredError) as refused:
            sent(settings, an_alert())
    text = str(refused.value)
    assert text.startswith("403 Forbidden")
    assert not any(secret in text for secret in ("b4b4b4", "T0KEN", "s3cret"))


def test_what_is_no_secret_stays() -> None:
    """A problem is told as it is where no secret stands in it."""
    (receiver,) = told.settings(told.webhook(url="https://h.example/abcdef")).receivers
    assert redacted("Connection refused", receiver) == "Connection refused"


def test_a_message_is_named_by_its_alerts() -> None:
    """In whatever order they stand."""
    assert message_name(["a", "b"]) == message_name(["b", "a"]) != message_name(["ab"])
