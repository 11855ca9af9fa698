"""From the findings of a scan to a receiver: by the real keeping of a scan, and by what people say of its incidents."""

from __future__ import annotations

from pathlib import Path

from flowprism.analysis.scan_verdict import judge_report
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.delivery import ReceiverDelivery
from flowprism.service.incidents.incident_lifecycle import IncidentOptions
from flowprism.service.incidents.scan_recorder import CompletedScan, record
from flowprism.service.queries.incidents.incident_queries import incident, mute
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.connection import Database
from storage.database.incidents.alerts import alerts, waiting_alerts
from tests.flowprism import sample
from tests.flowprism.service.alerts import told
from tests.flowprism.service.alerts.listening import listening
from tests.flowprism.service.api.client import client


def keep(database: Database, settings: AlertSettings) -> int:
    """Keep a scan that finds a slow link, which opens its incident at once; when it was made."""
    report = sample.analysis().report
    made_ns = report.window.end_ns + told.SECOND_NS
    made = CompletedScan("default", made_ns, made_ns, report, judge_report(report))
    assert record(database, made, IncidentOptions(confirming_scans=1), settings)
    return made_ns


def test_what_a_scan_finds_reaches_a_receiver(tmp_path: Path) -> None:
    """The incident that it opened, with the job's label, once however often the scan is told; not what is mere info."""
    database = told.database(tmp_path)
    with listening() as server:
        settings = told.settings(told.webhook(url=server.url))
        made_ns = keep(database, settings)
        report = sample.analysis().report
        again = CompletedScan("default", made_ns, made_ns, report, judge_report(report))
        assert record(database, again, IncidentOptions(confirming_scans=1), settings) is None
        courier = ReceiverDelivery(database, settings.receivers[0], settings)
        while courier.deliver(made_ns):
            pass
        (came,) = server.wait(1)
    told_of = [(alert["change"], alert["incident"]["kind"], alert["label"]) for alert in came.json["alerts"]]
    loud = [finding for finding in report.findings if finding.severity != "info"]
    assert told_of == [("opened", finding.kind, report.jobs[0].label) for finding in loud]
    database.close()


def test_a_mute_of_the_api_is_a_mute(tmp_path: Path) -> None:
    """What a person mutes there is not told, and the outbox says who it was and why."""
    database = told.database(tmp_path)
    settings = told.settings(told.webhook())
    made_ns = keep(database, settings)
    stores, ada = Stores(database, None, None), Viewer("ada", "operator", None)
    for one in waiting_alerts(database, "hook"):
        assert mute(stores, ada, made_ns, one.alert.incident.id, "known", None)
    assert not ReceiverDelivery(database, settings.receivers[0], settings).deliver(made_ns + 1)
    assert {(one.state, one.problem) for one in alerts(database)} == {("withheld", "muted by ada: known")}
    database.close()


def test_the_incident_says_who_was_told(tmp_path: Path) -> None:
    """On its page and in the API, to those who see all jobs: receivers are not a tenant's business."""
    database = told.database(tmp_path)
    # The capture has a date of its own, and an alert as old as that would be given up.
    settings = told.settings(told.webhook("on-call"), give_up_after_s=1e10)
    keep(database, settings)
    (name, *_) = [one.alert.incident.id for one in waiting_alerts(database, "on-call")]
    ReceiverDelivery(database, settings.receivers[0], settings).deliver(2**61)
    stores = Stores(database, None, None)
    found = incident(stores, Viewer("ada", "operator", None), 2**61, name)
    assert found is not None
    (row,) = found.alerts
    assert (row.receiver, row.change, row.state, row.attempts, row.sent_ns) == ("on-call", "opened", "waiting", 1, None)
    assert row.problem == "Connection refused"
    page = client(stores).get(f"/incidents/{name}").text.partition("Notifications sent")[2]
    assert "<b>on-call</b> opened, not accepted yet" in page
    assert "<p>Connection refused</p>" in page
    tenant = found.tenant
    assert tenant is not None
    own = incident(stores, Viewer("bob", "operator", tenant), 2**61, name)
    assert own is not None
    assert own.alerts == ()
    database.close()
