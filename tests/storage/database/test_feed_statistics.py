"""Statistics of feeds and inventories come back as they were kept."""

from __future__ import annotations

from datamodel.service.result_rows import FeedStatistics
from storage.database.connection import Database
from storage.database.feed_statistics import (
    feed_statistics,
    forget_feed_statistics,
    inventory,
    losses,
    save_feed_statistics,
    save_inventory,
)
from tests.storage.database.results import inventory as made


def test_statistics(database: Database) -> None:
    """Hours of exporters are found by time and name, and replaced when they are told again."""
    one = FeedStatistics("10.0.0.1/0", 100, 10, 5, 6, 1, 2, 3, {"broken": 4})
    other = FeedStatistics("10.0.0.2/0", 110, 10, datagrams=1 << 40)
    save_feed_statistics(database, [other, FeedStatistics("10.0.0.1/0", 100, 10)])
    save_feed_statistics(database, [one])
    assert feed_statistics(database, 100, 111) == [one, other]
    assert feed_statistics(database, 100, 110) == [one]
    assert feed_statistics(database, 0, 1000, exporter="10.0.0.2/0") == [other]
    assert forget_feed_statistics(database, 110) == 1
    save_feed_statistics(database, [])
    assert feed_statistics(database, 0, 1000) == [other]


def test_losses(database: Database) -> None:
    """What was lost may be missing since the exporter was heard before; one that was not heard before says its own."""
    first, gap = FeedStatistics("a/0", 100, 10, datagrams=5), FeedStatistics("a/0", 150, 10, datagrams=5, lost=9)
    other = FeedStatistics("b/0", 140, 10, datagrams=5, lost=1)
    save_feed_statistics(database, [first, gap, other, FeedStatistics("b/0", 120, 3600, datagrams=9)])
    assert losses(database, 0) == [(gap, 100), (other, 140)]
    assert losses(database, 145) == [(gap, 100)]


def test_inventories(database: Database) -> None:
    """The newest is in force; an older time has the one of then; the same one again is no new one."""
    assert inventory(database) is None
    assert save_inventory(database, made("s1"), "ann", 10)
    assert not save_inventory(database, made("s1"), "ann", 20)
    assert save_inventory(database, made("s1", "s2"), "bob", 30)
    assert inventory(database) == made("s1", "s2")
    assert inventory(database, at_ns=29) == made("s1")
    assert inventory(database, at_ns=9) is None
