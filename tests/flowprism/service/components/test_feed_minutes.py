"""Minutes of exporters out of counters that only grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datamodel.durations import MINUTE_NS
from datamodel.service.result_rows import FeedStatistics
from flowprism.service.components.feed_minutes import FeedMinutes
from storage.database.connection import Database
from storage.database.feed_statistics import feed_statistics


def account(agent: str, records: int, lost: int = 0, **rejected: int) -> dict[str, Any]:
    """An exporter as a collector's status tells it."""
    return {"agent": agent, "domain": 1, "datagrams": records // 10, "records": records, "lost": lost,
            "late": 0, "duplicates": 0, "rejected": rejected}  # fmt: skip


class Clock:
    """A clock that stands where it is put."""

    now_ns = 10 * MINUTE_NS

    def __call__(self) -> int:
        """The time, UTC ns."""
        return self.now_ns


def test_minutes_hold_what_came_in_them(tmp_path: Path) -> None:
    """The first account is where counting begins; a new exporter's counts from 0; a minute is what grew in it."""
    database, clock = Database(f"sqlite:///{tmp_path / 'r.sqlite'}"), Clock()
    minutes = FeedMinutes(database, clock)
    minutes.take([account("a", 1000)])
    minutes.take([account("a", 1020, lost=2, broken=1), account("b", 30)])
    clock.now_ns += MINUTE_NS
    minutes.take([account("a", 1030, lost=2, broken=3), account("b", 30)])
    found = feed_statistics(database, 0, 100 * MINUTE_NS)
    assert [(one.exporter, one.start_ns // MINUTE_NS, one.records, one.lost) for one in found] == [
        ("a/1", 10, 20, 2),
        ("a/1", 11, 10, 0),
        ("b/1", 10, 30, 0),
    ]
    assert [dict(one.rejected) for one in found] == [{"broken": 1}, {"broken": 2}, {}]


def test_lost_records_are_told_as_datagrams(tmp_path: Path) -> None:
    """An exporter that numbers its records lost as many datagrams as would have held them."""
    database = Database(f"sqlite:///{tmp_path / 'r.sqlite'}")
    minutes = FeedMinutes(database, Clock())
    minutes.take([])
    minutes.take([account("a", 100, lost=45) | {"lost_unit": "records"}])
    assert [one.lost for one in feed_statistics(database, 0, 100 * MINUTE_NS)] == [5]
    minutes.take([account("a", 109, lost=45) | {"lost_unit": "records"}])  # more records a datagram, and no new loss
    minutes.take([account("a", 200, lost=45) | {"lost_unit": "records"}])
    assert [one.lost for one in feed_statistics(database, 0, 100 * MINUTE_NS)] == [5]


def test_a_collector_that_begins_anew_goes_on_with_its_minute(tmp_path: Path) -> None:
    """What is kept of the minute stays; counters that begin anew are not taken for a loss."""
    database, clock = Database(f"sqlite:///{tmp_path / 'r.sqlite'}"), Clock()
    first = FeedMinutes(database, clock)
    first.take([account("b", 0)])
    first.take([account("b", 0), account("a", 50)])
    again = FeedMinutes(database, clock)
    again.take([account("a", 50), account("b", 0)])
    again.take([account("a", 20), account("b", 0)])
    assert feed_statistics(database, 0, 100 * MINUTE_NS) == [
        FeedStatistics("a/1", 10 * MINUTE_NS, MINUTE_NS, datagrams=7, records=70)
    ]
