"""Summaries of a scan for lists, whole and for each tenant, without its long document."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from datamodel.reports.scan import Verdict

_ORDER: tuple[Verdict, ...] = ("healthy", "unknown", "findings")


@dataclass(frozen=True, slots=True)
class PartSummary:
    """A scan, or a tenant's part of it: how many jobs and findings, and the worst verdict over them."""

    jobs: int
    findings: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ScanSummary:
    """A scan in short.

    Attributes:
        whole: all of it.
        tenants: the part of each tenant whose jobs were in it.
        records: that it read.
        reasons: why the verdict of the scan as a whole is unknown.
    """

    whole: PartSummary
    tenants: dict[str, PartSummary]
    records: int
    reasons: tuple[str, ...]


def summary_of(document: str) -> str:
    """The summary of a scan, as JSON text, from its document (`datamodel.reports.scan.Scan`) as JSON text."""
    said: dict[str, Any] = json.loads(document)
    jobs = said["jobs"]
    tenants = sorted({job["tenant"] for job in jobs if job.get("tenant") is not None})
    found = sum(len(job["findings"]) for job in jobs) + len(said["findings"])
    return json.dumps(
        asdict(
            ScanSummary(
                whole=PartSummary(len(jobs), found, said["verdict"]),
                tenants={tenant: _part([job for job in jobs if job.get("tenant") == tenant]) for tenant in tenants},
                records=said["feed"]["records"],
                reasons=tuple(said["reasons"]),
            )
        )
    )


def parsed(text: str) -> ScanSummary:
    """The summary that `summary_of` wrote."""
    said: dict[str, Any] = json.loads(text)
    return ScanSummary(
        whole=PartSummary(**said["whole"]),
        tenants={tenant: PartSummary(**part) for tenant, part in said["tenants"].items()},
        records=said["records"],
        reasons=tuple(said["reasons"]),
    )


def _part(jobs: list[dict[str, Any]]) -> PartSummary:
    verdicts = Counter(job["verdict"] for job in jobs)
    worst = max(verdicts, key=_ORDER.index)
    return PartSummary(len(jobs), sum(len(job["findings"]) for job in jobs), worst)
