"""Incidents over scans: opened after confirmation, updated, resolved with patience, reopened rather than repeated."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.reports.findings import Finding, Severity, Subject, SubjectType, Suspect
from datamodel.reports.report import FeedSummary, Window
from datamodel.reports.scan import JobScan, Scan, Verdict
from datamodel.service.incidents import Incident, IncidentUpdate
from flowprism.service.incidents import incident_lifecycle
from flowprism.service.incidents.incident_lifecycle import IncidentOptions, after_scan

S = 1_000_000_000
STATES = {"suspected": "suspected", "opened": "open", "reopened": "open", "resolved": "resolved"}
EVERY_S = 60
OPTIONS = IncidentOptions(confirming_scans=2, quiet_scans=3, reopen_within_s=600)


def finding(
    where: str | Sequence[str] = "10.0.0.1",
    severity: Severity = "warning",
    kind: SubjectType = "endpoint",
    suspects: Sequence[str] = (),
    start_s: int = 0,
) -> Finding:
    """Something wrong with an endpoint or a set of them."""
    ids = (where,) if isinstance(where, str) else tuple(where)
    return Finding(
        id=f"{ids}",
        job="j1",
        kind="straggler",
        severity=severity,
        start_ns=start_s * S,
        end_ns=None,
        confidence=0.9,
        slowdown_ratio=1.2,
        subject=Subject(type=kind, ids=ids),
        suspects=tuple(Suspect(type="endpoint", ids=(s,), probability=1 / len(suspects)) for s in suspects),
        summary=f"{ids} is late",
        action="look",
    )


def scan(findings: Sequence[Finding], verdict: Verdict = "healthy", end_s: int = 1) -> Scan:
    """A scan of the one job."""
    said: Verdict = "findings" if findings else verdict
    job = JobScan(id="j1", label=None, verdict=said, findings=tuple(findings))
    return Scan(
        verdict=said, window=Window(start_ns=0, end_ns=end_s * S), feed=FeedSummary(records=1, bytes=1), jobs=(job,)
    )


def over(scans: Sequence[Sequence[Finding] | Verdict], options: IncidentOptions = OPTIONS) -> list[IncidentUpdate]:
    """What is known after each of the scans, a minute apart; a verdict stands for a scan without findings."""
    known: tuple[Incident, ...] = ()
    steps = []
    for n, found in enumerate(scans):
        one = scan([], found, n * EVERY_S) if isinstance(found, str) else scan(found, end_s=n * EVERY_S)
        steps.append(after_scan(known, one, n * EVERY_S * S, options, {"j1"}))
        known = steps[-1].incidents
    return steps


def history(steps: Sequence[IncidentUpdate]) -> list[str]:
    """All that happened, in order."""
    return [change.kind for step in steps for change in step.changes]


def test_a_finding_opens_when_it_is_confirmed() -> None:
    """Seen once it is suspected, seen twice it is open, and nothing is repeated while it stays."""
    steps = over([[finding()]] * 5)
    assert history(steps) == ["suspected", "opened"]
    (incident,) = steps[-1].incidents
    assert (incident.state, incident.scans_seen, incident.opened_ns) == ("open", 5, EVERY_S * S)


def test_one_window_alone_opens_nothing() -> None:
    """However bad it looks, a second scan must have seen it; getting worse and better is history."""
    once: list[Sequence[Finding] | Verdict] = [[finding(severity="critical")], "healthy", "healthy", "healthy"]
    assert history(over(once)) == ["suspected", "dismissed"]
    steps = over([[finding(severity="warning")], [finding(severity="critical")], [finding(severity="warning")]])
    assert history(steps) == ["suspected", "escalated", "opened", "eased"]
    assert steps[-1].incidents[0].worst_severity == "critical"


def test_one_clean_scan_resolves_nothing() -> None:
    """It takes three scans in a row that could have seen it; one that sees it begins the count anew."""
    seen: list[Sequence[Finding] | Verdict] = [[finding()], [finding()]]
    steps = over([*seen, "healthy", "healthy", [finding()], "healthy", "healthy", "healthy"])
    assert history(steps) == ["suspected", "opened", "resolved"]
    assert steps[-1].incidents[0].resolved_ns == 7 * EVERY_S * S


def test_a_scan_that_cannot_tell_says_nothing() -> None:
    """Neither confirms nor resolves: the incident stays as it was."""
    seen: list[Sequence[Finding] | Verdict] = [[finding()], [finding()]]
    blind: list[Sequence[Finding] | Verdict] = ["unknown"] * 10
    steps = over([*seen, *blind])
    assert history(steps) == ["suspected", "opened"]
    assert steps[-1].incidents == steps[1].incidents


def test_a_suspicion_that_does_not_come_back_is_dismissed() -> None:
    """It leaves no incident behind."""
    steps = over([[finding()], "healthy", "healthy", "healthy"])
    assert history(steps) == ["suspected", "dismissed"]
    assert not steps[-1].incidents


def test_a_suspicion_about_a_job_that_is_gone_is_dismissed() -> None:
    """While other jobs are still seen; a window without any tells nothing."""
    suspected = over([[finding()]])[-1].incidents
    assert history(alone(suspected, {"j2"}, 3)) == ["dismissed"]
    assert history(alone(suspected, set(), 3)) == []


def test_a_hang_is_confirmed_by_silence() -> None:
    """A hung job is in no window that begins behind its end."""
    hung = [finding().model_copy(update={"kind": "hang"})]
    steps = alone(over([hung])[-1].incidents, {"j2"}, 3)
    assert history(steps) == ["opened"]
    assert steps[-1].incidents[0].opened_ns == EVERY_S * S


def test_an_incident_whose_job_is_gone_is_over() -> None:
    """Not at once: the job may come back, and the incident is the same one then."""
    opened = over([[finding()], [finding()]])[-1].incidents
    steps = alone(opened, {"j2"}, 13)
    assert history(steps) == ["resolved"]
    assert [change.detail for step in steps for change in step.changes] == ["its job is gone"]
    assert steps[-1].incidents[0].resolved_ns == 12 * EVERY_S * S


def alone(known: Sequence[Incident], present: set[str], scans: int) -> list[IncidentUpdate]:
    """What is known after so many scans of a job that is in no window any more."""
    steps = []
    for n in range(1, scans + 1):
        verdict = scan([], end_s=n * EVERY_S).model_copy(update={"jobs": ()})
        steps.append(after_scan(known, verdict, n * EVERY_S * S, OPTIONS, present))
        known = steps[-1].incidents
    return steps


def test_a_flapping_link_is_one_incident() -> None:
    """What comes back within the time is reopened at once; later it is another incident."""
    steps = over([[finding()], [finding()], "healthy", "healthy", "healthy", [finding(start_s=300)]])
    assert history(steps) == ["suspected", "opened", "resolved", "reopened"]
    assert [i.times_reopened for i in steps[-1].incidents] == [1]
    quiet: list[Sequence[Finding] | Verdict] = ["healthy"] * 20
    later = over([[finding()], [finding()], *quiet, [finding(start_s=1300)], [finding(start_s=1300)]])
    assert history(later) == ["suspected", "opened", "resolved", "suspected", "opened"]
    assert len({i.id for i in later[-1].incidents}) == 2


def test_an_incident_that_came_back_keeps_the_times_in_which_it_was_so() -> None:
    """What lies between is none of its time, whatever a later window says of its begin; findings are one a time."""
    first = finding().model_copy(update={"end_ns": 70 * S})
    back = [finding(start_s=320), finding(start_s=310), finding(start_s=30)]
    steps = over([[first], [first], "healthy", "healthy", "healthy", *([one] for one in back)])
    (before,), (after,) = steps[4].incidents, steps[5].incidents
    assert (before.earlier_ns, before.since_ns) == ((), None)
    assert [(f.start_ns, f.end_ns) for f in before.stretches(10**12)] == [(0, 70 * S)]
    assert (after.start_ns, after.earlier_ns, after.since_ns) == (0, ((0, 70 * S),), 320 * S)
    (last,) = steps[-1].incidents
    assert last.since_ns == 70 * S
    assert [i.since_ns for i in steps[6].incidents] == [310 * S]
    assert [(f.start_ns, f.end_ns) for f in after.stretches(10**12)] == [(0, 70 * S), (320 * S, None)]
    assert {f.id for f in after.stretches(10**12)} == {after.id}


def test_an_incident_that_comes_and_goes_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest times are joined."""
    monkeypatch.setattr(incident_lifecycle, "MOST_STRETCHES", 3)
    flapping: list[Sequence[Finding] | Verdict] = [[finding()]]
    for n in range(1, 8):
        end = {"end_ns": (n * 240 + 10) * S}
        flapping += [[finding(start_s=n * 240).model_copy(update=end)], "healthy", "healthy", "healthy"]
    (one,) = over(flapping)[-1].incidents
    assert one.times_reopened == 6
    assert len(one.earlier_ns) == 3
    assert one.earlier_ns[0][0] == 0
    assert all(start < end for start, end in one.earlier_ns)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (finding(["a", "b"], kind="group"), finding("a")),
        (finding("a"), finding("b", suspects=["a", "b"])),
        (finding("b", suspects=["a", "b"]), finding("a")),
        (finding(["a", "b", "c"], kind="group"), finding(["a", "b", "d"], kind="group")),
    ],
)
def test_a_place_known_better_or_worse_is_the_same_incident(before: Finding, after: Finding) -> None:
    """A group and its member, suspects and one of them: one incident that moves, not two."""
    steps = over([[before], [after]])
    assert history(steps) == ["suspected", "opened", "relocated"]
    assert len(steps[-1].incidents) == 1
    assert steps[-1].incidents[0].subject == after.subject


def test_what_happens_twice_in_a_window_is_one_incident() -> None:
    """Two findings about the same link are the later one, begun with the first."""
    steps = over([[finding(start_s=4), finding(start_s=9, severity="info")]])
    assert [(i.start_ns, i.severity) for i in steps[-1].incidents] == [(4 * S, "info")]


def test_two_faults_of_one_kind_stay_two() -> None:
    """Each finding goes to the incident it is most alike, whatever the order they are told in."""
    one, two = finding("a"), finding(["a", "b"], kind="group", start_s=5)
    steps = over([[one, two], [two, one]])
    assert sorted(i.subject.ids for i in steps[-1].incidents) == [("a",), ("a", "b")]
    assert history(steps) == ["suspected", "suspected", "opened", "opened"]


def cable(ports: tuple[int, int] | None, start_s: int) -> Finding:
    """A slow cable between two switches that several join, by its ports where they are known."""
    named = finding(["leaf1", "spine1"], kind="link", start_s=start_s)
    a_port, b_port = ports or (None, None)
    return named.model_copy(
        update={"subject": named.subject.model_copy(update={"a_port": a_port, "b_port": b_port}), "id": f"{ports}"}
    )


def test_parallel_cables_are_two_incidents() -> None:
    """Each keeps its own, also when the other is gone; a scan that does not know the port means the one there is."""
    steps = over([[cable((1, 2), 4), cable((3, 4), 9)], [cable((3, 4), 4)], [cable((3, 4), 9)], [cable((3, 4), 9)]])
    assert history(steps) == ["suspected", "suspected", "opened", "dismissed"]
    assert [(i.subject.a_port, i.subject.b_port) for i in steps[-1].incidents] == [(3, 4)]
    crossed = over([[cable((1, 2), 4), cable((2, 1), 9)]])
    assert len({i.id for i in crossed[-1].incidents}) == 2
    vague = over([[cable((1, 2), 4)], [cable(None, 4)]])
    assert history(vague) == ["suspected", "opened", "relocated"]


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["healthy", "unknown"]),
            st.lists(
                st.builds(finding, st.sampled_from(["a", "b", ("a", "b")]), st.sampled_from(["info", "critical"])),
                max_size=3,
            ),
        ),
        max_size=14,
    )
)
def test_whatever_comes_the_books_agree(scans: list[Sequence[Finding] | Verdict]) -> None:
    """Each id stands once, an incident opens before it is resolved, and its history tells its state."""
    steps = over(scans)
    told: dict[str, str] = {}
    for step in steps:
        for change in step.changes:
            if change.kind in STATES:
                told[change.incident] = STATES[change.kind]
        ids = [incident.id for incident in step.incidents]
        assert len(ids) == len(set(ids))
        for incident in step.incidents:
            assert told[incident.id] == incident.state
            assert (incident.opened_ns is None) == (incident.state == "suspected")
            assert (incident.resolved_ns is None) == (incident.state != "resolved")


def test_an_older_window_says_nothing_new() -> None:
    """A window that ends before an incident was last seen neither shows it again nor lets it be quiet."""
    steps = over([[finding()], [finding()], [finding()]])
    (known,) = steps[-1].incidents
    for old in (scan([finding(severity="critical")], end_s=90), scan([], end_s=90)):
        after = after_scan((known,), old, 90 * S, OPTIONS, {"j1"})
        assert (after.incidents, after.changes) == ((known,), ())


def test_an_older_window_does_not_reopen() -> None:
    """A fault that is over is not on again because a window of its time is scanned late."""
    steps = over([[finding()], [finding()], "healthy", "healthy", "healthy"])
    (known,) = steps[-1].incidents
    assert known.state == "resolved"
    after = after_scan((known,), scan([finding()], end_s=70), 70 * S, OPTIONS, {"j1"})
    assert (after.incidents, after.changes) == ((known,), ())


@pytest.mark.parametrize("reopen_within_s", [0.0, 600.0])
def test_a_longer_window_does_not_reopen_what_was_over_before(reopen_within_s: float) -> None:
    """A window of an hour still holds a fault that a minute's scans have seen end; one that came again is on again."""
    options = IncidentOptions(confirming_scans=1, quiet_scans=3, reopen_within_s=reopen_within_s)
    steps = over([[finding()], "healthy", "healthy", "healthy"], options)
    (known,) = steps[-1].incidents
    assert known.resolved_ns == 3 * EVERY_S * S
    for end_s in (200, 3000):
        past, again = (finding().model_copy(update={"end_ns": at_s * S}) for at_s in (90, 190))
        after = after_scan((known,), scan([past], end_s=end_s), end_s * S, options, {"j1"})
        assert (after.incidents, after.changes) == ((known,), ())
        after = after_scan((known,), scan([again], end_s=end_s), end_s * S, options, {"j1"})
        assert {change.kind for change in after.changes} <= {"reopened", "opened"}
        assert len(after.changes) == 1
