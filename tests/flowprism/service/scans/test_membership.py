"""Who joined a job and who left it is told once, and only where groups tell that everybody was seen."""

from __future__ import annotations

import pytest

from datamodel.reports.layout import Groups
from datamodel.reports.report import JobReport
from datamodel.service.result_rows import JobRecord
from flowprism.service.scans.membership import changes
from tests.storage.database import results

END_NS = 100


def pairs(members: str) -> Groups:
    """Groups of two, of endpoints with names of one letter."""
    return Groups(dp=tuple((members[n], members[n + 1]) for n in range(0, len(members), 2)))


def job(named: str, seen: str = "") -> JobReport:
    """A job whose groups name some, and of which some are seen."""
    return results.job("j").model_copy(update={"endpoints": tuple(seen or named), "groups": pairs(named)})


def known(seen: str, last_seen_ns: int = END_NS - 1) -> dict[str, JobRecord]:
    """What the scan before saw."""
    return {"j": JobRecord("j", None, None, 0, last_seen_ns, None, None, tuple(seen), ())}


def test_who_was_replaced_is_told_with_who_came() -> None:
    """One event, at the end of the window that shows it first."""
    (event,) = changes([job("abef")], known("abcd"), {"j": pairs("abcd")}, END_NS)
    assert (event.kind, event.start_ns, event.end_ns) == ("membership_change", END_NS, END_NS)
    assert event.detail == "e, f joined; c, d left"
    assert event.change is not None
    assert [place.endpoint for place in (*event.change.joiners, *event.change.leavers)] == ["e", "f", "c", "d"]
    assert not list(changes([job("abef")], known("abcd"), {"j": pairs("abcd")}, END_NS, [event]))


@pytest.mark.parametrize(
    ("now", "seen", "before"),
    [
        (job("abcd"), "abcd", "abcd"),
        (job("", "ab"), "abcd", "abcd"),  # no groups are known now
        (job("ab"), "ab", ""),  # none were known
        (job("ab", "abcd"), "abcd", "abcd"),  # still seen, though in no group
        (job("abcd"), "abcd", "ab"),  # seen before, though in no group
    ],
)
def test_what_is_not_known_is_no_change(now: JobReport, seen: str, before: str) -> None:
    """Groups that name nobody, and members that were or are seen all the same."""
    assert not list(changes([now], known(seen), {"j": pairs(before)}, END_NS))


def test_older_windows_and_new_jobs_change_nothing() -> None:
    """A past window scanned late, and a job that nobody knew."""
    assert not list(changes([job("ab")], known("abcd", END_NS + 1), {"j": pairs("abcd")}, END_NS))
    assert not list(changes([job("ab")], {}, {}, END_NS))
