"""Which alerts follow from what a scan changed, and when people are reminded."""

from __future__ import annotations

import pytest

from datamodel.service.alerts import OutgoingAlert
from datamodel.service.incidents import IncidentChange
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.outbox import alerts_of, reminders
from tests.flowprism.service.alerts import told
from tests.storage.database import results

HOUR_NS = 3600 * told.SECOND_NS
PAGER: dict[str, object] = {"name": "pager", "kind": "alertmanager", "url": "http://127.0.0.1:9"}


def after(settings: AlertSettings, *kinds: str, **incident: object) -> list[OutgoingAlert]:
    """Alerts of one scan that made these changes of one incident."""
    changes = [
        IncidentChange.model_validate({"incident": "i1", "time_ns": 50, "kind": kind, "detail": ""}) for kind in kinds
    ]
    return alerts_of([results.incident().model_copy(update=incident)], changes, [results.job()], 1000, settings)


@pytest.mark.parametrize("kind", ["opened", "escalated", "relocated", "reopened"])
def test_what_people_must_know_is_told(kind: str) -> None:
    """Each with key, change, label and tenant; ids follow from the scan alone."""
    (one,) = after(told.settings(told.webhook(), group_wait_s=10), kind)
    assert one.id == f"flowprism-i1.{kind}.50@hook"
    assert (one.alert.change, one.alert.status, one.alert.label, one.alert.tenant) == (
        kind,
        "firing",
        "label of j1",
        "t1",
    )
    assert (one.created_ns, one.due_ns) == (1000, 1000 + 10 * told.SECOND_NS)


def test_the_end_is_told() -> None:
    """A resolved incident's alert says so."""
    (one,) = after(told.settings(told.webhook()), "resolved", state="resolved")
    assert (one.alert.status, one.alert.change) == ("resolved", "resolved")


@pytest.mark.parametrize("kind", ["suspected", "eased", "dismissed"])
def test_what_nobody_need_know_is_not_told(kind: str) -> None:
    """A suspicion, and what becomes better but is not over."""
    assert after(told.settings(told.webhook()), kind) == []


def test_a_suspicion_that_moves_is_not_told() -> None:
    """What is not confirmed yet is nobody's alert, whatever happens to it."""
    assert after(told.settings(told.webhook()), "relocated", state="suspected") == []


def test_an_incident_is_told_once_a_scan() -> None:
    """Of several changes in one scan the weightiest is told."""
    (one,) = after(told.settings(told.webhook()), "relocated", "escalated", "opened")
    assert one.alert.change == "opened"


def test_links_lead_to_the_incident() -> None:
    """Where the settings say where the dashboard is."""
    (one,) = after(told.settings(told.webhook(), dashboard_url="https://fp.example/x/"), "opened")
    assert one.alert.link == "https://fp.example/x/incidents/i1"


@pytest.mark.parametrize(
    ("route", "fits"),
    [
        ({}, True),
        ({"at_least": "critical"}, False),
        ({"at_least": "info"}, True),
        ({"tenants": ["t1"]}, True),
        ({"tenants": ["t2"]}, False),
        ({"kinds": ["straggler", "hang"]}, True),
        ({"kinds": ["hang"]}, False),
        ({"jobs": ["j1"]}, True),
        ({"jobs": ["label of j1"]}, True),
        ({"jobs": ["j2"]}, False),
        ({"jobs": ["j1"], "tenants": ["t2"]}, False),
    ],
)
def test_routes_choose(route: dict[str, object], fits: bool) -> None:
    """All that a route names must fit."""
    settings = told.settings(told.webhook(), routes=[{"receivers": ["hook"], **route}])
    assert bool(after(settings, "opened")) == fits


def test_without_routes_all_warnings_go_to_all() -> None:
    """The default tells everybody of warnings, and nobody of what is only worth knowing."""
    settings = told.settings(told.webhook("a"), told.webhook("b"))
    assert [one.receiver for one in after(settings, "opened")] == ["a", "b"]
    assert after(settings, "opened", worst_severity="info", severity="info") == []


def test_routes_add_up() -> None:
    """Every route that fits takes the incident, and nobody is told twice."""
    settings = told.settings(
        told.webhook("a"), told.webhook("b"), routes=[{"receivers": ["b"]}, {"receivers": ["b", "a"]}]
    )
    assert [one.receiver for one in after(settings, "opened")] == ["a", "b"]


def test_an_incident_is_routed_by_its_worst_severity() -> None:
    """Who was told of a critical incident hears its end, though it had eased by then."""
    settings = told.settings(told.webhook(), routes=[{"receivers": ["hook"], "at_least": "critical"}])
    assert after(settings, "resolved", state="resolved", severity="info", worst_severity="critical")


def test_an_incident_of_no_job_is_told_where_no_route_asks_for_one() -> None:
    """A feed that fell silent belongs to no tenant."""
    feed = {"job": None, "kind": "feed"}
    assert after(told.settings(told.webhook()), "opened", **feed)
    assert not after(
        told.settings(told.webhook(), routes=[{"receivers": ["hook"], "tenants": ["t1"]}]), "opened", **feed
    )


def test_reminders_come_every_so_often() -> None:
    """Not before the time, and with one id for one time whoever makes it."""
    settings = told.settings(told.webhook(), repeat_after_s=3600)
    opened = [(results.incident(), "label", "t1")]
    told_ns = {("i1", "hook"): 10 * HOUR_NS}
    assert reminders(opened, told_ns, (), 11 * HOUR_NS - 1, settings) == []
    (one,) = reminders(opened, told_ns, (), 11 * HOUR_NS, settings)
    (same,) = reminders(opened, told_ns, (), 11 * HOUR_NS + 5, settings)
    assert one.id == same.id == f"flowprism-i1.reminder.{11 * HOUR_NS}@hook"


def test_who_was_never_told_is_told_at_once() -> None:
    """A receiver that was configured since hears of what is open."""
    assert reminders([(results.incident(), None, None)], {}, (), HOUR_NS, told.settings(told.webhook()))


def test_nobody_is_reminded_of_what_is_looked_after() -> None:
    """Neither muted nor acknowledged incidents are repeated, and never to an Alertmanager."""
    opened = [(results.incident(), None, None)]
    assert reminders(opened, {}, {"i1"}, HOUR_NS, told.settings(told.webhook())) == []
    assert reminders(opened, {}, (), HOUR_NS, told.settings(PAGER)) == []
