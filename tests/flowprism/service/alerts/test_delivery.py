"""Delivery to one receiver: tried until it is accepted, in order, at the pace that was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from datamodel.reports.host_cause import HostAnswer
from datamodel.service.alerts import OutgoingAlert
from datamodel.service.result_rows import IncidentNote
from datamodel.telemetry.profiles import IncidentProfiles, ProfileReport
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.alert_text import body
from flowprism.service.alerts.alertmanager import posted
from flowprism.service.alerts.delivery import ReceiverDelivery
from storage.database.connection import Database
from storage.database.incidents.alerts import alerts, claim_alerts, waiting_alerts
from storage.database.incidents.host_answers import save_host_answer
from storage.database.incidents.incident_profiles import save_incident_profiles
from storage.database.incidents.incident_records import add_note
from tests.flowprism.service.alerts import told
from tests.flowprism.service.alerts.listening import OK, listening

BUSY = b"HTTP/1.1 503 Busy\r\n\r\n"
HOUR_NS = 3600 * told.SECOND_NS


@pytest.fixture
def kept_in(tmp_path: Path) -> Iterator[Database]:
    """An empty database."""
    database = told.database(tmp_path)
    yield database
    database.close()


def courier(database: Database, settings: AlertSettings) -> ReceiverDelivery:
    """To the first receiver."""
    return ReceiverDelivery(database, settings.receivers[0], settings)


def until_idle(one: ReceiverDelivery, now_ns: int) -> int:
    """Deliver all that is due; how many messages were tried."""
    tried = 0
    while one.deliver(now_ns):
        tried += 1
    return tried


def later(seconds: float = 3600) -> int:
    """A time when whatever waits is due."""
    return time.time_ns() + round(seconds * 1e9)


def test_what_is_accepted_is_sent_once(kept_in: Database) -> None:
    """One message, marked when the receiver has said yes."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        told.scanned(kept_in, settings, "opened")
        one = courier(kept_in, settings)
        assert until_idle(one, later()) == 1
        assert until_idle(one, later()) == 0
    (sent,) = alerts(kept_in)
    assert (sent.state, sent.attempts, sent.problem) == ("sent", 1, "")


def test_what_is_refused_is_repeated_with_the_same_key(kept_in: Database) -> None:
    """After a while, with the same key and the same body, whatever came to the outbox meanwhile."""
    with listening(BUSY, OK) as server:
        settings = told.settings(told.webhook(url=server.url, group="all"))
        told.scanned(kept_in, settings, "opened")
        one = courier(kept_in, settings)
        before_ns = time.time_ns()
        assert until_idle(one, before_ns) == 1
        after_ns = time.time_ns()
        (waits,) = waiting_alerts(kept_in, "hook")
        assert waits.problem == "503 Busy"
        assert before_ns + 5e9 <= waits.due_ns <= after_ns + 5e9
        assert (one.problem, one.failures) == ("503 Busy", 1)
        told.scanned(kept_in, settings, "opened", name="i2")
        assert until_idle(one, later()) == 2
        first, again, new = server.wait(3)
    assert (first.headers["idempotency-key"], first.body) == (again.headers["idempotency-key"], again.body)
    assert [alert["key"] for alert in new.json["alerts"]] == ["flowprism-i2"]
    assert {sent.state for sent in alerts(kept_in)} == {"sent"}
    assert one.problem == ""


def test_an_end_does_not_overtake_a_beginning(kept_in: Database) -> None:
    """While the opening is refused its resolution waits."""
    with listening(BUSY, OK) as server:
        settings = told.settings(told.webhook(url=server.url))
        one = courier(kept_in, settings)
        told.scanned(kept_in, settings, "opened")
        until_idle(one, time.time_ns())
        told.scanned(kept_in, settings, "resolved")
        assert until_idle(one, time.time_ns()) == 0
        until_idle(one, later())
        changes = [alert["change"] for request in server.wait(3) for alert in request.json["alerts"]]
    assert changes == ["opened", "opened", "resolved"]


def test_a_crash_before_the_answer_repeats_the_message(kept_in: Database) -> None:
    """What was claimed and never marked is sent again, when any answer would long have come, and not before."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        told.scanned(kept_in, settings, "opened")
        (waits,) = waiting_alerts(kept_in, "hook")
        claim_alerts(kept_in, [waits.id], "what it was sent as", time.time_ns() + told.SECOND_NS)
        assert until_idle(courier(kept_in, settings), time.time_ns()) == 0
        assert until_idle(courier(kept_in, settings), later()) == 1
        assert server.wait(1)[0].json["alerts"][0]["id"] == waits.alert.id
    assert alerts(kept_in)[0].attempts == 2


def test_what_nobody_accepts_is_given_up_and_shown(kept_in: Database) -> None:
    """After the time that was set, with the last problem; what comes later is tried again."""
    with listening(BUSY, BUSY, OK) as server:
        settings = told.settings(told.webhook(url=server.url, group="incident"), give_up_after_s=3600)
        told.scanned(kept_in, settings, "opened", now_ns=time.time_ns() - HOUR_NS // 2)
        one = courier(kept_in, settings)
        until_idle(one, time.time_ns())
        assert alerts(kept_in)[0].state == "waiting"
        told.scanned(kept_in, settings, "opened", name="i2", now_ns=time.time_ns() - HOUR_NS)
        until_idle(one, time.time_ns())
        told.scanned(kept_in, settings, "opened", name="i3")
        until_idle(one, later())
        server.wait(4)
    states = {one.alert.incident.id: (one.state, one.problem) for one in alerts(kept_in)}
    assert states == {"i1": ("sent", ""), "i2": ("given_up", "503 Busy"), "i3": ("sent", "")}


def note(database: Database, kind: str, until_ns: int | None = None) -> None:
    """Ada does something about the incident."""
    add_note(database, IncidentNote("i1", time.time_ns(), "ada", kind, "known", until_ns))  # type: ignore[arg-type]


def test_what_is_muted_is_not_told(kept_in: Database) -> None:
    """Neither its changes nor, if nobody was told that it began, its end; what is withheld says why."""
    settings = told.settings(told.webhook())
    one = courier(kept_in, settings)
    told.scanned(kept_in, settings, "opened")
    note(kept_in, "muted")
    assert until_idle(one, later()) == 0
    told.scanned(kept_in, settings, "resolved")
    assert until_idle(one, later()) == 0
    assert {(a.alert.change, a.state, a.problem) for a in alerts(kept_in)} == {
        ("opened", "withheld", "muted by ada: known"),
        ("resolved", "withheld", "muted by ada: known"),
    }


def test_the_end_of_what_was_told_is_told_though_muted(kept_in: Database) -> None:
    """Whoever was woken learns that it is over."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        one = courier(kept_in, settings)
        told.scanned(kept_in, settings, "opened")
        until_idle(one, later())
        note(kept_in, "muted")
        told.scanned(kept_in, settings, "escalated")
        told.scanned(kept_in, settings, "resolved")
        until_idle(one, later())
        changes = [alert["change"] for request in server.wait(2) for alert in request.json["alerts"]]
    assert changes == ["opened", "resolved"]


def test_a_mute_that_has_run_out_mutes_no_more(kept_in: Database) -> None:
    """Only until its time."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        told.scanned(kept_in, settings, "opened")
        note(kept_in, "muted", until_ns=time.time_ns() + 60 * told.SECOND_NS)
        assert until_idle(courier(kept_in, settings), later()) == 1
        server.wait(1)


def test_the_pace_is_kept(kept_in: Database) -> None:
    """What is above it waits, and nothing is lost."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url, group="incident"), most_per_minute=2)
        for name in ("i1", "i2", "i3"):
            told.scanned(kept_in, settings, "opened", name=name)
        assert until_idle(courier(kept_in, settings), later()) == 2
        assert len(waiting_alerts(kept_in, "hook")) == 1
        assert until_idle(courier(kept_in, settings), later()) == 1
        server.wait(3)


def pager(url: str) -> AlertSettings:
    """Settings of an Alertmanager."""
    return told.settings({"name": "pager", "kind": "alertmanager", "url": url}, resend_every_s=60)


def test_an_alertmanager_is_told_what_is_open_again_and_again(kept_in: Database) -> None:
    """Every round what is open and not muted, and for a quarter of an hour what is over."""
    with listening() as server:
        settings = pager(server.url)
        one = courier(kept_in, settings)
        for name in ("i1", "i2", "i3"):
            told.scanned(kept_in, settings, "opened", name=name)
        until_idle(one, later())
        told.scanned(kept_in, settings, "resolved", name="i2")
        until_idle(one, later())
        note(kept_in, "muted")
        now_ns = time.time_ns()
        for seconds in (0, 59, 60, 16 * 60):
            one.tell_state(now_ns + seconds * told.SECOND_NS)
        requests = server.wait(5)
    kept = [{alert["labels"]["incident"]: alert["endsAt"] for alert in request.json} for request in requests]
    assert [sorted(ends) for ends in kept] == [["i1", "i2", "i3"], ["i2"], ["i2", "i3"], ["i2", "i3"], ["i3"]]
    assert kept[2]["i2"] == kept[3]["i2"] < kept[2]["i3"] < kept[3]["i3"]


def test_an_alertmanager_that_is_away_is_told_of(kept_in: Database) -> None:
    """What cannot be told is the courier's problem until it can."""
    with listening(BUSY, OK) as server:
        settings = pager(server.url)
        one = courier(kept_in, settings)
        told.scanned(kept_in, settings, "opened")
        one.tell_state(later(0))
        assert one.problem == "503 Busy"
        one.tell_state(later(100))
        assert one.problem == ""
        server.wait(2)


def test_a_webhook_is_told_no_state(kept_in: Database) -> None:
    """Only changes, and reminders."""
    settings = told.settings(told.webhook())
    told.scanned(kept_in, settings, "opened")
    one = courier(kept_in, settings)
    one.tell_state(later())
    assert one.failures == 0


def test_what_a_notifier_trips_over_is_a_failure_like_others(
    kept_in: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error nobody foresaw is kept as the problem, and the alert waits."""

    def broken(*_: object) -> None:
        raise KeyError("x")

    fail: Callable[..., None] = broken
    monkeypatch.setattr("flowprism.service.alerts.delivery.send", fail)
    settings = told.settings(told.webhook())
    told.scanned(kept_in, settings, "opened")
    assert until_idle(courier(kept_in, settings), time.time_ns()) == 1
    found: list[OutgoingAlert] = waiting_alerts(kept_in, "hook")
    assert [one.problem for one in found] == ["KeyError while it was sent"]


def test_an_alert_says_what_profiles_show_by_then(kept_in: Database) -> None:
    """To a webhook, in words, and to an Alertmanager; verdicts, not the time of every rank."""
    summary = "rank 3 (GPU 3 of s1): gemm kernels take 1.21 times as long as on peers"
    report = ProfileReport(ranks=(), verdicts=(), problems=(), summary=summary)
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        told.scanned(kept_in, settings, "opened")
        (sent,) = alerts(kept_in)
        read = IncidentProfiles(read_ns=1, report=report)
        save_incident_profiles(kept_in, sent.alert.incident.id, read)
        assert until_idle(courier(kept_in, settings), later()) == 1
        (came,) = server.wait(1)
    assert came.json["alerts"][0]["profiles"] == {"read_ns": 1, "compared": 0, "verdicts": [], "summary": summary}
    said = sent.alert.model_copy(update={"profiles": read.answer})
    assert f"\nprofiles: {summary}" in body([said])
    annotations: Any = posted(said, 1, 60)["annotations"]
    assert annotations["profiles"] == summary


def test_an_alert_says_what_hosts_export_by_then(kept_in: Database) -> None:
    """It was made before they were asked."""
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        told.scanned(kept_in, settings, "opened")
        (sent,) = alerts(kept_in)
        save_host_answer(kept_in, sent.alert.incident.id, HostAnswer(asked_ns=1, summary="GPU 3 of s1: too hot"))
        assert until_idle(courier(kept_in, settings), later()) == 1
        (came,) = server.wait(1)
    assert came.json["alerts"][0]["hosts"]["summary"] == "GPU 3 of s1: too hot"
    said = sent.alert.model_copy(update={"hosts": HostAnswer(asked_ns=1, summary="GPU 3 of s1: too hot")})
    assert "\nhosts: GPU 3 of s1: too hot" in body([said])
