"""What exporters sent, hour by hour, and the inventories that were in force."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Row, delete, func, select

from datamodel.cluster.inventory import Inventory
from datamodel.service.result_rows import FeedStatistics
from storage.database.connection import Database, upsert
from storage.database.tables import FEED_STATISTICS, INVENTORIES


def save_feed_statistics(database: Database, statistics: Sequence[FeedStatistics]) -> None:
    """Store what exporters sent; a time range stored again replaces its earlier values."""
    rows = [{**asdict(one), "rejected": json.dumps(dict(one.rejected), sort_keys=True)} for one in statistics]
    with database.writing() as connection:
        upsert(connection, FEED_STATISTICS, rows)


def feed_statistics(
    database: Database, start_ns: int, end_ns: int, exporter: str | None = None
) -> list[FeedStatistics]:
    """Stretches of time that begin in [start_ns, end_ns), of one exporter or all, by exporter and time."""
    query = select(FEED_STATISTICS).where(FEED_STATISTICS.c.start_ns.between(start_ns, end_ns - 1))
    if exporter is not None:
        query = query.where(FEED_STATISTICS.c.exporter == exporter)
    query = query.order_by(FEED_STATISTICS.c.exporter, FEED_STATISTICS.c.length_ns, FEED_STATISTICS.c.start_ns)
    with database.reading() as connection:
        return [_statistics(row) for row in connection.execute(query)]


def losses(database: Database, since_ns: int) -> list[tuple[FeedStatistics, int]]:
    """Stretches of time that begin since a time and in which records were missed, each with when its hole may begin.

    The missing records were sent after the last received ones, maybe long before the loss was noticed: the second
    number is the begin of its stretch before, or of the stretch itself where there is none.
    """
    before = FEED_STATISTICS.alias()
    received = select(func.max(before.c.start_ns)).where(
        (before.c.exporter == FEED_STATISTICS.c.exporter)
        & (before.c.length_ns == FEED_STATISTICS.c.length_ns)
        & (before.c.start_ns < FEED_STATISTICS.c.start_ns)
    )
    since = func.coalesce(received.scalar_subquery(), FEED_STATISTICS.c.start_ns).label("since_ns")
    query = select(FEED_STATISTICS, since).where(
        (FEED_STATISTICS.c.start_ns >= since_ns) & (FEED_STATISTICS.c.lost > 0)
    )
    with database.reading() as connection:
        rows = connection.execute(query.order_by(FEED_STATISTICS.c.exporter, FEED_STATISTICS.c.start_ns)).all()
    return [(_statistics(row), row.since_ns) for row in rows]


def newest_stretch(database: Database) -> tuple[int, int] | None:
    """The newest stretch of time that any exporter sent in: its begin, UTC, and length; None before the first.

    Of several lengths that begin then, the shortest.
    """
    query = select(FEED_STATISTICS.c.start_ns, FEED_STATISTICS.c.length_ns)
    query = query.order_by(FEED_STATISTICS.c.start_ns.desc(), FEED_STATISTICS.c.length_ns).limit(1)
    with database.reading() as connection:
        row = connection.execute(query).first()
    return None if row is None else (row.start_ns, row.length_ns)


@dataclass(frozen=True, slots=True)
class LastReport:
    """When an exporter sent anything: begin of its first and last stretch of time since a time, UTC, and how many."""

    exporter: str
    first_ns: int
    last_ns: int
    length_ns: int
    stretches: int


def last_reports(database: Database, since_ns: int) -> list[LastReport]:
    """Exporters that sent anything in a stretch of time that began since a time, by name."""
    sent = (FEED_STATISTICS.c.records > 0) | (FEED_STATISTICS.c.datagrams > 0)
    begin = FEED_STATISTICS.c.start_ns
    query = select(
        FEED_STATISTICS.c.exporter,
        func.min(begin),
        func.max(begin),
        func.max(FEED_STATISTICS.c.length_ns),
        func.count(),
    ).where(begin >= since_ns, sent)
    with database.reading() as connection:
        rows = connection.execute(query.group_by(FEED_STATISTICS.c.exporter).order_by(FEED_STATISTICS.c.exporter))
        return [LastReport(*row) for row in rows]


def forget_feed_statistics(database: Database, before_ns: int) -> int:
    """Remove stretches that begin before a time; how many."""
    with database.writing() as connection:
        return connection.execute(delete(FEED_STATISTICS).where(FEED_STATISTICS.c.start_ns < before_ns)).rowcount


def save_inventory(database: Database, inventory: Inventory, author: str, time_ns: int) -> bool:
    """Keep an inventory as the one in force from now on; whether it is another than the one before."""
    document = inventory.model_dump_json(by_alias=True)
    digest = hashlib.sha256(document.encode()).hexdigest()
    with database.writing() as connection:
        newest = select(INVENTORIES.c.sha256).order_by(INVENTORIES.c.time_ns.desc()).limit(1)
        if connection.execute(newest).scalar() == digest:
            return False
        row = {"time_ns": time_ns, "sha256": digest, "author": author, "document": document}
        upsert(connection, INVENTORIES, [row])
    return True


def inventory(database: Database, at_ns: int | None = None) -> Inventory | None:
    """The inventory in force, now or at a time; None where there was none.

    One of 10,000 endpoints takes a fifth of a second to read, so the last ones are kept at hand.
    """
    query = select(INVENTORIES.c.document).order_by(INVENTORIES.c.time_ns.desc()).limit(1)
    if at_ns is not None:
        query = query.where(INVENTORIES.c.time_ns <= at_ns)
    with database.reading() as connection:
        text = connection.execute(query).scalar()
    return None if text is None else _read(text)


def _statistics(row: Row[Any]) -> FeedStatistics:
    """A stretch from a row of its table; further columns of the row are left alone."""
    said = row._asdict()
    known = {column.name: said[column.name] for column in FEED_STATISTICS.c}
    return FeedStatistics(**{**known, "rejected": json.loads(row.rejected)})


@lru_cache(maxsize=2)
def _read(text: str) -> Inventory:
    """Parse an inventory; it is immutable, so it is cached."""
    return Inventory.model_validate_json(text)
