"""A job's usual pace lasts over windows: what began before one is found in it, until it is mended or accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Finding, Subject
from datamodel.reports.layout import Layout
from datamodel.reports.report import Detectability, FeedSummary, Iteration, Provenance, Report, Window
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import Baseline
from flowprism.analysis.scan_verdict import judge_report
from flowprism.service.incidents.baselines import ComparedWindow, compare_window
from flowprism.service.incidents.incident_lifecycle import IncidentOptions, after_scan
from strategy.assumptions import BY_CONVENTION
from tests.storage.database import results

SECOND = 1_000_000_000
WINDOW_S, EVERY_S = 120, 60
LAYOUT = Layout(tp=8, dp=2, pp=1, confidence=0.99)


@dataclass
class Scans:
    """Windows of one job, one after the other, with what lasts from one to the next."""

    baselines: dict[str, Baseline] = field(default_factory=dict)
    incidents: tuple[Incident, ...] = ()
    events: list[str] = field(default_factory=list)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    edges: list[int] = field(default_factory=lambda: [0])

    def run(self, seconds: float, windows: int, layout: Layout = LAYOUT, finding: Finding | None = None) -> None:
        """Let iterations take `seconds` for some windows, scanned one by one; the first shows `finding`."""
        for number in range(windows):
            until = self.edges[-1] + EVERY_S * SECOND
            while self.edges[-1] < until:
                self.edges.append(self.edges[-1] + round(seconds * SECOND * (1 + 0.01 * self.random.normal())))
            self.scan(layout, [finding] if finding is not None and not number else [])

    def scan(self, layout: Layout, findings: Sequence[Finding]) -> ComparedWindow:
        """Scan the newest window."""
        end_ns = self.edges[-1] + 1
        window = Window(start_ns=end_ns - WINDOW_S * SECOND, end_ns=end_ns)
        inside = [n for n in range(1, len(self.edges)) if self.edges[n] > window.start_ns]
        steps = tuple(Iteration(index=n, start_ns=self.edges[n - 1], end_ns=self.edges[n]) for n in inside)
        seen = Detectability(timeline_error_ratio=0.001, smallest_slowdown_ratio=1.05)
        times = {"iterations": steps, "layout": layout, "detectability": seen, "period_s": 3.0}
        job = results.job("j").model_copy(update=times)
        report = Report(
            provenance=Provenance(version="0"), window=window, feed=FeedSummary(records=1, bytes=1), jobs=(job,),
            findings=tuple(findings),
        )  # fmt: skip
        known = [one for one in self.incidents if one.state != "resolved"]
        analysis = Analysis(report, Timelines(Frame(SPANS, {name: [] for name in SPANS.required}), (), (), ()), {})
        compared = compare_window(analysis, self.baselines, known, {})
        self.baselines |= {one.job: one for one in compared.baselines}
        self.events += [one.detail for one in compared.events]
        scan = judge_report(compared.report)
        after = after_scan(self.incidents, scan, end_ns, IncidentOptions(), {"j"}, compared.over)
        self.incidents = after.incidents
        return compared

    def states(self) -> list[tuple[str, str]]:
        """Kind and state of each incident."""
        return [(one.kind, one.state) for one in self.incidents]

    def accept(self) -> None:
        """Accept the newest incident's slowdown now."""
        start_ns = max(one.start_ns for one in self.incidents)
        self.baselines["j"] = Baseline("j", start_ns, self.edges[-1], "accepted", "ann")


def slow_link(at_ns: int, ratio: float = 1.12) -> Finding:
    """A link that is slow since a time, as the window that shows its onset tells it."""
    return Finding(
        id="f", job="j", kind="slow_link", severity="warning", start_ns=at_ns, end_ns=None, confidence=0.9,
        slowdown_ratio=ratio, subject=Subject(type="link", ids=("leaf", "10.0.0.1")), summary="a link", action="swap",
    )  # fmt: skip


def test_slowdown_from_before_every_window_is_found_until_it_ends() -> None:
    """As after a restart of the service: no window shows the onset, and each is 12 % slower than the baseline."""
    scans = Scans()
    scans.run(3.0, 5)
    scans.edges.append(scans.edges[-1] + 3600 * SECOND)  # nothing was scanned for an hour
    scans.edges.append(scans.edges[-1] + 3 * SECOND)
    scans.edges += [scans.edges[-1] + round(3.36 * SECOND * n) for n in range(1, 40)]
    scans.run(3.36, 40)
    assert scans.states() == [("regression", "open")]
    assert scans.incidents[0].slowdown_ratio == pytest.approx(1.12, abs=0.02)
    assert scans.baselines["j"].iteration_ns == pytest.approx(3.0e9, rel=0.01)
    scans.run(3.0, 5)
    assert scans.states() == [("regression", "resolved")]


def test_located_incident_stays_open_in_windows_behind_its_onset() -> None:
    """Only the window of the onset names the link; forty more are as slow, and it is one incident all the while."""
    scans = Scans()
    scans.run(3.0, 5)
    scans.run(3.36, 40, finding=slow_link(scans.edges[-1]))
    assert scans.states() == [("slow_link", "open")]
    assert scans.incidents[0].scans_seen == 40
    assert scans.incidents[0].subject.ids == ("leaf", "10.0.0.1")
    scans.run(3.0, 5)
    assert scans.states() == [("slow_link", "resolved")]


def test_unlocated_slowdown_with_the_onset_of_a_located_one_is_the_same_incident() -> None:
    """A window that holds few iterations before the onset says only that the job is slower."""
    scans = Scans()
    scans.run(3.0, 5)
    onset_ns = scans.edges[-1]
    scans.run(3.36, 2, finding=slow_link(onset_ns))
    whole = {"kind": "regression", "subject": Subject(type="job", ids=("j",)), "start_ns": onset_ns + 4 * SECOND}
    scans.run(3.36, 2, finding=slow_link(onset_ns).model_copy(update=whole))
    assert scans.states() == [("slow_link", "open")]


def test_healthy_job_keeps_its_baseline_and_has_no_incident() -> None:
    """A creeping slowdown, 1 % an hour, never moves the baseline after it, and is found once it exceeds 5 %."""
    scans = Scans()
    for step in range(8):
        scans.run(3.0 * (1 + 0.01 * step), 20)
        if step < 4:
            assert scans.states() == []
    assert scans.baselines["j"].iteration_ns == pytest.approx(3.0e9, rel=0.015)
    assert scans.states() == [("regression", "open")]


def test_accepted_change_ends_the_incident_and_is_the_baseline_from_then_on() -> None:
    """The next scan resolves it; the new pace is usual, and what is slower than that is a new incident."""
    scans = Scans()
    scans.run(3.0, 5)
    scans.run(3.6, 3, finding=slow_link(scans.edges[-1], 1.2).model_copy(update={"kind": "regression"}))
    scans.accept()
    scans.run(3.6, 1)
    assert scans.states() == [("regression", "resolved")]
    assert [event.partition(":")[0] for event in scans.events] == ["accepted by ann"]
    scans.run(3.6, 20)
    assert [one.state for one in scans.incidents] == ["resolved"]
    scans.run(4.1, 5)
    assert [one.state for one in scans.incidents].count("open") == 1


def test_changed_layout_begins_a_baseline() -> None:
    """More replicas, longer iterations: no incident, an event, and the new pace is usual."""
    scans = Scans()
    scans.run(3.0, 5)
    scans.run(3.6, 10, layout=LAYOUT.model_copy(update={"dp": 4}))
    assert scans.states() == []
    assert [event.partition(":")[0] for event in scans.events] == ["the layout has changed"]
    assert scans.baselines["j"].iteration_ns == pytest.approx(3.6e9, rel=0.01)
    scans.run(3.6, 3, layout=LAYOUT.model_copy(update={"dp": 2, "confidence": 0.5}))  # too unsure to be a change
    assert len(scans.events) == 1
    rests = {"dp": 2, "confidence": 0.5, "assumed": (BY_CONVENTION,)}  # every window answers so
    scans.run(3.6, 3, layout=LAYOUT.model_copy(update=rests))
    assert len(scans.events) == 2


def test_quicker_pace_of_a_whole_window_is_the_new_baseline() -> None:
    """After a mended fault that was there from the beginning; going back to the old pace is a slowdown then."""
    scans = Scans()
    scans.run(3.36, 5)
    scans.run(3.0, 5)
    assert scans.baselines["j"].iteration_ns == pytest.approx(3.0e9, rel=0.01)
    scans.run(3.36, 6)
    assert scans.states() == [("regression", "open")]


def test_doubted_window_neither_measures_nor_compares() -> None:
    """Where the feed has holes iterations look longer than they were."""
    scans = Scans()
    scans.run(3.0, 5)
    before = replace(scans.baselines["j"])
    compared = scans.scan(LAYOUT, [])
    analysis = Analysis(compared.report, Timelines(Frame(SPANS, {n: [] for n in SPANS.required}), (), (), ()), {})
    assert compare_window(analysis, {}, (), {"j": "a hole"}).baselines == ()
    assert scans.baselines["j"].made_ns == before.made_ns
