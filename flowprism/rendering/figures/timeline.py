"""What every endpoint did in one iteration: lanes of spans, grouped by pipeline stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from datamodel.reports.findings import Finding
from datamodel.reports.report import JobReport
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import inside, iteration_seconds
from flowprism.rendering.figures.svg import Drawing, Scale, round_ticks
from flowprism.rendering.lanes import Times, assign_lanes
from flowprism.rendering.names import Names
from flowprism.rendering.units import duration, volume

MOST_LANES = 48
_MOST_BARS = 6000
_WIDTH, _LEFT, _RIGHT = 1080, 132, 1068
_TOP, _AXIS = 10, 30
_ROW, _GAP, _STAGE_GAP = 9, 5, 22
_MOST_ROWS = 3  # one for compute and waiting, the others for the network
_COMPUTING = tuple(SPAN_NAMES.index(name) for name in ("compute", "wait", "idle"))


@dataclass(frozen=True, slots=True)
class Bars:
    """Spans as they are drawn, one entry a bar: row in the lane, kind, extent in ns, number of spans, peer, bytes."""

    row: Times
    span: Times
    start_ns: Times
    end_ns: Times
    count: Times
    peer: Times
    moved: Times

    def __len__(self) -> int:
        return len(self.row)


def representative(job: JobReport, findings: Sequence[Finding], timelines: Timelines) -> int | None:
    """Index of the iteration to draw: of median time, inside the first finding where there is one.

    Of those that have spans; None where none has.
    """
    drawn = set(np.unique(spans_of(timelines, job.id)["iteration"]).tolist())
    has_spans = np.array([i.index in drawn for i in job.iterations], np.bool_)
    chosen = has_spans
    for finding in findings:
        if (has_spans & inside(job, finding)).any():
            chosen = has_spans & inside(job, finding)
            break
    rows = np.flatnonzero(chosen)
    if len(rows) == 0:
        return None
    order = rows[np.argsort(iteration_seconds(job)[rows], kind="stable")]
    return job.iterations[int(order[len(order) // 2])].index


def spans_of(timelines: Timelines, job_id: str) -> Frame:
    """The spans of one job."""
    code = timelines.jobs.index(job_id) if job_id in timelines.jobs else -1
    return timelines.spans.take(timelines.spans["job"] == code)


def selected(placed: Sequence[Position], suspects: Collection[str]) -> list[Position]:
    """At most `MOST_LANES` endpoints: suspects, some of all parts, and those nearest to suspects by group."""
    size = Counter(group for p in placed for group in p.groups)
    shared = {group for p in placed if p.address in suspects for group in p.groups}
    even = {p.number for p in placed[:: -(-len(placed) // (MOST_LANES // 2))]}

    def rank(position: Position) -> tuple[bool, bool, int, int]:
        nearest = min((size[group] for group in shared.intersection(position.groups)), default=len(placed))
        return position.address not in suspects, position.number not in even, nearest, position.number

    return sorted(sorted(placed, key=rank)[:MOST_LANES], key=lambda p: p.number)


def draw_timeline(
    spans: Frame, timelines: Timelines, placed: Sequence[Position], suspects: Collection[str], names: Names
) -> str:
    """The figure for the spans of one iteration and the endpoints `placed`, in that order."""
    begin_ns, end_ns = int(spans["start_ns"].min()), int(spans["end_ns"].max())
    lanes = _lanes(spans, timelines, placed, (end_ns - begin_ns) / (_RIGHT - _LEFT))
    rows = max((int(bars.row.max()) + 1 for bars in lanes if len(bars)), default=1)
    stages = [p.stage for p in placed]
    headings = len(set(stages)) if any(stage is not None for stage in stages) else 0
    height = _TOP + _AXIS + len(placed) * (rows * _ROW + _GAP) + headings * _STAGE_GAP
    took = duration((end_ns - begin_ns) / 1e9)
    drawing = Drawing(_WIDTH, height, f"Timeline of one iteration of {took}, {len(placed)} endpoints", "wide timeline")
    x = Scale(begin_ns, end_ns, _LEFT, _RIGHT)
    _time_axis(drawing, x, height)
    y = float(_TOP)
    for n, (position, bars) in enumerate(zip(placed, lanes, strict=True)):
        if headings and (n == 0 or stages[n] != stages[n - 1]):
            _stage(drawing, position.stage, y)
            y += _STAGE_GAP
        _lane(drawing, position, y, rows, position.address in suspects, names)
        _bars(drawing, bars, y, x, timelines, names)
        y += rows * _ROW + _GAP
    return drawing.markup()


def _stage(drawing: Drawing, stage: int | None, y: float) -> None:
    drawing.add("text", "in no stage" if stage is None else f"stage {stage}", x=4, y=y + 14, css="stage")
    drawing.add("line", x1=4, x2=_RIGHT, y1=y + 18.5, y2=y + 18.5, css="axis")


def _time_axis(drawing: Drawing, x: Scale, height: float) -> None:
    bottom = height - _AXIS + 4
    for milliseconds in round_ticks(0, (x.high - x.low) / 1e6, 9):
        px = x(x.low + milliseconds * 1e6)
        drawing.add("line", x1=px, x2=px, y1=_TOP, y2=bottom, css="grid")
        drawing.add("text", duration(milliseconds / 1e3), x=px, y=bottom + 16, css="tick middle")


def _lane(drawing: Drawing, position: Position, y: float, rows: int, suspect: bool, names: Names) -> None:
    middle = y + rows * _ROW / 2 + 4
    height = rows * _ROW
    css = "lane hit" if suspect else "lane"
    drawing.add("rect", x=_LEFT, y=y, width=_RIGHT - _LEFT, height=height, css=css)
    hint = f"{names.full(position.address)}: {', '.join(position.groups)}"
    label = f"{'▸ ' if suspect else ''}{position.number} {names.short(position.address)}"
    drawing.add("text", label, title=hint, x=_LEFT - 8, y=middle, css="tick end hit" if suspect else "tick end")


def _bars(drawing: Drawing, bars: Bars, y: float, x: Scale, timelines: Timelines, names: Names) -> None:
    for n in range(len(bars)):
        start, end = int(bars.start_ns[n]), int(bars.end_ns[n])
        width = max(x(end) - x(start), 0.4)
        kind = SPAN_NAMES[int(bars.span[n])]
        hint = _hint(kind, bars, n, timelines, names) if width >= 2 else ""
        top = y + int(bars.row[n]) * _ROW + 0.5
        drawing.add("rect", title=hint, x=x(start), y=top, width=width, height=_ROW - 1, css=f"span {kind}")


def _hint(kind: str, bars: Bars, n: int, timelines: Timelines, names: Names) -> str:
    took = duration((int(bars.end_ns[n]) - int(bars.start_ns[n])) / 1e9)
    many = int(bars.count[n])
    text = f"{kind.replace('_', ' ')} {took}" if many == 1 else f"{many} × {kind.replace('_', ' ')} in {took}"
    if bars.peer[n] >= 0 and many == 1:
        direction = {"wait": "for", "pp_recv": "from"}.get(kind, "to")
        text += f" {direction} {names.full(timelines.addresses[int(bars.peer[n])])}"
    return text + (f", {volume(int(bars.moved[n]))}" if bars.moved[n] else "")


def _lanes(spans: Frame, timelines: Timelines, placed: Sequence[Position], ns_per_px: float) -> list[Bars]:
    """The bars of each endpoint, merged until the picture holds few enough of them."""
    codes = {address: code for code, address in enumerate(timelines.addresses)}
    each = [spans.take(spans["endpoint"] == codes.get(p.address, -1)) for p in placed]
    rows = [_rows(own) for own in each]
    finest_px = 0.75
    while True:
        lanes = [merged(own, row, finest_px * ns_per_px) for own, row in zip(each, rows, strict=True)]
        if sum(map(len, lanes)) <= _MOST_BARS:
            return lanes
        finest_px *= 2


def _rows(spans: Frame) -> Times:
    """Row of each span within its lane: computing and waiting on row 0, the network below without overlap."""
    row = np.zeros(len(spans), np.int64)
    network = np.flatnonzero(~np.isin(spans["span"], _COMPUTING))
    lanes, _ = assign_lanes(spans["start_ns"][network], spans["end_ns"][network])
    row[network] = np.minimum(1 + lanes, _MOST_ROWS - 1)
    return row


def merged(spans: Frame, row: Times, finest_ns: float) -> Bars:
    """Bars of spans; neighbours of one row and kind join where they, and their gap, are below `finest_ns`."""
    order = np.lexsort((spans["start_ns"], spans["span"], row))
    start, end = spans["start_ns"][order], spans["end_ns"][order]
    kind, row = spans["span"][order], row[order]
    narrow = end - start < finest_ns
    joins = (kind[1:] == kind[:-1]) & (row[1:] == row[:-1]) & (start[1:] - end[:-1] < finest_ns)
    joins &= narrow[1:] & narrow[:-1]
    first = np.flatnonzero(np.concatenate([[True], ~joins])) if len(order) else np.empty(0, np.int64)
    if len(first) == 0:
        return Bars(*(np.empty(0, np.int64) for _ in range(7)))
    count = np.diff(np.append(first, len(order)))
    moved = np.add.reduceat(spans["bytes"][order], first)
    return Bars(
        row[first],
        kind[first],
        start[first],
        np.maximum.reduceat(end, first),
        count,
        spans["peer"][order][first],
        moved,
    )
