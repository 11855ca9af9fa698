"""Scans that were made, and asking for one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from datamodel.errors import PermissionDeniedError
from datamodel.reports.report import FeedSummary
from datamodel.reports.scan import Scan, Verdict
from datamodel.service.api_models import ScanDetail, ScanRequest, ScanRow
from datamodel.service.filters import JobFilter, ScanFilter
from datamodel.service.result_rows import ScanRecord
from flowprism.service.queries.visibility import masked, require
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.jobs.overview import glances, job_marks
from storage.database.scans.scan_pages import ScanGlance, kept_scan, scan_key, scan_page
from storage.database.scans.scan_requests import ask, request, requests

_ANY = ScanFilter()
_WORST_FIRST: tuple[Verdict, ...] = ("findings", "unknown", "healthy")
_MOST_JOBS = 500


@dataclass(frozen=True, slots=True)
class NewScanRequest:
    """Which scan is asked for: under a policy, of its jobs or of these, of a window or of the newest records."""

    policy: str
    jobs: tuple[str, ...] = ()
    window_start_ns: int | None = None
    window_end_ns: int | None = None


def scans(stores: Stores, viewer: Viewer, wanted: ScanFilter = _ANY, after: str = "", most: int = 100) -> list[ScanRow]:
    """Scans that the viewer sees something of, those of the newest windows first.

    Args:
        stores: where answers are read from.
        viewer: the caller; a viewer of one tenant sees its jobs and findings only.
        wanted: which scans.
        after: `after_scan` of the last one of the page before; "" for the first page.
        most: how many.

    Raises:
        StorageError: the database cannot be reached.
        ValueError: `after` is no such key.
    """
    return [_row(one, viewer) for one in scan_page(stores.database, wanted, viewer.tenant, after, most)]


def after_scan(row: ScanRow) -> str:
    """What a page that goes on behind this row begins after."""
    return scan_key(row.policy, row.window_start_ns, row.window_end_ns)


def scan(stores: Stores, viewer: Viewer, policy: str, window_start_ns: int, window_end_ns: int) -> ScanRecord | None:
    """The scan of a policy and window, as far as the viewer sees it; None where that is nothing."""
    found = kept_scan(stores.database, policy, window_start_ns, window_end_ns)
    if found is None or viewer.tenant is None:
        return found
    own = _part(found.scan, viewer.tenant)
    own = masked(viewer, own, {job.id for job in own.jobs})
    return replace(found, scan=own) if own.jobs else None


def scan_detail(
    stores: Stores, viewer: Viewer, policy: str, window_start_ns: int, window_end_ns: int
) -> ScanDetail | None:
    """The same as one document."""
    found = scan(stores, viewer, policy, window_start_ns, window_end_ns)
    if found is None:
        return None
    result = found.scan
    return ScanDetail(
        policy=found.policy,
        window_start_ns=result.window.start_ns,
        window_end_ns=result.window.end_ns,
        started_ns=found.started_ns,
        finished_ns=found.finished_ns,
        version=found.version,
        verdict=result.verdict,
        jobs=len(result.jobs),
        findings=sum(len(job.findings) for job in result.jobs) + len(result.findings),
        records=result.feed.records,
        reasons=result.reasons,
        scan=result,
    )


def ask_scan(stores: Stores, viewer: Viewer, now_ns: int, wish: NewScanRequest) -> ScanRequest:
    """Ask for a scan; a scanner makes it soon.

    Raises:
        PermissionDeniedError: the viewer is no operator, or does not see one of the jobs.
        StorageError: the database cannot be reached.
    """
    require(viewer, "operator")
    asked = ScanRequest(
        id=uuid.uuid4().hex,
        policy=wish.policy,
        jobs=_allowed(stores, viewer, wish.jobs),
        window_start_ns=wish.window_start_ns,
        window_end_ns=wish.window_end_ns,
        author=viewer.name,
        requested_ns=now_ns,
        state="waiting",
    )
    ask(stores.database, asked)
    return asked


def scan_request(stores: Stores, viewer: Viewer, name: str) -> ScanRequest | None:
    """Find a requested scan; viewers of one tenant see their own."""
    found = request(stores.database, name)
    return found if found is not None and _is_shown(found, viewer) else None


def scan_requests(stores: Stores, viewer: Viewer, most: int = 100) -> list[ScanRequest]:
    """List the newest requested scans; viewers of one tenant see their own."""
    return [one for one in requests(stores.database, most) if _is_shown(one, viewer)]


def _is_shown(one: ScanRequest, viewer: Viewer) -> bool:
    return viewer.tenant is None or one.author == viewer.name


def _allowed(stores: Stores, viewer: Viewer, names: Sequence[str]) -> tuple[str, ...]:
    """Select the jobs to scan; for viewers of one tenant, all its jobs or those named."""
    if viewer.tenant is None:
        return tuple(names)
    marks = job_marks(stores.database, JobFilter(tenant=viewer.tenant))[:_MOST_JOBS]
    own = [one.job for one in glances(stores.database, [one.id for one in marks])]
    if not own:
        raise PermissionDeniedError(f"there is no job of {viewer.tenant} to scan")
    named = {name: [job.id for job in own if name in {job.id, job.label}] for name in names}
    for name, ids in named.items():
        if not ids:
            raise PermissionDeniedError(f"{name} is no job of {viewer.tenant}")
    return tuple(sorted({name for ids in named.values() for name in ids} if names else {job.id for job in own}))


def _part(whole: Scan, tenant: str) -> Scan:
    """Restrict a scan to one tenant: its own jobs, and nothing of the feed, which all share."""
    jobs = tuple(job for job in whole.jobs if job.tenant == tenant)
    verdicts = {job.verdict for job in jobs}
    verdict: Verdict = next((verdict for verdict in _WORST_FIRST if verdict in verdicts), "unknown")
    return Scan(verdict=verdict, window=whole.window, feed=FeedSummary(records=0, bytes=0), jobs=jobs)


def _row(one: ScanGlance, viewer: Viewer) -> ScanRow:
    whole = viewer.tenant is None
    return ScanRow(
        policy=one.policy,
        window_start_ns=one.window_start_ns,
        window_end_ns=one.window_end_ns,
        started_ns=one.started_ns,
        finished_ns=one.finished_ns,
        version=one.version,
        verdict=one.seen.verdict,
        jobs=one.seen.jobs,
        findings=one.seen.findings,
        records=one.summary.records if whole else 0,
        reasons=one.summary.reasons if whole else (),
    )
