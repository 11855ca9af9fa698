"""Scans that people asked for: waiting, running, done or failed."""

from __future__ import annotations

import json
from typing import Any, Literal

from sqlalchemy import Row, delete, select, update

from datamodel.service.api_models import ScanRequest
from storage.database.connection import Database, insert_new
from storage.database.tables import SCAN_REQUESTS


def ask(database: Database, request: ScanRequest) -> bool:
    """Keep a request; one of the same id stays as it is. Whether it is new."""
    with database.writing() as connection:
        return insert_new(connection, SCAN_REQUESTS, {**request.model_dump(), "jobs": json.dumps(request.jobs)})


def request(database: Database, name: str) -> ScanRequest | None:
    """The request of this id; None where there is none."""
    with database.reading() as connection:
        row = connection.execute(select(SCAN_REQUESTS).where(SCAN_REQUESTS.c.id == name)).first()
    return None if row is None else _request(row)


def requests(database: Database, most: int = 100) -> list[ScanRequest]:
    """The newest requests, newest first."""
    query = select(SCAN_REQUESTS).order_by(SCAN_REQUESTS.c.requested_ns.desc(), SCAN_REQUESTS.c.id).limit(most)
    with database.reading() as connection:
        return [_request(row) for row in connection.execute(query)]


def next_requests(database: Database, most: int = 100) -> list[ScanRequest]:
    """List unfinished requests, the oldest first; leases decide which are abandoned."""
    query = select(SCAN_REQUESTS).where(SCAN_REQUESTS.c.state.in_(("waiting", "running")))
    query = query.order_by(SCAN_REQUESTS.c.requested_ns, SCAN_REQUESTS.c.id).limit(most)
    with database.reading() as connection:
        return [_request(row) for row in connection.execute(query)]


def start(database: Database, name: str) -> bool:
    """Say that a request is being worked on; whether it was not over."""
    return _set(database, name, state="running")


def finish(database: Database, name: str, state: Literal["done", "failed"], finished_ns: int, detail: str = "") -> bool:
    """Say how a request ended; whether it was not over yet."""
    return _set(database, name, state=state, finished_ns=finished_ns, detail=detail)


def settle_window(database: Database, name: str, start_ns: int, end_ns: int) -> bool:
    """Say which window a request has become; whether it was not over yet."""
    return _set(database, name, window_start_ns=start_ns, window_end_ns=end_ns)


def forget_requests(database: Database, before_ns: int) -> int:
    """Remove requests that were over before a time; how many."""
    with database.writing() as connection:
        over = delete(SCAN_REQUESTS).where(SCAN_REQUESTS.c.finished_ns < before_ns)
        return connection.execute(over).rowcount


def _set(database: Database, name: str, **values: Any) -> bool:  # noqa: ANN401 - columns of several types
    is_open = (SCAN_REQUESTS.c.id == name) & SCAN_REQUESTS.c.finished_ns.is_(None)
    with database.writing() as connection:
        return connection.execute(update(SCAN_REQUESTS).where(is_open).values(values)).rowcount > 0


def _request(row: Row[tuple[object, ...]]) -> ScanRequest:
    return ScanRequest(**{**row._asdict(), "jobs": tuple(json.loads(row.jobs))})
