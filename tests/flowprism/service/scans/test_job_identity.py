"""Names of jobs last while most of their endpoints do."""

from __future__ import annotations

from datamodel.frame import empty
from datamodel.reconstructed.timeline import SPANS, Timelines
from datamodel.reconstructed.transfers import PAIRS
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event, Finding, Subject
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, JobReport, Provenance, Report, Window
from datamodel.service.result_rows import JobRecord
from flowprism.service.scans.job_identity import assign_stable_ids, renamed


def job(name: str, endpoints: str, label: str | None = None) -> JobReport:
    """A job of endpoints that are named by letters."""
    return JobReport(
        id=name,
        label=label,
        endpoints=tuple(endpoints),
        layout=Layout(confidence=0.5),
        groups=Groups(),
        detectability=Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None),
    )


def known(name: str, endpoints: str, label: str | None = None, seen_ns: int = 10) -> JobRecord:
    """The same, seen before."""
    return JobRecord(name, label, None, 1, seen_ns, None, None, tuple(endpoints), ())


def test_most_endpoints_keep_the_name() -> None:
    """Three of four: the same job. Half: another one."""
    before = [known("old", "abcd")]
    assert assign_stable_ids([job("new", "abcx")], before, 20) == {"new": "old"}
    assert assign_stable_ids([job("new", "abxy")], before, 20) == {"new": "new"}
    assert assign_stable_ids([job("new", "abcdefgh")], before, 20) == {"new": "new"}


def test_labels_tell_jobs_apart() -> None:
    """The same endpoints with another label are another job; a label that is missing says nothing."""
    before = [known("old", "abcd", "llama")]
    assert assign_stable_ids([job("new", "abcd", "qwen")], before, 20) == {"new": "new"}
    assert assign_stable_ids([job("new", "abcd")], before, 20) == {"new": "old"}


def test_each_name_is_given_once() -> None:
    """Of two jobs seen at different times on the same endpoints the better, then the later one lends its name."""
    before = [known("a", "abcd", seen_ns=5), known("b", "abcd", seen_ns=9), known("c", "abce", seen_ns=10)]
    assert assign_stable_ids([job("new", "abcd")], before, 20) == {"new": "b"}
    both = assign_stable_ids([job("x", "abcd"), job("y", "abcf")], [known("a", "abcd")], 20)
    assert both == {"x": "a", "y": "y"}


def test_a_name_that_is_taken_is_not_given_again() -> None:
    """A job moved away from its first endpoints; who trains there now is somebody else."""
    before = [known("1st", "uvwx")]
    names = assign_stable_ids([job("1st", "abcd"), job("moved", "uvwx")], before, 20)
    assert names["moved"] == "1st"
    assert names["1st"] not in {"1st", "moved"}
    assert names == assign_stable_ids([job("1st", "abcd"), job("moved", "uvwx")], before, 20)


def test_renamed_everywhere() -> None:
    """Jobs, findings with subjects and sentences, events, timelines and pair tables get the lasting name."""
    finding = Finding(
        id="f",
        job="new",
        kind="regression",
        severity="info",
        start_ns=1,
        end_ns=None,
        confidence=0.5,
        slowdown_ratio=1.1,
        subject=Subject(type="job", ids=("new",)),
        summary="job new is slower; newly so",
        action="ask its owner",
    )
    report = Report(
        provenance=Provenance(version="1"),
        window=Window(start_ns=0, end_ns=9),
        feed=FeedSummary(records=1, bytes=1),
        jobs=(job("new", "abcd"), job("same", "ef")),
        events=(Event(job="same", kind="start", start_ns=1, end_ns=1, detail="beside new"),),
        findings=(finding,),
    )
    analysis = Analysis(report, Timelines(empty(SPANS), (), ("new", "same"), ()), {"new": empty(PAIRS)})
    told = renamed(analysis, {"new": "old", "same": "same"})
    assert [one.id for one in told.report.jobs] == ["old", "same"]
    assert told.report.findings[0].job == "old"
    assert told.report.findings[0].subject.ids == ("old",)
    assert told.report.findings[0].summary == "job old is slower; newly so"
    assert told.report.events[0].detail == "beside old"
    assert (told.timelines.jobs, list(told.pairs)) == (("old", "same"), ["old"])
    assert renamed(analysis, {"new": "new"}) is analysis
