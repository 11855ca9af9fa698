"""One analysis, or what a service kept of a stretch of time, as data frames and graphs."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from datamodel.errors import InputError
from datamodel.reports.findings import Finding
from datamodel.reports.report import JobReport, Report
from flowprism.notebook import arrow_tables, columns
from flowprism.notebook.arrow_tables import build
from flowprism.notebook.data_frames import require, to_frame
from flowprism.notebook.sources import AnalysisSource
from flowprism.rendering.units import plural, utc

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

_SHOWN_ROWS = 20


class AnalysisFrames:
    """Jobs, iterations, timelines and findings of a stretch of time. docs/notebooks.md lists columns and units.

    Data frames are made when they are asked for, and kept; treat them as read-only or copy them.
    """

    def __init__(self, source: AnalysisSource) -> None:
        self._source = source

    @property
    def report(self) -> Report | None:
        """The report of an analysis made here, with layouts and groups in full; None of what a service kept."""
        return self._source.report

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """The training jobs, one row each (`columns.JOBS`)."""
        return to_frame(arrow_tables.jobs_table(self._reports), columns.JOBS)

    @cached_property
    def iterations(self) -> pd.DataFrame:
        """Iterations of all jobs (`columns.ITERATIONS`)."""
        return to_frame(arrow_tables.iterations_table(self._source.iterations()), columns.ITERATIONS)

    @cached_property
    def findings(self) -> pd.DataFrame:
        """What is wrong (`columns.FINDINGS`)."""
        return to_frame(arrow_tables.findings_table(self._findings), columns.FINDINGS)

    @cached_property
    def suspects(self) -> pd.DataFrame:
        """What may be the cause of each finding, where the evidence leaves several (`columns.SUSPECTS`)."""
        return to_frame(arrow_tables.suspects_table(self._findings), columns.SUSPECTS)

    @cached_property
    def evidence(self) -> pd.DataFrame:
        """The measured numbers of each finding (`columns.EVIDENCE`)."""
        return to_frame(arrow_tables.evidence_table(self._findings), columns.EVIDENCE)

    @cached_property
    def feeds(self) -> pd.DataFrame:
        """Exporters (`columns.FEEDS`)."""
        return to_frame(self._feeds_table(), columns.FEEDS)

    @cached_property
    def traffic(self) -> pd.DataFrame:
        """What all traffic is for, by endpoint and minute (`columns.TRAFFIC`).

        Raises:
            InputError: it is what a service kept, which has sums of the fabric only.
        """
        return to_frame(self._required(self._source.traffic()), columns.TRAFFIC)

    @cached_property
    def serving(self) -> pd.DataFrame:
        """What pairs of served models carried (`columns.SERVING`); errors as of `traffic`."""
        return to_frame(self._required(self._source.serving()), columns.SERVING)

    def timeline(self, job: str, iteration: int | None = None) -> pd.DataFrame:
        """What each endpoint of a job did when (`columns.TIMELINE`), in one iteration or all of them.

        Raises:
            InputError: there is no such job.
        """
        return to_frame(self._timeline(job, iteration), columns.TIMELINE)

    def pairs(self, job: str) -> pd.DataFrame:
        """What each ordered pair of a job's endpoints carried (`columns.PAIRS`).

        Raises:
            InputError: there is no such job.
        """
        return to_frame(self._pairs(job), columns.PAIRS)

    def fabric(self) -> nx.MultiGraph:
        """Switches and endpoints as nodes, cables as edges with ports, speed and load; empty without an inventory."""
        from flowprism.notebook.graphs import fabric_graph

        return fabric_graph(self._source.fabric())

    def waits(self, job: str, iteration: int) -> nx.DiGraph:
        """Who waited for which endpoint in one iteration: an edge from the waiting to the awaited endpoint, with times.

        Raises:
            InputError: there is no such job.
        """
        from flowprism.notebook.graphs import waits_graph

        return waits_graph(self._timeline(job, iteration))

    def to_arrow(self) -> dict[str, pa.Table]:
        """All tables by name; `timeline` and `pairs` are those of all jobs, with the job in front.

        Those that a service does not keep are left out.
        """
        found = self._findings
        further = {"traffic": self._source.traffic(), "serving": self._source.serving()}
        return {
            "jobs": arrow_tables.jobs_table(self._reports),
            "iterations": arrow_tables.iterations_table(self._source.iterations()),
            "timeline": self._of_all_jobs({job.id: self._timeline(job.id, None) for job in self._reports}),
            "pairs": self._of_all_jobs({job.id: self._pairs(job.id) for job in self._reports}),
            "findings": arrow_tables.findings_table(found),
            "suspects": arrow_tables.suspects_table(found),
            "evidence": arrow_tables.evidence_table(found),
            "feeds": self._feeds_table(),
            **{name: table for name, table in further.items() if table is not None},
        }

    def plot(self, job: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw iteration times of one job or of all, with bands where findings are on.

        Raises:
            MissingExtraError: matplotlib is not installed.
            InputError: there is no such job.
        """
        require("matplotlib")
        from flowprism.notebook.plots import plot_iterations

        wanted = [self._known(job)] if job is not None else [one.id for one in self._reports]
        return plot_iterations(self.iterations, self.findings, wanted, ax)

    def __repr__(self) -> str:
        return f"<flowprism.AnalysisFrames: {self._heading()}>"

    def _repr_html_(self) -> str:
        shown = [frame.to_html(index=False, max_rows=_SHOWN_ROWS) for frame in (self.jobs, self.findings) if len(frame)]
        doubts = "".join(f"<li>{escape(text)}</li>" for text in self._source.doubts())
        return f"<p>{self._heading()}</p>{''.join(shown)}{f'<ul>{doubts}</ul>' if doubts else ''}"

    def _heading(self) -> str:
        window = self._source.window
        found = f"{plural(len(self._reports), 'job')}, {plural(len(self._findings), 'finding')}"
        return f"{utc(window.start_ns)} to {utc(window.end_ns)} UTC: {found}"

    @cached_property
    def _reports(self) -> list[JobReport]:
        return sorted(self._source.jobs(), key=lambda one: one.id)

    @cached_property
    def _findings(self) -> list[Finding]:
        return list(self._source.findings())

    @staticmethod
    def _required(table: pa.Table | None) -> pa.Table:
        if table is None:
            raise InputError("a service keeps the sums of each class only (GET /api/v1/traffic): analyze the records")
        return table

    def _feeds_table(self) -> pa.Table:
        rows = sorted(self._source.feeds(), key=lambda row: str(row["exporter"]))
        return build(columns.FEEDS, {name: [row.get(name) for row in rows] for name in columns.FEEDS.schema.names})

    def _timeline(self, job: str, iteration: int | None) -> pa.Table:
        return arrow_tables.timeline_table(self._source.spans(self._known(job), iteration))

    def _pairs(self, job: str) -> pa.Table:
        return arrow_tables.pairs_table(self._source.pairs(self._known(job)))

    def _known(self, job: str) -> str:
        names = [one.id for one in self._reports]
        if job not in names:
            raise InputError(f"there is no job {job!r}; there {'are' if names else 'is'} {', '.join(names) or 'none'}")
        return job

    def _of_all_jobs(self, tables: dict[str, pa.Table]) -> pa.Table:
        parts = [
            table.add_column(0, "job", pa.repeat(name, table.num_rows).dictionary_encode())
            for name, table in tables.items()
        ]
        return pa.concat_tables(parts).unify_dictionaries() if parts else pa.table({})
