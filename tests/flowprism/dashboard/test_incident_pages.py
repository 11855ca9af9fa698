from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import httpx
import numpy as np
import pytest

from datamodel.reports.host_cause import HostAnswer, HostCause, HostEvidence
from datamodel.service.api_models import IncidentDetail, IncidentRow
from datamodel.service.filters import IncidentFilter
from flowprism.dashboard.incidents.incident_evidence import IncidentEvidence, even, incident_evidence
from flowprism.rendering.endpoint_order import Position
from flowprism.service.queries.incidents.incident_queries import incident, incidents
from flowprism.service.queries.jobs.analyses import names
from flowprism.service.queries.jobs.job_queries import job, jobs
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.incidents.host_answers import save_host_answer
from storage.database.incidents.incident_records import incidents as stored_incidents
from storage.database.scans.scan_records import ScanResult, save_scan
from storage.database.scans.scan_requests import requests
from tests.flowprism.service.api.client import ADMIN, Client, client
from tests.flowprism.service.stored import demo_analysis, healthy_again, record_later, stored_demo, stored_many
from tests.storage.database import results

LATER_NS = 2**61
HOSTILE = "<img src=x onerror=alert(1)>\n</script><b>bold</b>"
WATCHER = Viewer("will", "viewer", None)
SEARCHER = Viewer("sue", "operator", "search")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A hundred and two incidents of made-up jobs."""
    stores = stored_many(tmp_path_factory.mktemp("many"), jobs=408, days=0, endpoints=2)
    yield stores
    stores.database.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Stores]:
    """The bundled capture, for a test that says something."""
    stores = stored_demo(tmp_path)
    yield stores
    stores.database.close()


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """The bundled capture, and a later window in which its job is as fast as before the fault."""
    stores = stored_demo(tmp_path_factory.mktemp("recovered"))
    record_later(stores, healthy_again(demo_analysis()))
    yield stores
    stores.database.close()


def _only(stores: Stores) -> str:
    (row,) = incidents(stores, ADMIN, LATER_NS)
    return row.incident.id


def _now(stores: Stores) -> IncidentDetail:
    found = incident(stores, ADMIN, LATER_NS, _only(stores))
    assert found is not None
    return found


def _send(asking: Client, path: str, **fields: str) -> httpx.Response:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return asking.post(path, content=urlencode(fields), headers=headers)


def _listed(page: str) -> list[str]:
    return re.findall(r'<a href="/incidents/(i\d+)">', page)


def test_the_page_tells_evidence_in_figures_and_tables(demo: Stores) -> None:
    """Iterations around its begin, the suspect against its peers, pairs; each figure has its table."""
    page = unescape(client(demo).get(f"/incidents/{_only(demo)}").text)
    figures = page.count('<svg viewBox="0 0 1080')
    assert figures == 3
    assert page.count("<summary>As a table</summary>") == figures
    assert "1 suspected against 7 peers" in page
    assert "539\N{NO-BREAK SPACE}ms" in page.partition("buys-heading")[2]
    assert page.count('scope="row">link rate<') == 4
    assert "Burst rate" not in page


def test_a_burst_rate_is_called_so(tmp_path: Path) -> None:
    """A rate that no port carries is named, and the page says what it is."""
    (finding,) = demo_analysis().report.findings
    bursts = finding.evidence[0].model_copy(update={"metric": "burst rate before, against the port speed"})
    report = demo_analysis().report.model_copy(
        update={"findings": (finding.model_copy(update={"evidence": (bursts, *finding.evidence)}),)}
    )
    stores = stored_demo(tmp_path, analysis=replace(demo_analysis(), report=report))
    page = unescape(client(stores).get(f"/incidents/{_only(stores)}").text)
    assert "no link carries that" in page.partition('id="rates-differ"')[2]
    stores.database.close()


def test_where_windows_show_little_of_an_incident_its_spans_count(tmp_path: Path) -> None:
    """A window of which most iterations are healthy acquits no suspect."""
    stores, long_after = stored_demo(tmp_path), demo_analysis()
    (finding,) = long_after.report.findings
    steps = long_after.report.jobs[0].iterations
    short = (steps[-3].start_ns, steps[-1].end_ns)
    evidence = tuple(one.model_copy(update={"window_ns": short}) for one in finding.evidence)
    one = finding.model_copy(update={"start_ns": short[0], "evidence": evidence})
    report = long_after.report.model_copy(update={"findings": (one,)})
    even = {name: pairs.replace(late_ratio=np.ones(len(pairs))) for name, pairs in long_after.pairs.items()}
    stores.database.close()
    stores = stored_demo(tmp_path / "short", analysis=replace(long_after, report=report, pairs=even))
    page = unescape(client(stores).get(f"/jobs/{long_after.report.jobs[0].id}").text)
    assert re.search(r"10\.2\.3\.2 \(s3 gpu 1\): [2-9]\.\d+ times as long to move a byte", page)
    page = unescape(client(stores).get(f"/incidents/{_only(stores)}").text)
    assert f"Of the {len(steps)} iterations in the window nearest to the incident only 3 lie in its time" in page
    assert "Lateness of pairs" not in page
    stores.database.close()


def test_pages_are_of_the_incidents_time(recovered: Stores) -> None:
    """Of a job that has recovered while its incident is open: the suspect is still late on every page of it."""
    (row,) = incidents(recovered, ADMIN, LATER_NS)
    start_ns, end_ns = row.measured_ns
    (found, *_), asking = jobs(recovered, ADMIN, end_ns + 1), client(recovered)
    assert found.slowdown_ratio == row.incident.slowdown_ratio > 1.2
    assert found.slowdown_span_ns == (start_ns, end_ns)
    assert found.iteration_span_ns is not None
    case = evidence_of(recovered, row)
    assert case.late is not None
    assert min(ratio for _, _, ratio in case.late.touched[:2]) > 2
    page = unescape(asking.get(f"/jobs/{found.id}").text)
    assert "The window that shows most of the open incident" in page
    assert re.search(r"10\.2\.3\.2 \(s3 gpu 1\)[^<]*[2-9]\.\d+ times as long", page)
    matrix = unescape(asking.get(f"/jobs/{found.id}/matrix?measure=delay").text)
    assert "the open incident" in matrix
    assert "Senders that stand out" in matrix
    timeline = unescape(asking.get(f"/jobs/{found.id}/timeline").text)
    assert "The last iteration that" in timeline
    assert (
        "10.2.3.2" in timeline.partition('id="path-suspects"')[0]
        or "s3/1" in timeline.partition('id="path-suspects"')[2]
    )


def test_the_timeline_opens_with_an_iteration_that_the_incident_made_slow(tmp_path: Path) -> None:
    """Though a later scan has it that this one ended a little earlier, and the next one is healthy."""
    whole = demo_analysis()
    (finding,), (found,) = whole.report.findings, whole.report.jobs
    begin_ns, end_ns = finding.evidence[0].window_ns
    later = tuple(one.model_copy(update={"window_ns": (begin_ns, end_ns + 10**7)}) for one in finding.evidence)
    report = whole.report.model_copy(update={"findings": (finding.model_copy(update={"evidence": later}),)})
    stores = stored_demo(tmp_path, analysis=replace(whole, report=report))
    record_later(stores, healthy_again(whole))
    slow = [one for one in found.iterations if one.end_ns <= end_ns][-1]
    page = unescape(client(stores).get(f"/jobs/{found.id}/timeline").text)
    assert f"Iteration {slow.index} took" in page
    assert "The last iteration that" in page
    stores.database.close()


def test_pairs_are_of_the_window_that_shows_most_of_an_incident(tmp_path: Path) -> None:
    """Windows move on past a fault, until its numbers are of its last iteration; the fault was longer than that."""
    whole = demo_analysis()
    (finding,), (found,) = whole.report.findings, whole.report.jobs
    last = found.iterations[-1]
    tail = tuple(one.model_copy(update={"window_ns": (last.start_ns, last.end_ns)}) for one in finding.evidence)
    report = whole.report.model_copy(update={"findings": (finding.model_copy(update={"evidence": tail}),)})
    stores = stored_demo(tmp_path, analysis=replace(whole, report=report))
    (row,) = incidents(stores, ADMIN, LATER_NS)
    assert row.measured_ns == (last.start_ns, last.end_ns)
    assert row.incident.recent_ns(10**12) == (finding.start_ns, last.end_ns)
    assert row.incident.recent_ns(10**9) == (last.start_ns, last.end_ns)
    late = evidence_of(stores, row).late_window
    assert late is not None
    assert late.inside == sum(one.start_ns >= finding.start_ns for one in found.iterations) == 6
    page = unescape(client(stores).get(f"/jobs/{found.id}/matrix?measure=delay").text)
    assert re.search(r"of its 12 iterations, 6 lie", page)
    stores.database.close()


def test_an_incident_that_came_back_or_is_not_seen_says_so(demo: Stores, recovered: Stores, tmp_path: Path) -> None:
    """Open is not the same as still on: since when it was not seen, and since when it is so again."""
    assert "Not seen since" not in client(demo).get(f"/incidents/{_only(demo)}").text
    assert "Not seen since" in client(recovered).get(f"/incidents/{_only(recovered)}").text
    stores = stored_demo(tmp_path)
    (found,) = stored_incidents(stores.database)
    steps = demo_analysis().report.jobs[0].iterations
    earlier = (steps[0].start_ns, steps[2].end_ns)
    again = found.model_copy(
        update={"start_ns": earlier[0], "earlier_ns": (earlier,), "since_ns": found.start_ns, "times_reopened": 1}
    )
    end_ns = demo_analysis().report.window.end_ns + 10**9
    assert save_scan(stores.database, ScanResult(results.kept(end_ns, "health"), [], [again]))
    page = client(stores).get(f"/incidents/{found.id}").text
    assert "Came back" in page
    (row,) = incidents(stores, ADMIN, LATER_NS)
    drawn = evidence_of(stores, row)
    assert [one.hit for one in drawn.rows] == [
        one.end_ns <= earlier[1] or one.start_ns >= found.start_ns for one in steps
    ]
    stores.database.close()


def evidence_of(stores: Stores, row: IncidentRow) -> IncidentEvidence:
    """What the page of an incident draws."""
    detail = job(stores, ADMIN, LATER_NS, row.incident.job or "")
    assert detail is not None
    return incident_evidence(stores, ADMIN, row.incident, detail, names(stores), UTC)


def test_of_very_many_peers_an_even_choice_is_read() -> None:
    """Suspects stay, and at most so many of the others, from the first to the last."""
    many = [Position(str(n), n, 0, n) for n in range(10_001)]
    few = even(many, 500)
    assert len(few) <= 500
    assert (few[0].number, few[-1].number) == (0, 9996)
    assert even(many[:3], 500) == many[:3]


def test_filters_narrow_the_list_and_stand_in_it(many: Stores) -> None:
    """By severity and by words; what was chosen is chosen in the form."""
    critical = client(many).get("/incidents?severity=critical").text
    wanted = {row.incident.id for row in incidents(many, ADMIN, LATER_NS, IncidentFilter(severities=("critical",)))}
    assert set(_listed(critical)) == wanted
    assert '<option value="critical" selected>' in critical
    assert _listed(client(many).get("/incidents?state=resolved").text) == []
    assert len(_listed(client(many).get("/incidents?job=j00008&state=all").text)) == 1


def test_the_list_goes_on_where_its_page_ended(many: Stores) -> None:
    """No incident is twice, none is missing."""
    first = client(many).get("/incidents").text
    (following,) = re.findall(r'href="([^"]+)">Next page', first)
    second = client(many).get(unescape(following)).text
    assert (len(_listed(first)), len(set(_listed(first)) | set(_listed(second)))) == (100, 102)
    assert client(many).get("/incidents?after=nonsense").status_code == 400


def test_all_is_said_by_plain_forms(own: Stores) -> None:
    """Acknowledge, mute, unmute and comment without a script; each leads back to the history."""
    place, asking = f"/incidents/{_only(own)}", client(own)
    for act, fields in (
        ("acknowledge", {"text": "on it"}),
        ("mute", {"hours": "4", "reason": "cable is ordered"}),
        ("comment", {"text": HOSTILE}),
    ):
        answer = _send(asking, f"{place}/{act}", **fields)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{place}#history")
    detail = _now(own)
    assert (detail.acknowledged_by, [note.kind for note in detail.notes]) == (
        "ann",
        ["acknowledged", "muted", "comment"],
    )
    muted = detail.notes[1]
    assert muted.until_ns == muted.time_ns + 4 * 3600 * 10**9
    assert _send(asking, f"{place}/unmute").status_code == 303
    assert not _now(own).muted


def test_a_hostile_comment_is_shown_and_not_run(own: Stores) -> None:
    """Markup in a comment is text on the page."""
    place = f"/incidents/{_only(own)}"
    _send(client(own), f"{place}/comment", text=HOSTILE)
    page = client(own).get(place).text
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_what_says_nothing_is_refused_on_a_page(own: Stores) -> None:
    """A mute without a reason, an empty comment, hours that nobody offered, too long a text."""
    place, asking = f"/incidents/{_only(own)}", client(own)
    for act, fields in (
        ("mute", {"hours": "4", "reason": " "}),
        ("mute", {"hours": "5", "reason": "why"}),
        ("comment", {"text": "\0 "}),
        ("comment", {"text": "x" * 4001}),
    ):
        answer = _send(asking, f"{place}/{act}", **fields)
        assert (answer.status_code, answer.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert not _now(own).notes


def test_a_viewer_has_no_forms_and_may_not_send_them(own: Stores) -> None:
    """Looking is all that a viewer does."""
    place, asking = f"/incidents/{_only(own)}", client(own, WATCHER)
    assert "<form method=" not in asking.get(place).text
    for act in ("acknowledge", "mute", "unmute", "comment"):
        assert _send(asking, f"{place}/{act}", text="x", reason="x", hours="4").status_code == 403
    assert _send(asking, "/scans", policy="default").status_code == 403
    assert not _now(own).notes


def test_an_incident_of_others_is_not_there(own: Stores) -> None:
    """Neither to see nor to speak of."""
    place, asking = f"/incidents/{_only(own)}", client(own, SEARCHER)
    assert asking.get(place).status_code == 404
    assert _send(asking, f"{place}/comment", text="x").status_code == 404
    assert _listed(asking.get("/incidents").text) == []
    assert not _now(own).notes


def test_a_form_leads_back_to_pages_of_ours_only(own: Stores) -> None:
    """`back` names a path here; anything else is the overview."""
    place = f"/incidents/{_only(own)}"
    for named, path in (("/", "/"), ("/jobs/x", "/jobs/x"), ("//evil.example", "/"), ("https://evil.example/", "/")):
        answer = _send(client(own), f"{place}/acknowledge", back=named)
        assert answer.headers["location"] == path


def test_scanning_again_asks_for_this_job(own: Stores) -> None:
    """By a policy of the settings; an unknown one is refused."""
    job_id = _now(own).incident.job
    answer = _send(client(own), "/scans", policy="default", jobs=job_id or "", back=f"/incidents/{_only(own)}")
    assert answer.status_code == 303
    (asked,) = requests(own.database, 10)
    assert (asked.policy, asked.jobs, asked.author, asked.state) == ("default", (job_id,), "ann", "waiting")
    assert _send(client(own), "/scans", policy="none such").status_code == 400
    page = client(own).get("/scans").text
    assert "waiting" in page.partition('id="asked"')[2]


def test_a_scan_of_a_certain_time_takes_both_ends(own: Stores) -> None:
    """In order, and readable."""
    asking = client(own)
    for window in (
        {"from": "2026-11-20T15:00:00Z"},
        {"from": "x", "to": "y"},
        {"from": "2026-11-21", "to": "2026-11-20"},
    ):
        assert _send(asking, "/scans", **window).status_code == 400
    assert _send(asking, "/scans", **{"from": "2026-11-20T15:00:00Z", "to": "2026-11-20T15:10:00Z"}).status_code == 303
    (asked,) = requests(own.database, 10)
    assert (asked.window_start_ns, asked.window_end_ns) == (1795186800 * 10**9, 1795187400 * 10**9)


def test_runs_lead_to_their_verdicts(demo: Stores) -> None:
    """One row a scan, one row a job."""
    runs = client(demo).get("/scans").text
    place = re.findall(r'href="(/scans/health/\d+/\d+)"', runs)[0]
    page = unescape(client(demo).get(place).text)
    assert "Something is wrong" in page
    assert "llama-demo" in page
    assert "The link of 10.2.3.2 (s3) to leaf2 is slow" in page
    assert client(demo).get("/scans/health/1/2").status_code == 404
    assert "health" not in client(demo).get("/scans?policy=nightly").text.partition('id="runs"')[2]


def test_the_log_in_page_leads_on_to_where_one_wanted(demo: Stores) -> None:
    """But never to another site."""
    asking = client(demo)
    assert "Continue" in asking.get("/login").text
    assert 'href="/jobs/x"' in asking.get("/login?next=/jobs/x").text
    assert "evil" not in asking.get("/login?next=//evil.example").text


def test_what_hosts_export_is_shown(own: Stores) -> None:
    """One line, and the series against peers and past; nothing where nobody asked."""
    name = _only(own)
    assert "What its hosts export" not in client(own).get(f"/incidents/{name}").text
    heat = HostEvidence(
        series="DCGM_FI_DEV_GPU_TEMP", meaning="temperature", device="3", value=88, peers=61, past=60, unit="°C",
        onset_ns=1,
    )  # fmt: skip
    cause = HostCause(kind="thermal", host="s1", gpu=3, confidence=0.9, evidence=(heat,))
    save_host_answer(own.database, name, HostAnswer(asked_ns=1, peers=5, cause=cause, summary=f"s1: too hot {HOSTILE}"))
    text = client(own).get(f"/incidents/{name}").text
    card = text.partition("What its hosts export")[2].partition("</section>")[0]
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", card))
    assert "S1: too hot" in shown
    assert "temperature °C s1 3 88.0 60.0 61.0" in shown
    assert "Compared with 5 hosts" in shown
    assert "<img" not in card
