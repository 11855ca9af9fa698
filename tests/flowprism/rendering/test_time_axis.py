"""Ticks of time stand at round times of somebody's day."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from flowprism.rendering.figures.time_axis import time_ticks

BEGIN_NS = 1_795_188_053 * 10**9  # 2026-11-20 15:20:53 UTC


@pytest.mark.parametrize(
    ("span_s", "about", "words"),
    [
        (5, 10, ["15:20:53", "15:20:54", "15:20:55", "15:20:56", "15:20:57", "15:20:58"]),
        (600, 5, ["15:22", "15:24", "15:26", "15:28", "15:30"]),
        (86_400, 4, ["18:00", "21 Nov", "06:00", "12:00"]),
        (30 * 86_400, 3, ["23 Nov", "3 Dec", "13 Dec"]),
        (0, 5, ["15:20:53"]),
    ],
)
def test_ticks_are_round(span_s: int, about: int, words: list[str]) -> None:
    """Seconds where they matter, dates at midnight."""
    ticks = time_ticks(BEGIN_NS, BEGIN_NS + span_s * 10**9, about)
    assert [text for _, text in ticks] == words
    assert all(BEGIN_NS <= at <= BEGIN_NS + span_s * 10**9 for at, _ in ticks)


def test_ticks_are_round_in_the_viewers_zone() -> None:
    """Kolkata is five hours and a half ahead: its whole hours are not UTC's."""
    ticks = time_ticks(BEGIN_NS, BEGIN_NS + 3 * 3600 * 10**9, 3, ZoneInfo("Asia/Kolkata"))
    assert [text for _, text in ticks] == ["21:00", "22:00", "23:00"]
