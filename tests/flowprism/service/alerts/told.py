"""Small alerts, settings and databases to tell of."""

from __future__ import annotations

import time
from pathlib import Path

from datamodel.service.incidents import IncidentChange
from datamodel.service.result_rows import ScanRecord
from flowprism.service.alerts.alert_settings import AlertSettings
from flowprism.service.alerts.outbox import alerts_of
from storage.database.connection import Database
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.storage.database import results

SECOND_NS = 1_000_000_000


def settings(*receivers: dict[str, object], **others: object) -> AlertSettings:
    """Settings with these receivers, which wait for nobody."""
    return AlertSettings.model_validate({"receivers": receivers, "group_wait_s": 0, **others})


def webhook(name: str = "hook", url: str = "http://127.0.0.1:9/", **others: object) -> dict[str, object]:
    """A webhook's settings."""
    return {"name": name, "kind": "webhook", "url": url, **others}


def database(folder: Path) -> Database:
    """An empty one."""
    return Database(f"sqlite:///{folder / 'results.sqlite'}")


def scanned(
    kept_in: Database,
    to: AlertSettings,
    *changes: str,
    name: str = "i1",
    job: str | None = "j1",
    now_ns: int | None = None,
    **incident: object,
) -> int:
    """Keep a scan that made these changes of an incident; when, which is also the change's time."""
    now_ns = time.time_ns() if now_ns is None else now_ns
    over = "resolved" in changes
    how = {"state": "resolved" if over else "open", "seen_ns": now_ns, "resolved_ns": now_ns if over else None}
    known = results.incident(name, job).model_copy(update={**how, **incident})
    happened = [
        IncidentChange.model_validate({"incident": name, "time_ns": now_ns, "kind": kind, "detail": ""})
        for kind in changes
    ]
    jobs = [results.job(job)] if job else []
    made = results.kept(now_ns)
    kept = ScanRecord(f"policy of {name}", now_ns, now_ns, made.version, made.scan)
    alerts = alerts_of([known], happened, jobs, now_ns, to)
    assert save_scan(kept_in, ScanResult(kept, jobs, [known], happened, alerts=alerts))
    return now_ns
