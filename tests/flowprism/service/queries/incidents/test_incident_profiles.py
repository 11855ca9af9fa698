"""`flowprism profile read --incident`: what profiles show stands beside the finding, in the API and on its page."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from datamodel.cluster.inventory import Endpoint, Host, Inventory
from datamodel.telemetry.profiles import IncidentProfiles
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.access import audit_log
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory
from storage.database.incidents.incident_profiles import incident_profiles, save_incident_profiles
from storage.database.incidents.incident_records import forget_incidents
from tests.diagnose.profiles.made_profiles import case_of, write_case
from tests.flowprism.profiles.stored_profiles import SLOW_KERNELS, only_incident, profile_read, read_profiles_of
from tests.flowprism.service.api.client import client
from tests.flowprism.service.stored import TENANT

NETWORK, CLEAN = 9, 120
HOSTILE = "<img src=x onerror=alert(1)>"
HEADING = "What profiles show"


def card(stores: Stores) -> str:
    """The section of the incident's page, as it is sent; empty: there is none."""
    page = client(stores).get(f"/incidents/{only_incident(stores)}").text
    return page.partition(HEADING)[2].partition("</section>")[0]


def words(stores: Stores) -> str:
    """The text of the section."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", card(stores))))


def test_nothing_is_shown_before_profiles_are_read(own_demo: Stores) -> None:
    """Null in the incident, 404 of its own route, no section of the page."""
    path = f"/api/v1/incidents/{only_incident(own_demo)}"
    assert client(own_demo).get(path).json()["profiles"] is None
    answer = client(own_demo).get(f"{path}/profiles")
    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no profile of this incident")
    assert HEADING not in client(own_demo).get(f"/incidents/{only_incident(own_demo)}").text


def test_verdict_stands_beside_the_finding(own_demo: Stores, tmp_path: Path) -> None:
    """The same words on stdout, in the incident, in the whole report and on the page; and who read them is audited."""
    said = read_profiles_of(own_demo, tmp_path / "traces").splitlines()[0]
    culprit = case_of(SLOW_KERNELS).culprit
    path = f"/api/v1/incidents/{only_incident(own_demo)}"
    short = client(own_demo).get(path).json()["profiles"]
    whole = IncidentProfiles.model_validate(client(own_demo).get(f"{path}/profiles").json())
    assert short["summary"] == whole.report.summary == said
    assert (short["verdicts"][0]["cause"], short["verdicts"][0]["ranks"]) == ("kernels", [culprit])
    assert short["compared"] == len(whole.report.ranks) == case_of(SLOW_KERNELS).world
    assert short["verdicts"][0]["agreement"].startswith("the flows disagree: The link of ")
    shown = words(own_demo)
    assert f"{said[:1].upper()}{said[1:]}" in shown
    assert f"Rank {culprit} " in shown
    assert " compute " in shown
    assert f"{short['compared']} profiles compared" in shown
    entry = next(one for _, one in audit_log(own_demo.database) if one.action == "read profiles")
    assert (entry.subject, entry.detail["folder"]) == (only_incident(own_demo), str(tmp_path / "traces"))


def test_a_network_verdict_agrees_with_the_slow_link(own_demo: Stores, tmp_path: Path) -> None:
    """The incident is what profiles are compared with."""
    read_profiles_of(own_demo, tmp_path / "traces", NETWORK)
    assert "The flows agree: The link of 10.2.3.2 (s3) to leaf2 is slow" in words(own_demo)


def test_the_newest_reading_counts(own_demo: Stores, tmp_path: Path) -> None:
    """A second folder replaces the first."""
    read_profiles_of(own_demo, tmp_path / "first")
    read_profiles_of(own_demo, tmp_path / "second", CLEAN)
    assert "Profiles show nothing unlike peers" in words(own_demo)
    assert "gemm" not in words(own_demo)


def test_places_are_those_of_the_inventory_in_the_results(own_demo: Stores, tmp_path: Path) -> None:
    """Nothing needs to be given twice."""
    nics = {n: tuple(Endpoint(address=f"10.0.{n}.{gpu}", gpu=gpu) for gpu in range(4)) for n in range(4)}
    hosts = tuple(Host(name=f"node{n}", endpoints=some) for n, some in nics.items())
    save_inventory(own_demo.database, Inventory(hosts=hosts), "ann", 2**61)
    culprit = case_of(SLOW_KERNELS).culprit
    said = read_profiles_of(own_demo, tmp_path / "traces")
    assert said.startswith(f"rank {culprit} (GPU {culprit % 4} of node{culprit // 4}): gemm kernels")
    assert f"node{culprit // 4} 10.0.{culprit // 4}.{culprit % 4}" in words(own_demo)


def test_files_that_cannot_be_used_are_listed_and_no_name_is_markup(own_demo: Stores, tmp_path: Path) -> None:
    """Names of files and kernels come from elsewhere."""
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "<b>cut.json").write_text('{"nodes": []}')
    case = case_of(SLOW_KERNELS)
    write_case(case, tmp_path / "traces", ranks=False)
    name = only_incident(own_demo)
    code, _ = profile_read(tmp_path / "traces", "--incident", name, "--results", own_demo.database.name)
    read = incident_profiles(own_demo.database, [name])[name]
    assert code == 0
    evil = read.report.model_copy(update={"summary": HOSTILE, "problems": (*read.report.problems, HOSTILE)})
    save_incident_profiles(own_demo.database, name, IncidentProfiles(read_ns=1, report=evil))
    assert "<b>cut.json: " in words(own_demo).replace("&lt;", "<")
    assert "<img" not in card(own_demo)
    assert "<b>cut" not in card(own_demo)
    assert "2 profiles not used, or in part" in words(own_demo)


def test_viewers_of_another_tenant_see_none(own_demo: Stores, tmp_path: Path) -> None:
    """As of the incident itself; its own tenant's viewers see them."""
    read_profiles_of(own_demo, tmp_path / "traces")
    path = f"/api/v1/incidents/{only_incident(own_demo)}/profiles"
    assert client(own_demo, Viewer("frida", "viewer", "foreign")).get(path).status_code == 404
    assert client(own_demo, Viewer("vera", "viewer", TENANT)).get(path).status_code == 200


def test_profiles_go_with_their_incident(own_demo: Stores, tmp_path: Path) -> None:
    """What is forgotten keeps nothing, and nothing is stored with what is gone."""
    read_profiles_of(own_demo, tmp_path / "traces")
    name = only_incident(own_demo)
    read = incident_profiles(own_demo.database, [name])[name]
    with own_demo.database.writing() as connection:
        connection.exec_driver_sql("UPDATE incidents SET state = 'resolved', seen_ns = 1, resolved_ns = 1")
    assert forget_incidents(own_demo.database, 10) == 1
    save_incident_profiles(own_demo.database, name, read)
    assert incident_profiles(own_demo.database, [name]) == {}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--incident", "i1"), "--incident ID and --results URL are given together"),
        (("--results", "sqlite:////r"), "--incident ID and --results URL are given together"),
        (("--incident", "i1", "--results", "sqlite:////nowhere/r"), "there is no such database"),
    ],
)
def test_an_incident_needs_its_results(tmp_path: Path, arguments: tuple[str, ...], line: str) -> None:
    """One line, before anything is read."""
    code, text = profile_read(tmp_path, *arguments)
    assert code == 1
    assert line in text


def test_an_unknown_incident_is_an_error(tmp_path: Path) -> None:
    """One line names it; the folder is not read."""
    results = f"sqlite:///{tmp_path}/results.db"
    Database(results).close()
    code, text = profile_read(tmp_path / "missing", "--incident", "i1", "--results", results)
    assert code == 1
    assert "i1: there is no incident of this id" in text
