"""The outbox forgets nothing that was not accepted, on either engine."""

from __future__ import annotations

import pytest

from datamodel.service.alerts import GIVEN_UP_NS, Alert, AlertTally, OutgoingAlert
from datamodel.service.incidents import IncidentChange
from datamodel.service.result_rows import IncidentNote
from storage.database.connection import Database
from storage.database.incidents.alerts import (
    add_alerts,
    alert_tallies,
    alerts,
    claim_alerts,
    forget_alerts,
    get_last_sent,
    last_worsened,
    list_unsent_resolutions,
    mark_failed,
    mark_sent,
    notes_about,
    open_incidents,
    resolved_alerts,
    suppress,
    waiting_alerts,
)
from storage.database.incidents.incident_records import add_note
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.storage.database import results


def outgoing(
    incident: str = "i1", created_ns: int = 100, receiver: str = "chat", change: str = "opened"
) -> OutgoingAlert:
    """An alert that came to be told at this time."""
    state = "resolved" if change == "resolved" else "open"
    told = Alert.model_validate(
        {
            "id": f"{incident}.{change}.{created_ns}",
            "key": incident,
            "change": change,
            "status": "resolved" if change == "resolved" else "firing",
            "time_ns": created_ns,
            "incident": results.incident(incident, state=state),
        }
    )
    return OutgoingAlert(receiver, created_ns, created_ns + 10, told)


def test_what_waits_comes_in_order_and_unchanged(database: Database) -> None:
    """First come, first told; other receivers' alerts are not among them."""
    late, early, other = outgoing("i2", 200), outgoing("i1", 100), outgoing(receiver="pager")
    add_alerts(database, [late, early, other])
    assert waiting_alerts(database, "chat") == [early, late]
    assert waiting_alerts(database, "chat", most=1) == [early]


def test_an_alert_told_again_is_one(database: Database) -> None:
    """The same alert from another replica changes nothing of the one that is on its way."""
    add_alerts(database, [outgoing()])
    claim_alerts(database, [outgoing().id], "m1", 50)
    add_alerts(database, [outgoing()])
    (one,) = waiting_alerts(database, "chat")
    assert (one.attempts, one.message, one.due_ns) == (1, "m1", 50)


def test_alerts_are_kept_with_their_scan_or_not_at_all(database: Database) -> None:
    """A scan that was kept before brings no alerts; a new one brings its own."""
    left = results.result()
    with_alerts = ScanResult(left.kept, left.jobs, left.incidents, left.changes, left.rollups, alerts=[outgoing()])
    assert save_scan(database, with_alerts)
    assert waiting_alerts(database, "chat") == [outgoing()]
    again = ScanResult(left.kept, alerts=[outgoing("i2")])
    assert not save_scan(database, again)
    assert waiting_alerts(database, "chat") == [outgoing()]


@pytest.mark.parametrize("state", ["sent", "given_up", "withheld"])
def test_what_is_over_does_not_wait(database: Database, state: str) -> None:
    """Accepted, given up or withheld: it is shown and counted as what it is."""
    add_alerts(database, [outgoing()])
    match state:
        case "sent":
            mark_sent(database, [outgoing().id], 120)
        case "given_up":
            mark_failed(database, [outgoing().id], "500 Internal Server Error", GIVEN_UP_NS)
        case _:
            suppress(database, [outgoing().id], "muted")
    assert waiting_alerts(database, "chat") == []
    assert [one.state for one in alerts(database, "i1")] == [state]
    assert [getattr(one, state) for one in alert_tallies(database)] == [1]


def test_a_failure_is_kept_until_it_is_accepted(database: Database) -> None:
    """What went wrong stands with the alert, and goes when it was accepted."""
    add_alerts(database, [outgoing()])
    mark_failed(database, [outgoing().id], "connection refused", 500)
    (one,) = waiting_alerts(database, "chat")
    assert (one.problem, one.due_ns, one.state) == ("connection refused", 500, "waiting")
    mark_sent(database, [one.id], 600)
    assert [(one.problem, one.sent_ns) for one in alerts(database)] == [("", 600)]


def test_tallies_are_by_receiver(database: Database) -> None:
    """How many wait, how many were sent, and since when the oldest waits."""
    add_alerts(database, [outgoing("i1"), outgoing("i2", 200), outgoing("i3", 300), outgoing(receiver="pager")])
    mark_sent(database, [outgoing("i1").id, outgoing(receiver="pager").id], 400)
    assert alert_tallies(database) == [AlertTally("chat", 2, 1, 0, 0, 200), AlertTally("pager", 0, 1, 0, 0, None)]


def test_when_open_incidents_were_last_told(database: Database) -> None:
    """The newest alert that is not withheld counts; incidents that are over do not."""
    left = results.result()
    known = [results.incident("i1"), results.incident("i2"), results.incident("i3", state="resolved")]
    save_scan(database, ScanResult(left.kept, left.jobs, known))
    add_alerts(database, [outgoing("i1"), outgoing("i1", 200), outgoing("i1", 300), outgoing("i2"), outgoing("i3")])
    suppress(database, [outgoing("i1", 300).id, outgoing("i2").id], "muted")
    assert get_last_sent(database) == {("i1", "chat"): 200}


def test_open_incidents_come_with_what_routes_ask_for(database: Database) -> None:
    """Label and tenant of the job; of an incident of no job neither."""
    left = results.result()
    known = [results.incident("i1"), results.incident("i2", job_id=None), results.incident("i3", state="resolved")]
    save_scan(database, ScanResult(left.kept, left.jobs, known))
    assert open_incidents(database) == [(known[0], "label of j1", "t1"), (known[1], None, None)]


def test_ends_that_were_told_lately(database: Database) -> None:
    """Only of incidents that are over still, and only those accepted since."""
    left = results.result()
    known = [results.incident("i1", state="resolved"), results.incident("i2", state="open")]
    save_scan(database, ScanResult(left.kept, left.jobs, known))
    ends = [outgoing(name, change="resolved") for name in ("i1", "i2")]
    add_alerts(database, [*ends, outgoing("i1")])
    mark_sent(database, [one.id for one in [*ends, outgoing("i1")]], 1000)
    assert [one.alert.incident.id for one in resolved_alerts(database, "chat", 1000)] == ["i1"]
    assert resolved_alerts(database, "chat", 1001) == []


def test_ends_that_nobody_was_told(database: Database) -> None:
    """Of incidents that are over, told while they were on, and without an end behind that; of nothing else."""
    left = results.result()
    over = {"state": "resolved", "resolved_ns": 500}
    known = [results.incident(name).model_copy(update=over) for name in ("i1", "i2", "i3", "i4")]
    save_scan(database, ScanResult(left.kept, left.jobs, [*known, results.incident("i5")]))
    told = [outgoing(name) for name in ("i1", "i2", "i3", "i4", "i5")]
    ends = [outgoing("i2", 200, change="resolved"), outgoing("i3", 200, change="resolved"), outgoing("i3", 300)]
    add_alerts(database, [*told, *ends])
    suppress(database, [told[3].id], "muted")
    found = [
        (receiver, incident.id, label, tenant)
        for receiver, incident, label, tenant in list_unsent_resolutions(database, 500)
    ]
    assert found == [("chat", "i1", "label of j1", "t1"), ("chat", "i3", "label of j1", "t1")]
    assert list_unsent_resolutions(database, 501) == []


def test_notes_and_changes_for_the_worse(database: Database) -> None:
    """All notes of each incident, and when it last became worse."""
    left = results.result()
    known = [results.incident("i1"), results.incident("i2")]
    changes = [
        IncidentChange.model_validate({"incident": "i1", "time_ns": time_ns, "kind": kind, "detail": ""})
        for time_ns, kind in ((10, "opened"), (20, "escalated"), (30, "eased"))
    ]
    save_scan(database, ScanResult(left.kept, left.jobs, known, changes))
    note = IncidentNote("i1", 25, "ada", "acknowledged")
    add_note(database, note)
    assert notes_about(database, ["i1", "i2"]) == {"i1": [note], "i2": []}
    assert last_worsened(database, ["i1", "i2"]) == {"i1": 20}


def test_old_alerts_go_and_waiting_ones_stay(database: Database) -> None:
    """What waits stays however old, and so does what was told of an incident that is open."""
    left = results.result()
    save_scan(database, ScanResult(left.kept, left.jobs, [results.incident("i1")]))
    told = [outgoing("i1"), outgoing("i2"), outgoing("i3")]
    add_alerts(database, told)
    mark_sent(database, [told[0].id, told[1].id], 150)
    assert forget_alerts(database, 100) == 0
    assert forget_alerts(database, 101) == 1
    assert sorted(one.alert.incident.id for one in alerts(database)) == ["i1", "i3"]
