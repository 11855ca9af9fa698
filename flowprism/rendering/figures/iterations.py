"""The time of every iteration of a job, with its findings and events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

import numpy as np

from datamodel.reports.findings import Event, Finding
from datamodel.reports.report import JobReport
from flowprism.rendering.facts import Flags, Floats, inside, iteration_seconds
from flowprism.rendering.figures.svg import Drawing, Scale, polyline, round_ticks
from flowprism.rendering.figures.time_axis import time_ticks
from flowprism.rendering.units import duration, utc

WIDTH, HEIGHT = 1080, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 1068, 46, 226
_MOST_POINTS = 240
WITHIN = 1.96  # standard errors either way hold 95 % of a normal error
_DOT_PX = 6.4  # across a dot: shorter lines would be hidden behind it
_LABEL_HIGH = 14  # a line of letters
_LABEL_PX = 6.2  # the widest a letter of a label gets


@dataclass(frozen=True, slots=True)
class IterationRow:
    """One row of the figure's table: one iteration, or several where there are too many to draw."""

    first: int
    last: int
    start_ns: int
    fastest_s: float
    median_s: float
    slowest_s: float
    hit: bool


def iteration_rows(job: JobReport, findings: Sequence[Finding]) -> list[IterationRow]:
    """Iterations in at most `_MOST_POINTS` rows; `hit` where a finding is on."""
    seconds = iteration_seconds(job)
    hit = _hit(job, findings)
    bounds = np.linspace(0, len(seconds), min(len(seconds), _MOST_POINTS) + 1).astype(int)
    rows = []
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        part = seconds[begin:end]
        first, last = job.iterations[begin], job.iterations[end - 1]
        spread = float(part.min()), float(np.median(part)), float(part.max())
        rows.append(IterationRow(first.index, last.index, first.start_ns, *spread, bool(hit[begin:end].any())))
    return rows


def _hit(job: JobReport, findings: Sequence[Finding]) -> Flags:
    flags = np.zeros(len(job.iterations), np.bool_)
    for finding in findings:
        flags |= inside(job, finding)
    return flags


def draw_iterations(job: JobReport, findings: Sequence[Finding], events: Sequence[Event], zone: tzinfo = UTC) -> str:
    """The figure: time across, seconds up, one dot an iteration (a band from fastest to slowest where there are many).

    The axis reaches at least a tenth of the median to either side: noise that no one would report looks like noise.

    Args:
        job: whose iterations.
        findings: each is a band with its name; a dashed line shows the median inside and outside of them.
        events: each is a line, or a band where it lasts.
        zone: of the times beneath.
    """
    seconds = iteration_seconds(job)
    median = float(np.median(seconds))
    begin_ns, end_ns = job.iterations[0].start_ns, job.iterations[-1].end_ns
    low, high = min(float(seconds.min()), 0.9 * median), max(float(seconds.max()), 1.1 * median)
    label = f"Iteration times: {len(seconds)} iterations, median {duration(median)}, slowest {duration(high)}"
    drawing = Drawing(WIDTH, HEIGHT, label, "wide")
    x = Scale(begin_ns, end_ns, LEFT, RIGHT)
    y = Scale(low - 0.04 * (high - low), high + 0.04 * (high - low), BOTTOM, TOP if findings or events else 14)
    draw_axes(drawing, x, y, zone)
    for finding in findings:
        mark_finding(drawing, finding, x)
    mark_events(drawing, events, x)
    labels = _medians(drawing, job, findings, seconds, x, y)
    rows = iteration_rows(job, findings)
    if all(row.first == row.last for row in rows):
        _errors(drawing, job, seconds, x, y)
    _points(drawing, rows, x, y)
    for words, at_x, at_y in labels:
        drawing.add("text", words, x=at_x, y=at_y, css="note halo")
    return drawing.markup()


def _errors(drawing: Drawing, job: JobReport, seconds: Floats, x: Scale, y: Scale) -> None:
    """A line up and down each iteration as far as its 95 % interval reaches, where it is known and can be seen."""
    for one, value in zip(job.iterations, seconds.tolist(), strict=True):
        if one.duration_error_ns is None:
            continue
        reach = WITHIN * one.duration_error_ns / 1e9
        top, bottom = (min(max(y(value + side * reach), TOP - 20), BOTTOM) for side in (1, -1))
        if bottom - top > _DOT_PX:
            px = x(one.start_ns)
            drawing.add("line", title=f"± {duration(reach)}, 95 %", x1=px, x2=px, y1=top, y2=bottom, css="error")


def draw_axes(drawing: Drawing, x: Scale, y: Scale, zone: tzinfo) -> None:
    """Seconds up, times of day across."""
    for value in round_ticks(y.low, y.high, 5):
        drawing.add("line", x1=LEFT, x2=RIGHT, y1=y(value), y2=y(value), css="grid")
        drawing.add("text", duration(value), x=LEFT - 8, y=y(value) + 4, css="tick end")
    ticks = time_ticks(int(x.low), int(x.high), 10, zone)
    within_days = any(":" in words for _, words in ticks)  # then a script may convert them to another zone
    for at, words in ticks:
        time = str(at // 1_000_000_000) if within_days else None
        drawing.add("line", x1=x(at), x2=x(at), y1=BOTTOM, y2=BOTTOM + 5, css="axis")
        drawing.add("text", words, x=x(at), y=BOTTOM + 19, css="tick middle", data_time=time)
    drawing.add("line", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM, css="axis")


def mark_finding(drawing: Drawing, finding: Finding, x: Scale) -> None:
    """A band for as long as it is on, named at its begin."""
    start = min(max(x(finding.start_ns), LEFT), RIGHT)
    end = RIGHT if finding.end_ns is None else min(max(x(finding.end_ns), LEFT), RIGHT)
    words = f"{finding.severity}: {finding.kind.replace('_', ' ')}"
    css = f"band {finding.severity}"
    drawing.add("rect", x=start, y=TOP - 20, width=max(end - start, 2), height=BOTTOM - TOP + 20, css=css)
    drawing.add("line", x1=start, x2=start, y1=TOP - 20, y2=BOTTOM, css=f"edge {finding.severity}")
    at, anchor = _beside(start, words)
    drawing.add("text", words, title=finding.summary, x=at, y=TOP - 6, css=f"mark {finding.severity} {anchor}")


def _beside(px: float, words: str) -> tuple[float, str]:
    """Where a label goes that begins at `px`, and its anchor: to the left where it would run out of the figure."""
    if px + 6 + _LABEL_PX * len(words) > RIGHT:
        return px - 6, "end"
    return px + 6, "start"


def mark_events(drawing: Drawing, events: Sequence[Event], x: Scale) -> None:
    """A line at each, a band where it lasts."""
    for event in events:
        px = min(max(x(event.start_ns), LEFT), RIGHT)
        words = event.kind.replace("_", " ")
        if event.end_ns is not None:
            width = max(min(x(event.end_ns), RIGHT) - px, 1)
            drawing.add("rect", x=px, y=TOP - 20, width=width, height=BOTTOM - TOP + 20, css="band event")
        drawing.add("line", x1=px, x2=px, y1=16, y2=BOTTOM, css="edge event")
        at, anchor = _beside(px, words)
        hint = f"{words} at {utc(event.start_ns)} UTC" + (f": {event.detail}" if event.detail else "")
        drawing.add("text", words, title=hint, x=at, y=20, css=f"mark event {anchor}")


def _medians(
    drawing: Drawing, job: JobReport, findings: Sequence[Finding], seconds: Floats, x: Scale, y: Scale
) -> list[tuple[str, float, float]]:
    """A dashed line at the median of what is in no finding, and one at the median inside each finding.

    Returns their labels with x and y, to be drawn over the points.
    """
    texts: list[tuple[str, float, float]] = []
    masks = [~_hit(job, findings), *(inside(job, finding) for finding in findings)]
    places = np.array([x(i.start_ns) for i in job.iterations])
    labels: list[tuple[float, float, float]] = []
    for mask in masks:
        if mask.sum() < 2:
            continue
        level = y(float(np.median(seconds[mask])))
        first, last = float(places[mask][0]), float(places[mask][-1])
        drawing.add("line", x1=first, x2=max(last, first + 1), y1=level, y2=level, css="median")
        words = f"median {duration(float(np.median(seconds[mask])))}"
        box = (first + 6, first + 6 + _LABEL_PX * len(words), level)
        if any(box[0] < right and left < box[1] and abs(level - other) < _LABEL_HIGH for left, right, other in labels):
            continue
        labels.append(box)
        near = (places >= first) & (places <= first + 8 + _LABEL_PX * len(words))
        above = sum(y(value) < level for value in seconds[near].tolist())
        named = bool(findings) and level - 8 - _LABEL_HIGH < TOP - 6  # names of findings stand there
        side = -8 if 2 * above <= near.sum() and not named else 17  # where fewer points are in the way
        texts.append((words, first + 6, level + side))
    return texts


def _points(drawing: Drawing, rows: Sequence[IterationRow], x: Scale, y: Scale) -> None:
    middles = [(x(row.start_ns), y(row.median_s)) for row in rows]
    if any(row.first != row.last for row in rows):
        upper = [(x(row.start_ns), y(row.slowest_s)) for row in rows]
        lower = [(x(row.start_ns), y(row.fastest_s)) for row in rows]
        drawing.add("path", d=polyline([*upper, *reversed(lower)]) + "Z", css="spread")
    drawing.add("path", d=polyline(middles), css="line")
    if all(row.first == row.last for row in rows):
        for (px, py), row in zip(middles, rows, strict=True):
            hint = f"iteration {row.first}: {duration(row.median_s)}, {utc(row.start_ns)} UTC"
            drawing.add("circle", title=hint, cx=px, cy=py, r=3.2, css="dot hit" if row.hit else "dot")
