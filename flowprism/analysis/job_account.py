"""The account of a job's time in one window, as part of its report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.reports.findings import Event, Finding
from datamodel.reports.report import JobReport
from diagnose.training_time.account import training_time
from diagnose.training_time.intervals import job_intervals


def with_account(job: JobReport, events: Sequence[Event], findings: Sequence[Finding]) -> JobReport:
    """A job's report with the account from its first iteration in the window to its last; without one, none.

    Args:
        job: the report.
        events: of all jobs.
        findings: of all jobs.
    """
    if not job.iterations:
        return job
    steps = np.array([(one.start_ns, one.end_ns) for one in job.iterations], np.int64)
    start_ns, end_ns = job.iterations[0].start_ns, job.iterations[-1].end_ns
    own = [event for event in events if event.job == job.id]
    known = job_intervals(steps, own, [one for one in findings if one.job == job.id], end_ns)
    return job.model_copy(update={"training_time": training_time(known, start_ns, end_ns, job.world_size)})
