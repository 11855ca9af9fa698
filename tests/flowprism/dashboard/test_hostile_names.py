"""Names come from switches, inventories and people: whatever they hold is shown on pages, and nothing of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from datamodel.cluster.inventory import Inventory
from datamodel.reports.findings import Event, Subject, Suspect
from datamodel.service.api_models import ComponentStatus
from datamodel.service.incidents import IncidentChange
from datamodel.service.result_rows import FeedStatistics
from flowprism.service.queries.incidents.incident_queries import comment
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.components import save_component
from storage.database.connection import Database, upsert
from storage.database.feed_statistics import save_feed_statistics, save_inventory
from storage.database.scans.scan_records import ScanResult, save_scan
from storage.database.tables import EVENTS
from tests.flowprism.service.api.client import client
from tests.storage.database import results

EVIL = "\"'><script>alert(1)</script>a/b//..<svg onload=alert(2)>{{ 7*7 }}%2e?a=b&c#"
PAGES = (
    "/", "/?view=tiles", "/?q=EVIL", "/jobs/EVIL", "/jobs/EVIL?last=30d",
    "/jobs/EVIL/timeline", "/jobs/EVIL/matrix", "/incidents", "/incidents?q=EVIL&job=EVIL",
    "/incidents/EVIL", "/scans", "/scans?policy=EVIL", "/scans/EVIL/0/100", "/login?next=EVIL",
    "/jobs/no%20such%20EVIL", "/?show=EVIL", "/feeds", "/fabric", "/fabric?link=EVIL", "/settings",
)  # fmt: skip


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A store in which every name is hostile."""
    folder: Path = tmp_path_factory.mktemp("evil")
    database = Database(f"sqlite:///{folder}/results.sqlite")
    job = results.job(EVIL, tenant=EVIL).model_copy(
        update={"label": EVIL, "endpoints": (EVIL, "10.0.0.1"), "hosts": (EVIL,)}
    )
    case = results.incident(
        EVIL, EVIL, severity="critical", summary=EVIL, action=EVIL, cause=EVIL, seen_ns=100, opened_ns=50,
        subject=Subject(type="link", ids=(EVIL, EVIL)), suspects=(Suspect(type="host", ids=(EVIL,), probability=1.0),),
    )  # fmt: skip
    change = IncidentChange(incident=EVIL, time_ns=100, kind="opened", detail=EVIL)
    save_scan(database, ScanResult(results.kept(100, EVIL), [job], [case], [change], [results.rollup(EVIL)]))
    event = Event(job=EVIL, kind="restart", start_ns=20, end_ns=None, detail=EVIL)
    with database.writing() as connection:
        upsert(connection, EVENTS, [event.model_dump()])
    save_feed_statistics(database, [FeedStatistics(EVIL, 0, 60 * 10**9, 1, 1)])
    save_component(database, ComponentStatus(name=EVIL, kind="collector", started_ns=1, seen_ns=2, detail=EVIL))
    host = {"name": EVIL, "endpoints": [{"address": "10.0.0.1", "switch": EVIL, "port": 1}]}
    switches = [{"name": EVIL, "role": "leaf", "agent": "10.255.0.1"}, {"name": f"{EVIL}2", "role": "spine"}]
    inventory = {
        "schema": "flowprism.inventory/v1", "hosts": [host], "switches": switches,
        "links": [{"a": EVIL, "a_port": 2, "b": f"{EVIL}2", "b_port": 1}], "tenants": [{"name": EVIL, "hosts": [EVIL]}],
        "jobs": [{"name": EVIL, "tenant": EVIL, "hosts": [EVIL], "start": "2026-01-01T00:00:00Z", "end": None}],
    }  # fmt: skip
    save_inventory(database, Inventory.model_validate(inventory), EVIL, 1)
    stores = Stores(database)
    assert comment(stores, Viewer(EVIL, "operator", None), 1, EVIL, f"said {EVIL}") is not None
    yield stores
    database.close()


def test_comments_and_exporters_are_shown(evil: Stores) -> None:
    """As text, on the pages that are about them; without that the test of markup would show nothing."""
    for page in (f"/incidents/{quote(EVIL, safe='')}", "/feeds", "/fabric"):
        assert "&lt;script&gt;alert(1)" in client(evil).get(page).text, page
    assert f"said {EVIL}" in unescape(client(evil).get(f"/incidents/{quote(EVIL, safe='')}").text)


@pytest.mark.parametrize("page", PAGES)
def test_nothing_of_a_name_becomes_markup(evil: Stores, page: str) -> None:
    """It stands on the page as text; no template is run twice."""
    answer = client(evil).get(page.replace("EVIL", quote(EVIL, safe="")))
    assert answer.status_code == (404 if "no%20such" in page else 400 if "show=" in page else 200), answer.text
    text = answer.text.lower()
    for markup in ("<script>", "<svg onload", "'><", "\"'><"):
        assert markup not in text
    assert "49" not in unescape(text).replace("{{ 7*7 }}", "").partition("<main")[2][:200]


def test_links_with_hostile_ids_lead_to_their_pages(evil: Stores) -> None:
    """A question mark, a percent sign and a hash in an id are part of it."""
    page = client(evil).get("/").text
    place = unescape(page.partition('href="/jobs/')[2].partition('"')[0])
    answer = client(evil).get(f"/jobs/{place}")
    assert answer.status_code == 200, place


@pytest.mark.parametrize("page", ["/", "/jobs/EVIL", "/login", "/no/such/page"])
def test_no_script_or_style_runs_but_those_of_files_of_ours(evil: Stores, page: str) -> None:
    """Whatever the page: nothing that stands in it, nothing that text is made into, nothing of another host."""
    answer = client(evil).get(page.replace("EVIL", quote(EVIL, safe="")))
    policy = dict(one.split(maxsplit=1) for one in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[kind] for kind in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
    assert "unsafe" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path", ["jobs/EVIL", "jobs/EVIL/layouts", "jobs/EVIL/trend?start_ns=0&end_ns=1", "scans/EVIL/0/100"]
)
def test_the_api_takes_names_with_slashes(evil: Stores, path: str) -> None:
    """Quoted as %2F or as they are, a slash in a name is part of it, and what hangs below a job is still found."""
    for safe in ("", "/"):
        answer = client(evil).get("/api/v1/" + path.replace("EVIL", quote(EVIL, safe=safe)))
        assert answer.status_code == 200, answer.text
        assert (
            "mean_s" if "trend" in path else "items" if "layouts" in path else "verdict" if "scans" in path else "state"
        ) in answer.json()
