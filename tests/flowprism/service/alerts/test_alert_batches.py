"""Which alerts go together, when, and in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodel.service.alerts import OutgoingAlert
from datamodel.service.result_rows import IncidentNote
from flowprism.service.alerts.alert_batches import (
    MOST_TOGETHER,
    acknowledged,
    compute_retry_delay_s,
    muting,
    next_message,
)
from flowprism.service.alerts.alert_settings import AlertSettings, Grouping
from flowprism.service.alerts.outbox import alert
from flowprism.service.alerts.send_limit import SendLimit
from tests.storage.database import results


def outgoing(incident: str, created_ns: int, job: str = "j1", **others: object) -> OutgoingAlert:
    """An alert that is due ten later than it was created."""
    told = alert(results.incident(incident, job), "opened", created_ns, None, None, AlertSettings())
    return replace(OutgoingAlert("hook", created_ns, created_ns + 10, told), **others)  # type: ignore[arg-type]


def names(chosen: list[OutgoingAlert]) -> list[str]:
    """Of their incidents."""
    return [one.alert.incident.id for one in chosen]


WAITING = [outgoing("a", 0, "j1"), outgoing("b", 5, "j2"), outgoing("c", 6, "j1"), outgoing("d", 9, "j2")]


def test_the_first_waits_for_others() -> None:
    """Nothing before the first is due; then all of its group that is there."""
    assert next_message(WAITING, "job", 9) == []
    assert names(next_message(WAITING, "job", 10)) == ["a", "c"]


@pytest.mark.parametrize(("by", "expected"), [("all", ["a", "b", "c", "d"]), ("job", ["a", "c"]), ("incident", ["a"])])
def test_messages_are_about_what_was_asked_for(by: Grouping, expected: list[str]) -> None:
    """One incident, one job, or all there is."""
    assert names(next_message(WAITING, by, 100)) == expected


def test_what_was_tried_together_goes_together() -> None:
    """What came since waits, so that a repetition is the same message."""
    tried = [replace(one, message="m1", attempts=1, due_ns=50) for one in WAITING[:2]]
    assert next_message([*tried, *WAITING[2:]], "all", 49) == []
    assert next_message([*tried, *WAITING[2:]], "all", 50) == tried


def test_a_refused_group_holds_up_no_other() -> None:
    """Of another job more may be told meanwhile."""
    tried = replace(WAITING[0], message="m1", attempts=1, due_ns=1000)
    assert names(next_message([tried, *WAITING[1:]], "job", 100)) == ["b", "d"]


def test_a_message_has_bounds() -> None:
    """Of very many the oldest go first."""
    many = [outgoing(f"i{n}", n) for n in range(MOST_TOGETHER + 5)]
    assert next_message(many, "all", 1000) == many[:MOST_TOGETHER]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.sampled_from(["", "m1", "m2"])), max_size=12),
    st.sampled_from(["incident", "job", "all"]),
    st.integers(0, 100),
)
def test_nothing_overtakes(drawn: list[tuple[int, int, str]], by: Grouping, now_ns: int) -> None:
    """Of one incident nothing is told before what came earlier and still waits, unless it goes along."""
    waiting = [
        outgoing(f"i{incident}", 10 * n, due_ns=due_ns, message=message or None)
        for n, (incident, due_ns, message) in enumerate(sorted(drawn, key=lambda one: one[2] or "z"))
    ]
    chosen = next_message(waiting, by, now_ns)
    assert not chosen or chosen[0].due_ns <= now_ns
    for one in chosen:
        earlier = [o for o in waiting if o.alert.incident.id == one.alert.incident.id and o.created_ns < one.created_ns]
        assert all(o in chosen for o in earlier)


def test_waits_double_up_to_five_minutes() -> None:
    """And are never shorter than the receiver asked for."""
    assert [compute_retry_delay_s(n, 0) for n in (1, 2, 3, 7, 2000)] == [5, 10, 20, 300, 300]
    assert compute_retry_delay_s(1, 60) == 60


def note(kind: str, time_ns: int = 10, until_ns: int | None = None) -> IncidentNote:
    """What ada did."""
    return IncidentNote("i1", time_ns, "ada", kind, "why", until_ns)  # type: ignore[arg-type]


def test_a_mute_holds_until_it_ends() -> None:
    """By its time, by an unmute, or by a mute that came later; comments change nothing."""
    assert muting([], 20) is None
    assert muting([note("muted"), note("comment", 11)], 20) == note("muted")
    assert muting([note("muted", until_ns=20)], 19)
    assert muting([note("muted", until_ns=20)], 20) is None
    assert muting([note("muted"), note("unmuted", 11)], 20) is None
    assert muting([note("muted"), note("muted", 11, until_ns=15)], 20) is None


def test_an_acknowledgement_holds_until_it_gets_worse() -> None:
    """Whoever said that they look after it did not know of what came later."""
    assert acknowledged([note("acknowledged", 10)], 10)
    assert not acknowledged([note("acknowledged", 10)], 11)
    assert not acknowledged([note("comment", 12)], 11)


def test_a_receiver_gets_so_many_a_minute() -> None:
    """In any minute, not in each that begins with a full one."""
    pace = SendLimit(2)
    assert [pace.allows(now_s) for now_s in (0, 50, 59, 60, 61, 110, 111)] == [
        True,
        True,
        False,
        True,
        False,
        True,
        False,
    ]
