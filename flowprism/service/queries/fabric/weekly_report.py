"""What the week says of repeat offenders: who they are, who is new, who is gone; as a document and as a message."""

from __future__ import annotations

from datamodel.durations import DAY_NS
from datamodel.reports.report import Window
from datamodel.service.api_models import RepeatOffender
from datamodel.service.weekly_report import WeeklyReport
from diagnose.patterns.repeat_offenders import TOLERATED_RATIO
from flowprism.rendering.units import plural, share, utc
from flowprism.service.queries.fabric.repeat_offenders import repeat_offenders
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

WEEK_NS = 7 * DAY_NS
_MOST_SUSPICIOUS = 10


def weekly_report(stores: Stores, viewer: Viewer, now_ns: int) -> WeeklyReport:
    """The week that ends with the newest scan, of the jobs that the viewer sees.

    Raises:
        StorageError: the database cannot be reached.
    """
    now = repeat_offenders(stores, viewer, now_ns)
    end_ns = now.window.end_ns
    before = repeat_offenders(stores, viewer, end_ns - WEEK_NS)
    named, former = ({one.host for one in view.items if one.is_offender} for view in (now, before))
    late = [one for one in now.items if not one.is_offender and one.late_ratio > TOLERATED_RATIO]
    return WeeklyReport(
        week=Window(start_ns=max(end_ns - WEEK_NS, 0), end_ns=end_ns),
        of=now.of,
        offenders=tuple(one for one in now.items if one.is_offender),
        new=tuple(sorted(named - former)),
        gone=tuple(sorted(former - named)),
        suspicious=tuple(late[:_MOST_SUSPICIOUS]),
    )


def report_title(report: WeeklyReport) -> str:
    """One line: `2 repeat offenders of 1,000 hosts, 1 new`."""
    new = f", {len(report.new)} new" if report.new else ""
    return f"{plural(len(report.offenders), 'repeat offender')} of {plural(report.of, 'host')}{new}"


def report_text(report: WeeklyReport) -> str:
    """The report in lines of text."""
    lines = [f"Week of {_day(report.week.start_ns)} to {_day(report.week.end_ns)}; hosts compared over 30 days."]
    for head, some in (
        ("Late in job after job, beyond chance:", report.offenders),
        ("Unusual, not proven:", report.suspicious),
    ):
        lines += ["", head, *(f"- {_line(one, new=one.host in report.new)}" for one in some)] if some else []
    if report.gone:
        lines += ["", f"Named a week before, and not now: {', '.join(report.gone)}."]
    if not report.offenders and not report.suspicious:
        lines += ["", "No host is late."]
    return "\n".join(lines)


def _line(one: RepeatOffender, *, new: bool) -> str:
    weeks = plural(one.late_weeks, "week")
    return (
        f"{one.host}{' (new)' if new else ''}: computes {share(one.late_ratio)} longer than its peers, late in"
        f" {one.late_jobs} of {plural(one.jobs, 'job')} and in {weeks}"
    )


def _day(time_ns: int) -> str:
    return utc(time_ns).partition(" ")[0]
