"""The state of a job now: rules one by one, and that all who show it agree, over random histories."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from datamodel.reports.findings import Finding, FindingKind, Severity, Subject
from datamodel.reports.report import Detectability, FeedSummary, JobReport, Provenance, Report, Window
from datamodel.service.job_state import JobState
from datamodel.service.result_rows import FeedStatistics
from flowprism.analysis.scan_verdict import judge_report
from flowprism.service.config.settings import Settings
from flowprism.service.incidents.incident_lifecycle import IncidentOptions
from flowprism.service.incidents.scan_recorder import CompletedScan, record
from flowprism.service.job_state import (
    ExporterHeard,
    JobEvidence,
    PolicyScan,
    Situation,
    StateRules,
    judge,
    state_rules,
)
from flowprism.service.monitoring.request_monitor import new_registry
from flowprism.service.stores import ResultCache, Stores
from storage.database.connection import Database
from storage.database.feed_statistics import save_feed_statistics
from storage.database.incidents.incident_records import incidents
from tests.flowprism.service.api.client import Client, client
from tests.storage.database import results

S = 1_000_000_000
MINUTE_NS = 60 * S
BEGIN_NS = 1_800_000_000 * S
LENGTH_NS = 5 * MINUTE_NS
RULES = StateRules({"all": 4 * MINUTE_NS}, confirming_scans=2)
SEEN = ExporterHeard("10.0.0.9/0", BEGIN_NS, silent=False)


def at(
    now_s: float = 10, exporters: tuple[ExporterHeard, ...] = (SEEN,), verdict: tuple[str, str] = ("healthy", "")
) -> Situation:
    """So long after a scan of one job."""
    verdicts = {"j1": verdict}
    scan_ = PolicyScan("all", BEGIN_NS - LENGTH_NS, BEGIN_NS, verdicts)  # type: ignore[arg-type]
    return Situation(BEGIN_NS + round(now_s * S), (scan_,), exporters, RULES)


def job(last_seen_ns: int = BEGIN_NS, **known: object) -> JobEvidence:
    """The one job."""
    return JobEvidence("j1", last_seen_ns, **known)  # type: ignore[arg-type]


SILENT = ExporterHeard("10.0.0.9/0", BEGIN_NS - MINUTE_NS, silent=True)
GONE_NS = BEGIN_NS - LENGTH_NS


@pytest.mark.parametrize(
    ("evidence", "moment", "state"),
    [
        (job(), at(), "healthy"),
        (job(), at(verdict=("unknown", "too few samples")), "unknown"),
        (job(), at(verdict=("findings", "")), "suspected"),
        (job(suspected_scans=1), at(), "suspected"),
        (job(severity="info"), at(), "slow"),
        (job(severity="critical", hangs=True), at(), "hanging"),
        (job(), at(now_s=241), "stale"),
        (job(severity="critical"), at(now_s=241), "stale"),
        (job(severity="critical", hangs=True), at(now_s=241), "stale"),
        (job(), at(exporters=(SILENT,)), "stale"),
        (job(), at(exporters=(SILENT, SEEN)), "healthy"),
        (job(severity="critical", hangs=True), at(exporters=(SILENT,)), "hanging"),
        (job(GONE_NS), at(), "ended"),
        (job(GONE_NS), at(now_s=1e6), "ended"),
        (job(GONE_NS, severity="warning"), at(), "ended"),
        (job(GONE_NS, severity="critical", hangs=True), at(), "hanging"),
        (job(GONE_NS, may_hang=True, suspected_scans=1), at(), "suspected"),
        (job(GONE_NS), at(exporters=(ExporterHeard("a", GONE_NS, silent=True), SEEN)), "stale"),
        (job(GONE_NS), at(exporters=(SILENT, SEEN)), "ended"),
    ],
)
def test_a_state_follows_from_what_is_known(evidence: JobEvidence, moment: Situation, state: JobState) -> None:
    """Age comes first, then hangs, silence of the telemetry, open incidents, suspicions and what a scan could judge."""
    assert judge(evidence, moment).state == state


def test_before_the_first_scan_nothing_is_known() -> None:
    """A job cannot be healthy before anything was analyzed."""
    assert judge(job(), Situation(BEGIN_NS, (), (), RULES)).state == "unknown"


def test_each_policy_has_its_own_age() -> None:
    """A job that an hourly policy judges is not stale because a policy of minutes stopped; one of the latter is."""
    rules = StateRules({"all": 4 * MINUTE_NS, "hourly": 240 * MINUTE_NS}, 2)
    scans = tuple(
        PolicyScan(policy, BEGIN_NS - LENGTH_NS, BEGIN_NS, {name: ("healthy", "")})
        for policy, name in (("all", "j1"), ("hourly", "j2"))
    )
    moment = Situation(BEGIN_NS + 10 * MINUTE_NS, scans, (), rules)
    assert judge(JobEvidence("j1", BEGIN_NS), moment).state == "stale"
    assert judge(JobEvidence("j2", BEGIN_NS), moment).state == "healthy"


def test_the_age_follows_from_the_settings() -> None:
    """Three intervals beyond the time that records may take to come."""
    assert state_rules(Settings()).max_age_ns == {"default": (5 + 60 + 3 * 60) * S}


JOBS, SCANS = 40, 6
Outcome = tuple[FindingKind, Severity] | str
OUTCOMES: tuple[Outcome, ...] = (
    "healthy", "healthy", "absent", "unknown", ("slow_link", "info"), ("straggler", "warning"),
    ("slow_link", "critical"), ("hang", "critical"),
)  # fmt: skip


class History(NamedTuple):
    """Outcomes of each job in each scan, how long ago the last was made, and how long ago exporters were heard."""

    outcomes: tuple[tuple[Outcome, ...], ...]
    ago_s: int
    heard_ago_s: tuple[int, ...]


histories = st.builds(
    History,
    st.lists(st.tuples(*[st.sampled_from(OUTCOMES)] * JOBS).map(tuple), min_size=1, max_size=SCANS).map(tuple),
    st.sampled_from((1, 60, 200, 244, 246, 400, 10_000_000)),
    st.lists(st.sampled_from((0, 30, 170, 400, 2000)), max_size=2).map(tuple),
)


class Deployment(NamedTuple):
    """One application whose results database is put back to an empty one: making either takes longer than a history."""

    address: str
    empty: str
    database: Database
    asked: Client


@cache
def _deployment() -> Deployment:
    folder = tempfile.mkdtemp()
    address, empty = f"{folder}/results.sqlite", f"{folder}/empty.sqlite"
    database = Database(f"sqlite:///{address}")
    database.close()
    shutil.copy(address, empty)
    return Deployment(address, empty, database, client(Stores(database)))


def _replay(history: History) -> tuple[Deployment, int]:
    """The deployment after such a history, through what a scanner calls; and the time at the end of it."""
    deployment = _deployment()
    database = deployment.database
    database.close()
    for leftover in ("-wal", "-shm"):
        Path(deployment.address + leftover).unlink(missing_ok=True)
    shutil.copy(deployment.empty, deployment.address)
    state = deployment.asked.app.state
    state.stores = replace(state.stores, at_hand=ResultCache())  # the numbers of scans begin at one again
    state.metrics = new_registry(state.stores, state.settings)
    end_ns = BEGIN_NS
    for number, outcomes in enumerate(history.outcomes):
        end_ns = BEGIN_NS + number * MINUTE_NS
        report = _report(outcomes, end_ns)
        record(database, CompletedScan("default", end_ns, end_ns + S, report, judge_report(report)), IncidentOptions())
    now_ns = end_ns + history.ago_s * S
    for number, ago_s in enumerate(history.heard_ago_s):
        heard_ns = (now_ns - ago_s * S) // MINUTE_NS * MINUTE_NS
        save_feed_statistics(database, [FeedStatistics(f"10.0.0.{number}/0", heard_ns, MINUTE_NS, 5, 9)])
    return deployment, now_ns


def _report(outcomes: tuple[Outcome, ...], end_ns: int) -> Report:
    names = [f"j{number:02}" for number, one in enumerate(outcomes) if one != "absent"]
    blind = {f"j{number:02}" for number, one in enumerate(outcomes) if one == "unknown"}
    return Report(
        provenance=Provenance(version="0"),
        window=Window(start_ns=end_ns - LENGTH_NS, end_ns=end_ns),
        feed=FeedSummary(records=1, bytes=1),
        jobs=tuple(_job(name, blind=name in blind) for name in names),
        findings=tuple(
            _finding(f"j{number:02}", *one, end_ns) for number, one in enumerate(outcomes) if isinstance(one, tuple)
        ),
    )


def _job(name: str, *, blind: bool) -> JobReport:
    known = Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None if blind else 1.05)
    return results.job(name).model_copy(update={"detectability": known})


def _finding(name: str, kind: FindingKind, severity: Severity, end_ns: int) -> Finding:
    return Finding(
        id=f"{name} {kind}", job=name, kind=kind, severity=severity, start_ns=end_ns - MINUTE_NS, end_ns=None,
        confidence=0.9, slowdown_ratio=1.3, subject=Subject(type="endpoint", ids=("10.0.0.1",)),
        summary="s", action="a",
    )  # fmt: skip


def _check(history: History) -> None:
    """What every reader of one store says at one moment."""
    deployment, now_ns = _replay(history)
    with patch.object(time, "time_ns", lambda: now_ns):
        asked = deployment.asked
        rows = {one["id"]: one for one in asked.get("/api/v1/jobs?limit=500").json()["items"]}
        states = {name: row["state"] for name, row in rows.items()}
        _check_readers(asked.get("/?ended=true").text, states)
        _check_filters(asked, states)
        name = min(rows, default=None)
        if name is not None:
            assert asked.get(f"/api/v1/jobs/{name}").json()["state"] == states[name]
        metrics = asked.get("/metrics").text
        counted = {one.labels["state"]: int(one.value) for one in _samples(metrics, "flowprism_jobs")}
        assert +Counter(counted) == Counter(state for state in states.values() if state != "ended")
        under_way = {
            state: {one.job for one in incidents(deployment.database, (state,))} for state in ("open", "suspected")
        }
        _check_truth(history, states, under_way, now_ns)


def _check_readers(page: str, states: dict[str, str]) -> None:
    """The overview: rows, marks, figures, headline."""
    listed = re.findall(r'<svg class="state (\w+)".*?<span class="hidden">(\w+): </span><a href="/jobs/(j\d\d)"', page)
    assert {name: state for _, state, name in listed} == states
    assert all((tone == "good") == (state == "healthy") for tone, state, _ in listed)
    figures = dict(re.findall(r'class="name">([^<]+)</span><b>([^<]+)</b>', page))
    many = Counter(states.values())
    assert int(figures["Jobs"]) == len(states) - many["ended"]
    assert int(figures["Healthy"]) == many["healthy"]
    assert int(figures["Suspected"]) == many["suspected"]
    assert int(figures["With an incident"]) == many["slow"] + many["hanging"]
    assert int(figures["Unknown"]) == many["unknown"] + many["stale"]
    headline = unescape(re.findall(r'<h1 id="verdict">(.*?)</h1>', page, re.DOTALL)[0])
    if re.fullmatch(r"The job is healthy|All \d+ jobs are healthy", headline):
        assert set(states.values()) - {"ended"} == {"healthy"}


def _check_filters(asked: object, states: dict[str, str]) -> None:
    """Asking for one state gives the jobs that are in it."""
    for state in sorted(set(states.values())):
        found = asked.get(f"/api/v1/jobs?limit=500&state={state}").json()["items"]  # type: ignore[attr-defined]
        assert {one["id"] for one in found} == {name for name, own in states.items() if own == state}


def _check_truth(history: History, states: dict[str, str], under_way: dict[str, set[str | None]], now_ns: int) -> None:
    """What alerts follow from, open incidents, agrees with the states; and nothing old is healthy."""
    last = history.outcomes[-1]
    for name, state in states.items():
        if state in {"slow", "hanging"}:
            assert name in under_way["open"]
        if name in under_way["open"]:
            assert state in {"slow", "hanging", "stale", "ended"}
        if state == "healthy":
            assert name not in under_way["open"] | under_way["suspected"]
            assert last[int(name[1:])] == "healthy"
            assert history.ago_s <= 245
            assert not history.heard_ago_s or min(history.heard_ago_s) < 180
    assert now_ns >= BEGIN_NS


def _samples(text: str, name: str) -> Iterator[Sample]:
    for family in text_string_to_metric_families(text):
        yield from (one for one in family.samples if one.name == name)


@given(histories)
@settings(max_examples=8, phases=[Phase.generate])
def test_no_two_readers_disagree(history: History) -> None:
    """API, overview, metrics and incidents of forty jobs each: one state a job, and nothing old is healthy."""
    _check(history)


@pytest.mark.slow
@given(histories)
@settings(max_examples=250, phases=[Phase.generate])
def test_no_two_readers_disagree_over_ten_thousand_histories(history: History) -> None:
    """The same over 250 stores of forty jobs with a history each."""
    _check(history)
