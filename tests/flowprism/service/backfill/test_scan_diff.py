"""What of two looks at one window is told as different."""

from __future__ import annotations

import pytest

from datamodel.reports.findings import Finding, Subject
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.scan import JobScan, Scan
from datamodel.service.result_rows import LayoutRecord
from flowprism.service.backfill.scan_diff import Difference, differences
from tests.storage.database.results import job, kept

LINK = ("leaf2", "10.2.3.2")


def finding(ratio: float = 1.5, cause: str | None = None) -> Finding:
    """A slow link that costs so much."""
    return Finding(
        id="f", job="j", kind="slow_link", cause=cause, severity="critical", start_ns=0, end_ns=None, confidence=1,
        slowdown_ratio=ratio, subject=Subject(type="link", ids=LINK), summary="s", action="a",
    )  # fmt: skip


def scan(**said: object) -> Scan:
    """A scan of one job."""
    one = {"id": "j", "label": None, "verdict": "findings", "endpoints": 8, "iterations": 10, "period_s": 1.0} | said
    judged = JobScan.model_validate(one)
    return kept(60 * 10**9, "p").scan.model_copy(update={"verdict": judged.verdict, "jobs": (judged,)})


def told(then: Scan, now: Scan) -> list[tuple[str, str, str]]:
    """What differs, in short."""
    return [(one.what, one.then, one.now) for one in differences(then, now, {}, {})]


@pytest.mark.parametrize("now", [{}, {"period_s": 1.005}, {"findings": (finding(1.505),)}])
def test_what_nobody_would_act_on_is_the_same(now: dict[str, object]) -> None:
    """The same scan, and figures within a hundredth of what they were, are no difference."""
    then = scan(findings=(finding(),)) if "findings" in now else scan()
    assert told(then, scan(**now)) == []


def test_each_thing_that_differs_is_told() -> None:
    """Verdict, iterations, period and findings, with what was told then and what is now."""
    then = scan(findings=(finding(),))
    now = scan(verdict="healthy", iterations=11, period_s=1.1)
    assert told(then, now) == [
        ("verdict", "findings", "healthy"),
        ("job", "8 endpoints, findings", "8 endpoints, healthy"),
        ("iterations", "10", "11"),
        ("period", "1 s", "1.1 s"),
        ("finding", "critical slow_link at link leaf2, 10.2.3.2, 50 % slower", "none"),
    ]
    other = scan(findings=(finding(1.3, "loss"),))
    assert told(then, other) == [
        (
            "finding",
            "critical slow_link at link leaf2, 10.2.3.2, 50 % slower",
            "critical slow_link (loss) at link leaf2, 10.2.3.2, 30 % slower",
        )
    ]


def test_a_job_that_was_not_seen() -> None:
    """One that only one of the looks shows is told once."""
    (found,) = differences(scan(), scan(id="k"), {}, {})[:1]
    assert found == Difference("job", "j", "8 endpoints, findings", "not seen")


def test_layouts_and_groups() -> None:
    """Another size or another member of a group is told; how sure it is is not."""
    report = job("j")
    layout = Layout(tp=8, dp=4, pp=2, confidence=0.5)
    now = report.model_copy(update={"layout": layout.model_copy(update={"confidence": 0.9}), "groups": Groups()})
    same = LayoutRecord("j", 0, layout, Groups())
    assert differences(scan(), scan(), {"j": same}, {"j": now}) == []
    other = LayoutRecord("j", 0, layout.model_copy(update={"dp": 8}), Groups())
    (found,) = differences(scan(), scan(), {"j": other}, {"j": now})
    assert (found.what, found.job) == ("layout", "j")
    assert found.then != found.now
    moved = LayoutRecord("j", 0, layout, Groups(dp=(("10.0.0.1", "10.0.0.2"),)))
    (found,) = differences(scan(), scan(), {"j": moved}, {"j": now})
    assert (found.what, found.then, found.now) == ("groups", "1 dp", "none")
