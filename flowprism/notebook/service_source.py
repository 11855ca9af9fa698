"""What a running service keeps, over its HTTP API, as the source of a notebook's analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datamodel.durations import HOUR_NS
from datamodel.errors import LimitExceededError
from datamodel.reports.findings import Finding
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, JobReport, Window
from datamodel.service.api_models import FabricView, FeedRow, JobDetail
from datamodel.service.incidents import Incident
from flowprism.notebook.api_client import ApiClient, path_of
from flowprism.notebook.arrow_tables import JobIterations
from flowprism.notebook.sources import exporter_columns

_MOST_SPANS = 500_000  # on a page
_MOST_PAIRS = 1_000_000
_MOST_ENDPOINTS = 5000  # on a page


@dataclass(frozen=True, slots=True)
class ServiceSource:
    """What a service kept of a stretch of time, asked for when it is needed."""

    client: ApiClient
    window: Window

    @property
    def report(self) -> None:
        """None: scans of many windows are no one report."""

    def jobs(self) -> Sequence[JobReport]:
        """Jobs that were seen in this time, as the newest scan saw them."""
        details = (self.client.document(path_of("jobs", name)) for name in self._names())
        return [_report(JobDetail.model_validate(one)) for one in details]

    def iterations(self) -> Sequence[JobIterations]:
        """Iterations that ended in this time."""
        return [self._iterations(name) for name in self._names()]

    def findings(self) -> Sequence[Finding]:
        """Incidents of this time, open or resolved, as findings."""
        asked = {"state": ["open", "resolved"], "since_ns": self.window.start_ns, "until_ns": self.window.end_ns}
        rows = self.client.items("incidents", asked)
        return [Incident.model_validate(row["incident"]).as_finding(self.window.end_ns) for row in rows]

    def feeds(self) -> Sequence[dict[str, Any]]:
        """Exporters that sent anything in this time, with their sums of its minutes."""
        asked = {"start_ns": self.window.start_ns, "end_ns": self.window.end_ns}
        return [_feed(FeedRow.model_validate(row)) for row in self.client.document("feeds", asked)["items"]]

    def traffic(self) -> None:
        """None: scans keep sums of each class."""

    def serving(self) -> None:
        """None: scans keep sums."""

    def doubts(self) -> Sequence[str]:
        """None: the dashboard's page of feeds and the documents of scans have them."""
        return ()

    def spans(self, job: str, iteration: int | None) -> pa.Table:
        """Spans that touch this time, or those of one iteration."""
        if iteration is not None:
            spans = self._spans(job, {"first": iteration})
            return spans.filter(pc.equal(spans["iteration"], iteration))
        parts: list[pa.Table] = []
        # the service answers with an hour of spans at most
        for start_ns in range(self.window.start_ns, self.window.end_ns, HOUR_NS):
            end_ns = min(start_ns + HOUR_NS, self.window.end_ns)
            spans = self._spans(job, {"start_ns": start_ns, "end_ns": end_ns})
            # one that touches two hours belongs to the first
            parts.append(spans.filter(pc.greater_equal(spans["start_ns"], start_ns)) if parts else spans)
        return pa.concat_tables(parts)

    def pairs(self, job: str) -> pa.Table:
        """Pairs of the last scan's window of this time."""
        asked = {"at_ns": self.window.end_ns - 1, "most": _MOST_PAIRS}
        return self.client.table(path_of("jobs", job, "matrix"), asked)

    def fabric(self) -> FabricView:
        """The inventory in force with the loads of live jobs."""
        return FabricView.model_validate(self.client.document("fabric"))

    def _names(self) -> list[str]:
        """Ids of the jobs of this time: `first_seen_ns` is the end of the window in which a job was first seen."""
        return [
            row["id"]
            for row in self.client.items("jobs")
            if row["last_seen_ns"] >= self.window.start_ns
            and (row["first_seen_ns"] < self.window.end_ns or len(self._iterations(row["id"]).index))
        ]

    def _iterations(self, job: str) -> JobIterations:
        asked = {"start_ns": self.window.start_ns, "end_ns": self.window.end_ns}
        table = self.client.table(path_of("jobs", job, "iterations"), asked)
        error_ns = table["duration_error_ns"].fill_null(-1)
        columns = (table["index"], table["start_ns"], table["end_ns"], error_ns)
        return JobIterations(job, *(np.asarray(column.to_numpy(), np.int64) for column in columns))

    def _spans(self, job: str, asked: dict[str, int]) -> pa.Table:
        return pa.concat_tables(list(self._pages(job, asked)))

    def _pages(self, job: str, asked: dict[str, int]) -> Iterator[pa.Table]:
        """Pages of endpoints, with fewer of them where a page cannot hold all their spans one by one.

        Raises:
            LimitExceededError: one endpoint's do not fit a page.
        """
        limit, after = _MOST_ENDPOINTS, ""
        while True:
            more: dict[str, object] = {**asked, "most": _MOST_SPANS, "limit": limit}
            page = self.client.table(path_of("jobs", job, "timeline"), more | ({"cursor": after} if after else {}))
            about = page.schema.metadata
            if about[b"resolution_ns"] == b"0":
                yield page
                after = about[b"next"].decode()
                if not after:
                    return
            elif limit == 1:
                raise LimitExceededError(
                    f"{job}: more than {_MOST_SPANS} spans of one endpoint: ask for a shorter time"
                )
            else:
                limit //= 2


def newest_end_ns(client: ApiClient, otherwise_ns: int) -> int:
    """The end of the newest scan's window, what ended then included, UTC; without a scan `otherwise_ns`."""
    newest = client.document("scans", {"limit": 1})["items"]
    return int(newest[0]["window_end_ns"]) + 1 if newest else otherwise_ns


def _report(one: JobDetail) -> JobReport:
    return JobReport(
        id=one.id,
        label=one.label,
        tenant=one.tenant,
        endpoints=one.addresses,
        hosts=one.host_names,
        world_size=one.world_size,
        layout=one.layout or Layout(),
        groups=one.layouts[0].groups if one.layouts else Groups(),
        period_s=one.period_s,
        detectability=Detectability(
            timeline_error_ratio=None, smallest_slowdown_ratio=one.smallest_slowdown_ratio, reasons=one.reasons
        ),
        post_training=one.post_training,
    )


def _feed(one: FeedRow) -> dict[str, Any]:
    rates = one.sampling.rates if one.sampling is not None else ()
    return exporter_columns(one.exporter, one, rates, one.clock)
