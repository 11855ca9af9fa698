"""Which jobs of a report a policy judges."""

from __future__ import annotations

from datamodel.reports.report import JobReport, Report
from flowprism.service.config.settings import Policy


def chosen(report: Report, policy: Policy) -> Report:
    """The part of a report that a policy of some tenants or hosts is about; findings of no job always are."""
    if not policy.tenants and not policy.hosts:
        return report
    jobs = tuple(job for job in report.jobs if _is_meant(job, policy))
    names = {None, *(job.id for job in jobs)}
    findings = tuple(finding for finding in report.findings if finding.job in names)
    return report.model_copy(update={"jobs": jobs, "findings": findings})


def _is_meant(job: JobReport, policy: Policy) -> bool:
    of_tenant = not policy.tenants or job.tenant in policy.tenants
    return of_tenant and (not policy.hosts or not set(policy.hosts).isdisjoint(job.hosts))
