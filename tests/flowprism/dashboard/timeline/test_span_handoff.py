from __future__ import annotations

from flowprism.dashboard.timeline.span_handoff import LONGEST_S, MOST, Handing


def test_what_was_left_is_taken_once() -> None:
    """By its name; there is nothing for another name, and nothing the second time."""
    handing = Handing[str]()
    handing.leave("a", "spans")
    assert [handing.take("b"), handing.take("a"), handing.take("a")] == [None, "spans", None]


def test_the_oldest_makes_room() -> None:
    """However many pages are opened, a few are kept."""
    handing = Handing[int]()
    for number in range(MOST + 1):
        handing.leave(number, number)
    assert [handing.take(number) for number in range(MOST + 1)] == [None, *range(1, MOST + 1)]


def test_what_nobody_comes_for_is_let_go() -> None:
    """After a while it is not what the store would tell now."""
    now_s = 0.0
    handing = Handing[str](lambda: now_s)
    handing.leave("a", "old")
    now_s = LONGEST_S + 1
    assert handing.take("a") is None
