from __future__ import annotations

from urllib.parse import parse_qsl

from flowprism.dashboard.time_range import TimeRange, asked_range, read_time, written

HOUR_NS = 3600 * 10**9


def test_times_come_back_as_they_were_written() -> None:
    """To the millisecond; without a zone they are UTC."""
    for text in ("2026-11-20T15:20:59Z", "2026-11-20T15:20:59.250Z"):
        assert written(read_time(text)) == text
    assert read_time("2026-11-20T16:20:59+01:00") == read_time("2026-11-20 15:20:59")


def test_ranges_move_and_scale_about_their_middle() -> None:
    """Half a length earlier, half as long, and the usual length before one end."""
    span = asked_range("", "2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z", 0)
    assert span.moved(-0.5) == "?from=2026-11-20T09%3A00%3A00Z&to=2026-11-20T11%3A00%3A00Z"
    assert span.scaled(0.5) == "?from=2026-11-20T10%3A30%3A00Z&to=2026-11-20T11%3A30%3A00Z"
    until = asked_range("", "", "2026-11-20T12:00:00Z", 0)
    assert until.end_ns - until.start_ns == HOUR_NS


def test_no_range_is_too_short_to_be_asked_for() -> None:
    """What is shown may be shorter than a second; closer, later and earlier lead to a second of it."""
    span = TimeRange(1_795_188_056_768_000_000, 1_795_188_057_316_000_000)
    for query in (span.scaled(0.5), span.moved(0.5), span.moved(-0.5)):
        asked = dict(parse_qsl(query[1:]))
        found = asked_range("", asked["from"], asked["to"], 0)
        assert found.end_ns - found.start_ns == 10**9
