from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from flowprism.dashboard.clock import Clock, zone_named
from flowprism.dashboard.page_templates import environment

NOW_NS = 1_800_000_000 * 10**9  # 2027-01-15 08:00:00 UTC
BERLIN = Clock(NOW_NS, ZoneInfo("Europe/Berlin"), "Europe/Berlin")


def _when(clock: Clock, time_ns: int) -> str:
    template = environment().from_string('{% import "parts.html" as parts %}{{ parts.when(clock, time_ns) }}')
    return template.render(clock=clock, time_ns=time_ns)


def test_times_are_the_viewers_with_utc_beside() -> None:
    """An hour apart in winter; today's go without the date."""
    assert _when(BERLIN, NOW_NS) == (
        '<time datetime="2027-01-15T08:00:00Z"><span>09:00:00</span> <span class="utc">08:00:00 UTC</span></time>'
    )


def test_utc_is_said_once() -> None:
    """Where the viewer's clock shows UTC, one time is enough."""
    assert _when(Clock(NOW_NS), NOW_NS) == '<time datetime="2027-01-15T08:00:00Z">08:00:00 UTC</time>'


def test_another_days_time_has_its_date_in_either_zone() -> None:
    """Midnight falls differently."""
    late_ns = NOW_NS - 8 * 3600 * 10**9 - 1800 * 10**9  # 23:30 UTC the day before, 00:30 in Berlin
    assert BERLIN.day_time(late_ns) == "00:30:00"
    assert BERLIN.utc(late_ns) == "2027-01-14 23:30:00 UTC"


@pytest.mark.parametrize("name", ["", "nowhere", "../../etc/passwd", "/etc/localtime", "a" * 300, "Europe", "\0"])
def test_what_is_no_zone_is_utc(name: str) -> None:
    """A cookie says anything."""
    assert zone_named(name) is UTC


@pytest.mark.parametrize(
    ("past_s", "words"),
    [(0, "just now"), (40, "40 s ago"), (720, "12 min ago"), (7800, "2 h 10 min ago"), (3 * 86400, "3 days ago")],
)
def test_how_long_ago_in_words(past_s: int, words: str) -> None:
    """As one would say it."""
    assert BERLIN.ago(NOW_NS - past_s * 10**9) == words
