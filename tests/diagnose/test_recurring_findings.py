"""Findings of periods in a row: what lasts is one, what comes on top is told apart."""

from __future__ import annotations

from datamodel.reports.findings import Evidence, Finding, FindingKind, Subject
from diagnose.recurring_findings import continued, merge_recurring


def finding(who: str, start: int, end: int | None, ratio: float, kind: FindingKind = "straggler") -> Finding:
    """A finding about an endpoint."""
    return Finding(
        id=f"{who}-{start}",
        job="j",
        kind=kind,
        severity="critical",
        start_ns=start,
        end_ns=end,
        confidence=0.9,
        slowdown_ratio=ratio,
        subject=Subject(type="endpoint", ids=(who,)),
        evidence=(
            Evidence(metric="own time", value=ratio, baseline=1.0, unit="s", where=who, window_ns=(start, end or 40)),
        ),
        summary="It computes too long.",
        action="Look.",
    )


def test_what_grows_from_one_period_to_the_next_is_one_finding() -> None:
    """Since its beginning, as grave as at its worst, and it did not come and go."""
    over, on = continued([finding("a", 10, 20, 1.2)], [finding("a", 20, None, 1.5)], [], None, 40)
    assert over == []
    (one,) = on
    assert (one.id, one.start_ns, one.end_ns, one.slowdown_ratio, one.cause) == ("a-10", 10, None, 1.5, None)
    assert [e.window_ns for e in one.evidence] == [(10, 20), (20, 40)]


def test_what_comes_on_top_leaves_the_first_in_place() -> None:
    """Against the best time the two together may look like anything: the whole job, or a third."""
    both = [finding("j", 20, 30, 1.8, "regression")]
    over, on = continued([finding("a", 10, 20, 1.2)], both, [finding("b", 20, 30, 1.5)], 30, 30)
    assert over == []
    assert [(f.subject.ids, f.start_ns, f.end_ns, f.slowdown_ratio) for f in on] == [
        (("a",), 10, 30, 1.2),
        (("b",), 20, 30, 1.5),
    ]
    assert [e.window_ns for e in on[0].evidence] == [(10, 30)]


def test_what_explains_the_next_period_no_more_is_over() -> None:
    """Another cause took its place."""
    over, on = continued([finding("a", 10, 20, 1.5)], [finding("b", 20, None, 1.2)], [], None, 40)
    assert [f.subject.ids for f in over] == [("a",)]
    assert [f.subject.ids for f in on] == [("b",)]


def test_what_pauses_comes_and_goes() -> None:
    """Two periods apart."""
    (one,) = merge_recurring([finding("a", 10, 20, 1.2), finding("a", 30, None, 1.5)], [])
    assert (one.cause, one.start_ns, one.end_ns) == ("flap", 10, None)
