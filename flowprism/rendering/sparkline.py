"""Iteration times as one line of block characters, with findings and events marked under the place they begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reports.findings import Event, Finding
from datamodel.reports.report import JobReport
from flowprism.rendering.facts import Floats, iteration_at, iteration_seconds

_BLOCKS = "▁▂▃▄▅▆▇█"
_EVENT_MARKS = {
    "start": "s",
    "end": "e",
    "restart": "r",
    "checkpoint": "c",
    "evaluation": "v",
    "membership_change": "m",
    "pause": "p",
    "new_baseline": "b",
}


@dataclass(frozen=True, slots=True)
class Sparkline:
    """The bars, the marks beneath them column by column, and what each mark means."""

    bars: str
    marks: str
    key: tuple[str, ...]


def sparkline(job: JobReport, findings: Iterable[Finding], events: Iterable[Event], width: int) -> Sparkline:
    """At most `width` columns; where iterations outnumber them, each column shows its slowest iteration."""
    seconds = iteration_seconds(job)
    columns = min(len(seconds), max(width, 1))
    column_of = np.arange(len(seconds)) * columns // len(seconds)
    heights = np.full(columns, -np.inf)
    np.maximum.at(heights, column_of, seconds)
    marks = [" "] * columns
    place = {iteration.index: int(column_of[n]) for n, iteration in enumerate(job.iterations)}
    key = []
    for mark, time_ns, what in [*_events(events), *_findings(findings)]:  # a finding overwrites an event
        index = iteration_at(job, time_ns)
        if index is not None:
            marks[place[index]] = mark
            key.append(f"{mark} {what}, iteration {index}")
    return Sparkline(_bars(heights), "".join(marks).rstrip(), tuple(key))


def _bars(heights: Floats) -> str:
    low, high = float(heights.min()), float(heights.max())
    # Nothing below 5 % is ever reported as a fault: noise is not blown up to look like one.
    reach = max(high - low, 0.05 * low) or 1.0
    levels: Sequence[int] = ((heights - low) / reach * (len(_BLOCKS) - 1) + 0.5).astype(int).tolist()
    return "".join(_BLOCKS[level] for level in levels)


def _events(events: Iterable[Event]) -> list[tuple[str, int, str]]:
    return [(_EVENT_MARKS[e.kind], e.start_ns, e.kind.replace("_", " ")) for e in events]


def _findings(findings: Iterable[Finding]) -> list[tuple[str, int, str]]:
    return [("!", f.start_ns, f"{f.severity} {f.kind.replace('_', ' ')}") for f in findings]
