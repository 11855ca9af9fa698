"""Where the tables of a notebook's analysis come from: an analysis made here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from datamodel.cluster.inventory import Inventory
from datamodel.frame import empty
from datamodel.reconstructed.timeline import Timelines
from datamodel.reconstructed.transfers import PAIRS
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Finding
from datamodel.reports.report import ExporterClock, JobReport, Report, Window
from datamodel.service.api_models import FabricView, FeedRow
from datamodel.telemetry.exporter_stats import ExporterStats
from flowprism.notebook.arrow_tables import JobIterations, serving_table, traffic_table
from flowprism.rendering.formats.pairs_arrow import pairs_to_arrow
from flowprism.rendering.formats.timelines_file import to_arrow


class AnalysisSource(Protocol):
    """What an analysis for notebooks is made of."""

    @property
    def window(self) -> Window:
        """The time that is looked at."""

    @property
    def report(self) -> Report | None:
        """The report that it is made of, if it is made of one."""

    def jobs(self) -> Sequence[JobReport]:
        """The jobs; their iterations may be left out."""

    def iterations(self) -> Sequence[JobIterations]:
        """Iterations of each job."""

    def findings(self) -> Sequence[Finding]:
        """What is wrong."""

    def feeds(self) -> Sequence[dict[str, Any]]:
        """Columns of `columns.FEEDS` of each exporter; those left out are not known."""

    def traffic(self) -> pa.Table | None:
        """Traffic of each endpoint, minute and class; None where only sums are kept."""

    def serving(self) -> pa.Table | None:
        """Pairs of served models; None where only sums are kept."""

    def doubts(self) -> Sequence[str]:
        """What was left out or is doubtful, in sentences."""

    def spans(self, job: str, iteration: int | None) -> pa.Table:
        """A job's spans, of one iteration or all, in the form of `timelines_file.to_arrow`."""

    def pairs(self, job: str) -> pa.Table:
        """A job's pairs, in the form of `pairs_arrow.pairs_to_arrow`."""

    def fabric(self) -> FabricView:
        """The fabric as the inventory draws it; empty without one."""


@dataclass(frozen=True, slots=True)
class LocalSource:
    """An analysis made in this process, and the inventory that it was made with."""

    analysis: Analysis
    inventory: Inventory | None

    @property
    def window(self) -> Window:
        """The time that the records span."""
        return self.analysis.report.window

    @property
    def report(self) -> Report | None:
        """The analysis's."""
        return self.analysis.report

    def jobs(self) -> Sequence[JobReport]:
        """The report's jobs."""
        return self.analysis.report.jobs

    def iterations(self) -> Sequence[JobIterations]:
        """Iterations of the report's jobs."""
        return [_iterations(job) for job in self.jobs()]

    def findings(self) -> Sequence[Finding]:
        """The report's findings."""
        return self.analysis.report.findings

    def feeds(self) -> Sequence[dict[str, Any]]:
        """Accounts of exporters of datagrams; of others the names."""
        feed, accounts = self.analysis.report.feed, self.analysis.exporters
        clocks = {clock.exporter: clock for clock in feed.clocks}
        counted = {account.agent for account in accounts}
        bare = [
            {"exporter": name, **_clock_columns(clocks.get(name))} for name in feed.exporters if name not in counted
        ]
        known = [
            exporter_columns(f"{one.agent}/{one.domain}", one, one.sampling_rates, clocks.get(one.agent))
            for one in accounts
        ]
        return [*known, *bare]

    def traffic(self) -> pa.Table:
        """Of the analysis."""
        return traffic_table(self.analysis.traffic, self.analysis.timelines.addresses)

    def serving(self) -> pa.Table:
        """Of the analysis."""
        return serving_table(self.analysis.serving, self.analysis.timelines.addresses)

    def doubts(self) -> Sequence[str]:
        """What the report says of the feed, and of traffic that is in no job."""
        report = self.analysis.report
        left_out = (f"left out: {count} {reason}" for reason, count in report.feed.rejected.items())
        return [*left_out, *report.feed.warnings, *report.unassigned]

    def spans(self, job: str, iteration: int | None) -> pa.Table:
        """Spans of the analysis."""
        all_jobs = self.analysis.timelines
        wanted = np.asarray(all_jobs.spans["job"] == _place(all_jobs.jobs, job))
        if iteration is not None:
            wanted &= all_jobs.spans["iteration"] == iteration
        return to_arrow(
            Timelines(all_jobs.spans.take(np.flatnonzero(wanted)), all_jobs.addresses, all_jobs.jobs, all_jobs.groups)
        )

    def pairs(self, job: str) -> pa.Table:
        """Pairs of the analysis."""
        return pairs_to_arrow(self.analysis.pairs.get(job, empty(PAIRS)), self.analysis.timelines.addresses)

    def fabric(self) -> FabricView:
        """The inventory with the loads of this window."""
        if self.inventory is None:
            return FabricView()
        from flowprism.service.queries.fabric.fabric_queries import fabric_view

        members = {job.id: job.endpoints for job in self.jobs()}
        return fabric_view(self.inventory, members, self._rates(), self.findings())

    def _rates(self) -> Iterator[tuple[str, str, float]]:
        book, window = np.array([*self.analysis.timelines.addresses], object), self.window
        lasted_s = max(window.end_ns - window.start_ns, 1) / 1e9
        for frame in self.analysis.pairs.values():
            columns = book[frame["src"]], book[frame["dst"]], frame["bytes"] * 8 / lasted_s
            yield from zip(*(column.tolist() for column in columns), strict=True)


def _clock_columns(clock: ExporterClock | None) -> dict[str, float | None]:
    """What is known of an exporter's clock."""
    if clock is None:
        return {}
    return {
        "clock_offset_s": clock.offset_s,
        "clock_drift_ppm": clock.drift_ppm,
        "clock_error_s": clock.error_s,
    }


def exporter_columns(
    name: str, counts: ExporterStats | FeedRow, rates: Collection[int], clock: ExporterClock | None
) -> dict[str, Any]:
    """Columns of an exporter whose datagrams are counted; of several sampling rates the largest."""
    return {
        "exporter": name,
        **{column: getattr(counts, column) for column in ("datagrams", "records", "lost", "late", "duplicates")},
        "rejected": sum(counts.rejected.values()),
        "sampling_rate": max(rates, default=0) or None,
        **_clock_columns(clock),
    }


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else -1


def _iterations(job: JobReport) -> JobIterations:
    known = job.iterations
    errors = [-1 if one.duration_error_ns is None else one.duration_error_ns for one in known]
    columns = ([one.index for one in known], [one.start_ns for one in known], [one.end_ns for one in known], errors)
    return JobIterations(job.id, *(np.array(values, np.int64) for values in columns))
