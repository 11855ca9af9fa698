"""The weekly report: whom it names; it is sent once a week, by one replica, and again where it was not accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from datamodel.durations import HOUR_NS, MINUTE_NS
from datamodel.service.weekly_report import WeeklyReport
from flowprism.service.config.settings import Settings
from flowprism.service.queries.fabric.weekly_report import WEEK_NS, report_text, report_title, weekly_report
from flowprism.service.reports import weekly_sender
from flowprism.service.reports.weekly_sender import WeeklySender
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from tests.flowprism.service.alerts.listening import Server, listening
from tests.flowprism.service.queries.fabric.stored_offenders import JOBS, NEWEST_NS, stored_offenders

OK = b"HTTP/1.1 200 OK\r\n\r\n"
VIEWER = Viewer("ann", "viewer", None)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    """A month in which one of twenty hosts was late in every job."""
    made = stored_offenders(tmp_path)
    yield made
    made.database.close()


def sender(stores: Stores, server: Server) -> WeeklySender:
    """One replica's."""
    receiver = {"name": "mail", "kind": "apprise", "url": f"json://127.0.0.1:{server.port}/"}
    said = {"alerts": {"receivers": [receiver], "weekly_report": ["mail"]}}
    return WeeklySender(Settings.model_validate(said), stores.database)


def test_report_says_who_is_late_and_who_is_new(stores: Stores) -> None:
    """At the end of a month the host was named a week before too; early in it nothing follows yet."""
    now = weekly_report(stores, VIEWER, NEWEST_NS)
    assert [one.host for one in now.offenders] == ["node03"]
    assert (now.of, now.new, now.gone) == (20, (), ())
    assert now.week.end_ns - now.week.start_ns == WEEK_NS
    weeks = [weekly_report(stores, VIEWER, NEWEST_NS - n * WEEK_NS) for n in range(4)]
    first = max(n for n, week in enumerate(weeks) if week.offenders)
    assert weeks[first].new == ("node03",)
    assert report_title(now) == "1 repeat offender of 20 hosts"
    assert report_title(weeks[first]).endswith(", 1 new")
    (line,) = [line for line in report_text(now).splitlines() if line.startswith("- node03")]
    assert line.endswith(f"late in {JOBS} of {JOBS} jobs and in {now.offenders[0].late_weeks} weeks")
    assert "- node03 (new): computes " in report_text(weeks[first])


def test_a_host_that_recovered_and_a_quiet_week_are_said() -> None:
    """In words, also where nothing is wrong."""
    quiet = WeeklyReport.model_validate({"week": {"start_ns": 0, "end_ns": WEEK_NS}, "of": 20, "gone": ["s1", "s2"]})
    assert report_title(quiet) == "0 repeat offenders of 20 hosts"
    assert report_text(quiet).splitlines() == [
        "Week of 1970-01-01 to 1970-01-08; hosts compared over 30 days.",
        "",
        "Named a week before, and not now: s1, s2.",
        "",
        "No host is late.",
    ]


def test_a_report_is_sent_once_a_week(stores: Stores) -> None:
    """Of two replicas one sends it, neither sends it again that week, and the next week it comes again."""
    with listening(OK) as server:
        one, other = sender(stores, server), sender(stores, server)
        for hour in range(5):
            one.tick(NEWEST_NS + hour * HOUR_NS)
            other.tick(NEWEST_NS + hour * HOUR_NS)
        assert (one.sent, other.sent) == (1, 0)
        other.tick(NEWEST_NS + WEEK_NS)
        came = server.wait(2)
    assert (one.sent, other.sent) == (1, 1)
    assert came[0].json["title"] == "1 repeat offender of 20 hosts"
    assert "Late in job after job, beyond chance:" in came[0].json["message"]


def test_what_was_not_accepted_is_tried_again(stores: Stores) -> None:
    """Ten minutes later, by whichever replica comes first."""
    with listening(b"HTTP/1.1 503 Busy\r\n\r\n", OK) as server:
        one, other = sender(stores, server), sender(stores, server)
        for minute in range(12):
            one.tick(NEWEST_NS + minute * MINUTE_NS)
        other.tick(NEWEST_NS + 12 * MINUTE_NS)
    assert (len(server.requests), one.sent, other.sent) == (2, 1, 0)


def test_a_replica_that_ends_while_it_sends_does_not_lose_the_report(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one sends it once it is clear that the first is gone."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with listening(OK) as server:
        one, other = sender(stores, server), sender(stores, server)
        with monkeypatch.context() as patched:
            patched.setattr(weekly_sender, "send_text", end)
            with pytest.raises(KeyboardInterrupt):
                one.tick(NEWEST_NS)
        other.tick(NEWEST_NS + MINUTE_NS)
        assert other.sent == 0
        other.tick(NEWEST_NS + HOUR_NS)
        assert other.sent == 1


def test_without_hosts_to_compare_nothing_is_sent(tmp_path: Path) -> None:
    """A service that has not scanned yet."""
    with listening(OK) as server:
        fresh = Stores(Database(f"sqlite:///{tmp_path}/fresh.sqlite"))
        made = sender(fresh, server)
        made.tick(NEWEST_NS)
        assert (made.sent, server.requests) == (0, [])
    fresh.database.close()
