"""A job-health scan, `flowprism.scan/v1`: one verdict a job, for schedulers and other programs that must act on it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from datamodel.document import Document
from datamodel.reconstructed.traffic import PostTraining, ServingSummary
from datamodel.reports.findings import Finding
from datamodel.reports.report import FeedSummary, Window
from datamodel.reports.training_time import TrainingTime

Verdict = Literal["healthy", "findings", "unknown"]


class JobScan(Document):
    """What is to be said of one job.

    `reasons` say why the verdict is `unknown`; an `id` is null where an expected job was
    not seen at all.
    """

    id: str | None
    label: str | None
    tenant: str | None = None
    verdict: Verdict
    hosts: tuple[str, ...] = ()
    endpoints: int = 0
    iterations: int = 0
    period_s: float | None = None
    smallest_slowdown_ratio: float | None = Field(default=None, description="the smallest that this feed would show")
    reasons: tuple[str, ...] = ()
    post_training: PostTraining | None = Field(
        default=None, description="engines that take its weights between its steps; null where there are none"
    )
    training_time: TrainingTime | None = Field(
        default=None, description="where its time in the window went; null without an iteration"
    )
    findings: tuple[Finding, ...] = ()


class Scan(Document):
    """One verdict over all jobs scanned: findings before unknown before healthy."""

    schema_: Literal["flowprism.scan/v1"] = Field(default="flowprism.scan/v1", alias="schema")
    verdict: Verdict
    window: Window
    feed: FeedSummary
    jobs: tuple[JobScan, ...] = ()
    serving: ServingSummary | None = Field(default=None, description="served models; null where there are none")
    reasons: tuple[str, ...] = Field(default=(), description="why the verdict of the scan as a whole is unknown")
    findings: tuple[Finding, ...] = Field(default=(), description="those about no single job, such as the feed's own")
