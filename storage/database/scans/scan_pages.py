"""Pages of scans in short, whole or a tenant's part of them, without their long documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select

from datamodel.service.filters import ScanFilter
from datamodel.service.result_rows import ScanRecord
from storage.database.connection import Database
from storage.database.scans.scan_records import read_scan
from storage.database.scans.summaries import PartSummary, ScanSummary, parsed
from storage.database.tables import SCANS

_BATCH = 200
_COLUMNS = ("policy", "window_start_ns", "window_end_ns", "started_ns", "finished_ns", "version", "summary")
Query = Select[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class ScanGlance:
    """A scan in short, as one viewer sees it.

    Attributes:
        policy, window_start_ns, window_end_ns: which scan it is.
        started_ns, finished_ns: when it was made, UTC.
        version: of flowprism.
        seen: all of it, or one tenant's part.
        summary: of all of it.
    """

    policy: str
    window_start_ns: int
    window_end_ns: int
    started_ns: int
    finished_ns: int
    version: str
    seen: PartSummary
    summary: ScanSummary


def scan_page(
    database: Database, wanted: ScanFilter, tenant: str | None, after: str = "", most: int = 100
) -> list[ScanGlance]:
    """Scans, those of the newest windows first.

    Args:
        database: the results.
        wanted: which of them; verdicts are those of what is seen.
        tenant: whose part; scans that none of its jobs were in are left out. None for the whole.
        after: `scan_key` of the last one of the page before; "" for the first page.
        most: how many.

    Raises:
        ValueError: `after` is no such key.
    """
    found: list[ScanGlance] = []
    while len(found) < most:
        query = _query(wanted, tenant, after).limit(_BATCH)
        with database.reading() as connection:
            rows = connection.execute(query).all()
        seen = [one for one in (_glance(row, tenant) for row in rows) if one is not None]
        found += [one for one in seen if not wanted.verdicts or one.seen.verdict in wanted.verdicts]
        if len(rows) < _BATCH:
            break
        after = scan_key(rows[-1].policy, rows[-1].window_start_ns, rows[-1].window_end_ns)
    return found[:most]


def scan_key(policy: str, window_start_ns: int, window_end_ns: int) -> str:
    """What a page that goes on behind this scan begins after."""
    return f"{window_end_ns} {window_start_ns} {policy}"


def kept_scan(database: Database, policy: str, window_start_ns: int, window_end_ns: int) -> ScanRecord | None:
    """The scan of this policy and window; None where there is none."""
    mine = (SCANS.c.policy == policy) & (SCANS.c.window_end_ns == window_end_ns)
    with database.reading() as connection:
        row = connection.execute(select(SCANS).where(mine & (SCANS.c.window_start_ns == window_start_ns))).first()
    return None if row is None else read_scan(row)


def _query(wanted: ScanFilter, tenant: str | None, after: str) -> Query:
    query: Query = select(*(SCANS.c[name] for name in _COLUMNS))
    for condition in _conditions(wanted, tenant, after):
        query = query.where(condition)
    return query.order_by(SCANS.c.window_end_ns.desc(), SCANS.c.window_start_ns.desc(), SCANS.c.policy)


def _conditions(wanted: ScanFilter, tenant: str | None, after: str) -> Iterator[ColumnElement[bool]]:
    if wanted.policy is not None:
        yield SCANS.c.policy == wanted.policy
    if tenant is not None:  # as the summary spells it; what it means is seen when it is read
        yield SCANS.c.summary.contains(f"{json.dumps(tenant)}: {{", autoescape=True)
    elif wanted.verdicts:
        yield SCANS.c.verdict.in_(wanted.verdicts)
    if after:
        end_ns, start_ns, policy = after.split(" ", 2)
        same_end = SCANS.c.window_end_ns == int(end_ns)
        same_window = and_(same_end, SCANS.c.window_start_ns == int(start_ns))
        earlier = and_(same_end, SCANS.c.window_start_ns < int(start_ns))
        yield or_(SCANS.c.window_end_ns < int(end_ns), earlier, and_(same_window, SCANS.c.policy > policy))


def _glance(row: Row[tuple[object, ...]], tenant: str | None) -> ScanGlance | None:
    said = row._asdict()
    summary = parsed(said.pop("summary"))
    seen = summary.whole if tenant is None else summary.tenants.get(tenant)
    return None if seen is None else ScanGlance(**said, seen=seen, summary=summary)
