"""A finding's suspect against its peers: iteration by iteration, and pair by pair."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from datamodel.reports.findings import Finding
from datamodel.reports.report import JobReport
from flowprism.rendering.endpoint_order import Position
from flowprism.rendering.facts import Floats, inside
from flowprism.rendering.figures.svg import Drawing, Scale, polyline, round_ticks
from flowprism.rendering.figures.timeline import spans_of
from flowprism.rendering.lanes import Times
from flowprism.rendering.names import Names
from flowprism.rendering.units import duration, plural, significant

LINK_KINDS = frozenset({"slow_link", "slow_uplink", "contention"})
_NETWORK = ("pp_send", "pp_recv", "dp_comm", "ep_comm", "cp_comm")
_MOST_COLUMNS = 240
_MOST_SUSPECTS = 6
_WIDTH, _HEIGHT = 1080, 224
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 900, 14, 186


@dataclass(frozen=True, slots=True)
class PeerSeries:
    """One number per iteration of each suspect, and its range over the peers.

    Attributes:
        measure: what the number is, as a heading.
        is_ratio: the numbers are ratios to the job's median; else seconds.
        iterations: index of each column.
        suspects: address -> numbers, shape (columns,); nan where there is none.
        low, middle, high: 10th percentile, median and 90th percentile over the peers, shape (columns,).
        peers: how many peers there are.
    """

    measure: str
    is_ratio: bool
    iterations: Times
    suspects: dict[str, Floats]
    low: Floats
    middle: Floats
    high: Floats
    peers: int

    def show(self, value: float) -> str:
        """A number of the series with its unit; nothing where there is none."""
        if not np.isfinite(value):
            return ""
        return f"{significant(value)} ×" if self.is_ratio else duration(value)


def peer_series(
    finding: Finding, job: JobReport, timelines: Timelines, placed: Sequence[Position], suspects: Collection[str]
) -> PeerSeries | None:
    """Compute time per iteration, or for faults of links how long bytes take; None without suspects or peers.

    Peers are the job's other endpoints of the same pipeline stage, because stages differ in work; where there are
    none, or the finding compares stages, all others.
    """
    marked = [p for p in placed if p.address in suspects]
    stages = {p.stage for p in marked}
    others = [p for p in placed if p.address not in suspects]
    same = [p for p in others if p.stage in stages]
    peers = same if same and finding.kind != "imbalance" else others
    spans = spans_of(timelines, job.id)
    spans = spans.take(spans["iteration"] >= 0)
    if not marked or not peers or len(spans) == 0:
        return None
    known_iterations, number = np.unique(spans["iteration"], return_inverse=True)
    spans = spans.replace(iteration=number)  # a job counts iterations on since it was first seen
    code_of = {address: code for code, address in enumerate(timelines.addresses)}
    codes = np.array([code_of.get(p.address, -1) for p in (*marked[:_MOST_SUSPECTS], *peers)], np.int64)
    is_link = finding.kind in LINK_KINDS
    table = slowness(spans, codes) if is_link else _computing(spans, codes)
    indices = np.array([i.index for i in job.iterations], np.int64)
    table = _at(table, known_iterations, indices)
    first = min(len(marked), _MOST_SUSPECTS)
    known = np.isfinite(table[:, first:]).any(axis=1)
    if not known.any():
        return None
    columns, table = _fewer(indices[known], table[known])
    low, middle, high = np.nanpercentile(table[:, first:], (10, 50, 90), axis=1)
    own = {p.address: table[:, n] for n, p in enumerate(marked[:first])}
    measure = "Time to move a byte, against the job's median" if is_link else "Compute time per iteration"
    return PeerSeries(measure, is_link, columns, own, low, middle, high, len(peers))


def _computing(spans: Frame, codes: Times) -> Floats:
    """Seconds of compute, shape (iterations, codes); nan where an endpoint has none."""
    return _sums(spans, codes, ("compute",), (spans["end_ns"] - spans["start_ns"]) / 1e9)


def slowness(spans: Frame, codes: Times) -> Floats:
    """Seconds per byte by kind of span against the median over all endpoints, then the mean over kinds.

    Shape (iterations, codes), of spans whose iterations are numbered from 0. Taken by kind, because a chain's and a
    ring's messages differ in size and pace.
    """
    everyone = np.unique(spans["endpoint"])
    place = np.searchsorted(everyone, codes)
    ratios = []
    for kind in _NETWORK:
        seconds = _sums(spans, everyone, (kind,), (spans["end_ns"] - spans["start_ns"]) / 1e9)
        moved = _sums(spans, everyone, (kind,), spans["bytes"].astype(np.float64))
        pace = np.divide(seconds, moved, out=np.full_like(seconds, np.nan), where=moved > 0)
        usual = np.nanmedian(pace) if np.isfinite(pace).any() else np.nan
        ratios.append(pace / usual)
    stacked = np.array(ratios)
    kinds = np.isfinite(stacked).sum(axis=0)
    total = np.nansum(stacked, axis=0)
    mean: Floats = np.divide(total, kinds, out=np.full_like(total, np.nan), where=kinds > 0)
    missing = (place >= len(everyone)) | (everyone[np.minimum(place, len(everyone) - 1)] != codes)
    mean = mean[:, np.where(missing, 0, place)]
    mean[:, missing] = np.nan
    return mean


def _sums(spans: Frame, codes: Times, kinds: tuple[str, ...], values: Floats) -> Floats:
    """Sum of `values` by iteration and endpoint over spans of `kinds`, shape (last + 1, codes); nan if none."""
    rows = int(spans["iteration"].max()) + 1
    chosen = np.isin(spans["span"], [SPAN_NAMES.index(kind) for kind in kinds]) & np.isin(spans["endpoint"], codes)
    order = np.argsort(codes, kind="stable")
    column = order[np.searchsorted(codes[order], spans["endpoint"][chosen])]
    flat = spans["iteration"][chosen] * len(codes) + column
    total = np.bincount(flat, weights=values[chosen], minlength=rows * len(codes)).astype(np.float64)
    total[np.bincount(flat, minlength=rows * len(codes)) == 0] = np.nan
    sums: Floats = total.reshape(rows, len(codes))
    return sums


def _at(table: Floats, known: Times, indices: Times) -> Floats:
    """Rows of the given iteration indices, of a table with a row for each known one; nan for those without spans."""
    padded = np.vstack([table, np.full((1, table.shape[1]), np.nan)])
    place = np.minimum(np.searchsorted(known, indices), len(known) - 1)
    rows: Floats = padded[np.where(known[place] == indices, place, len(table))]
    return rows


def _fewer(indices: Times, table: Floats) -> tuple[Times, Floats]:
    """At most `_MOST_COLUMNS` rows: a run of iterations becomes its largest values, under its first index."""
    if len(indices) <= _MOST_COLUMNS:
        return indices, table
    bounds = np.linspace(0, len(indices), _MOST_COLUMNS + 1).astype(int)[:-1]
    return indices[bounds], np.fmax.reduceat(table, bounds, axis=0)


def draw_peers(series: PeerSeries, stretches: Sequence[Finding], job: JobReport, names: Names) -> str:
    """The figure: iterations across, the peers' middle 80 % as a band with its median, each suspect as a line.

    `stretches` are the times in which something was wrong, marked behind.
    """
    tops = [float(np.nanmax(v)) for v in series.suspects.values() if np.isfinite(v).any()]
    lows = [float(np.nanmin(v)) for v in series.suspects.values() if np.isfinite(v).any()]
    high, low = max([float(series.high.max()), *tops]), min([float(series.low.min()), *lows])
    label = f"{series.measure}: {plural(len(series.suspects), 'suspect')} against {plural(series.peers, 'peer')}"
    drawing = Drawing(_WIDTH, _HEIGHT, label, "wide")
    x = Scale(float(series.iterations[0]), float(series.iterations[-1]), _LEFT, _RIGHT)
    y = Scale(min(low, 0.9 * high), high * 1.02, _BOTTOM, _TOP)
    for value in round_ticks(y.low, y.high, 4):
        drawing.add("line", x1=_LEFT, x2=_RIGHT, y1=y(value), y2=y(value), css="grid")
        drawing.add("text", series.show(value), x=_LEFT - 8, y=y(value) + 4, css="tick end")
    for value in round_ticks(x.low, x.high, 10):
        if value == int(value):
            drawing.add("text", f"{value:.0f}", x=x(value), y=_BOTTOM + 18, css="tick middle")
    drawing.add("text", "iteration", x=_LEFT, y=_BOTTOM + 33, css="note")
    for finding in stretches:
        _since(drawing, finding, job, x)
    columns = [x(float(i)) for i in series.iterations]
    band = [*zip(columns, map(y, series.high), strict=True)], [*zip(columns, map(y, series.low), strict=True)]
    drawing.add("path", d=polyline([*band[0], *reversed(band[1])]) + "Z", css="spread")
    drawing.add("path", d=polyline([*zip(columns, map(y, series.middle), strict=True)]), css="peers")
    _ends(drawing, series, columns, y, names)
    return drawing.markup()


def _since(drawing: Drawing, finding: Finding, job: JobReport, x: Scale) -> None:
    on = [i.index for i, hit in zip(job.iterations, inside(job, finding).tolist(), strict=True) if hit]
    if not on:
        return
    start, end = (x(min(max(index, x.low), x.high)) for index in (on[0], on[-1]))
    height = _BOTTOM - _TOP
    drawing.add("rect", x=start, y=_TOP, width=max(end - start, 1), height=height, css=f"band {finding.severity}")


def _ends(drawing: Drawing, series: PeerSeries, columns: Sequence[float], y: Scale, names: Names) -> None:
    """The suspects' lines, and at the right end of every line whose it is, kept apart where lines meet."""
    labels = [(y(float(series.middle[-1])), f"median of {plural(series.peers, 'peer')}", "note")]
    for address, values in series.suspects.items():
        points = [(px, y(v)) for px, v in zip(columns, values.tolist(), strict=True) if np.isfinite(v)]
        if points:
            drawing.add("path", title=names.full(address), d=polyline(points), css="suspect")
            labels.append((points[-1][1], names.short(address), "note hit"))
    lowest = float("-inf")
    for py, text, css in sorted(labels):
        lowest = max(py + 4, lowest + 14)
        drawing.add("text", text, x=_RIGHT + 10, y=lowest, css=css)


@dataclass(frozen=True, slots=True)
class LatePairs:
    """How late pairs deliver against their peers, those a finding touches and the others: (sender, receiver, ratio)."""

    touched: tuple[tuple[str, str, float], ...]
    others: tuple[tuple[str, str, float], ...]


def late_pairs(pairs: Frame, timelines: Timelines, touched: Collection[str], *, across: bool) -> LatePairs | None:
    """Pairs with a known lateness, split by whether they touch the endpoints `touched`.

    With `across` only pairs with one end among them count as touched: those that leave a leaf by its uplinks. None
    where either side is empty.
    """
    addresses = timelines.addresses
    sides: tuple[list[tuple[str, str, float]], list[tuple[str, str, float]]] = ([], [])
    for src, dst, late in zip(pairs["src"].tolist(), pairs["dst"].tolist(), pairs["late_ratio"].tolist(), strict=True):
        if np.isfinite(late) and late > 0:
            ends = (addresses[src] in touched) + (addresses[dst] in touched)
            hit = ends == 1 if across else ends > 0
            sides[0 if hit else 1].append((addresses[src], addresses[dst], late))
    if not sides[0] or not sides[1]:
        return None
    return LatePairs(*(tuple(sorted(side, key=lambda p: (-p[2], p[0], p[1]))) for side in sides))


_STRIP_MOST = 400
_STRIP_TOP, _STRIP_ROW = 26, 46


def draw_late_pairs(late: LatePairs, names: Names) -> str:
    """The figure: one dot a pair on a log axis of lateness, the finding's pairs above, the others below."""
    drawing = Drawing(_WIDTH, _STRIP_TOP + 2 * _STRIP_ROW + 34, "Lateness of pairs against their peers", "wide")
    everyone = [ratio for _, _, ratio in (*late.touched, *late.others)]
    x = Scale(np.log10(min(0.8, *everyone)), np.log10(max(2.0, *everyone)) + 0.05, _LEFT + 96, _RIGHT + 150)
    bottom = _STRIP_TOP + 2 * _STRIP_ROW
    for value in (0.5, 0.8, 1, 1.5, 2, 3, 5, 10, 20, 50, 100):
        if x.low <= np.log10(value) <= x.high:
            px = x(float(np.log10(value)))
            drawing.add("line", x1=px, x2=px, y1=_STRIP_TOP - 8, y2=bottom, css="grid")
            drawing.add("text", f"{value:g} ×", x=px, y=bottom + 16, css="tick middle")
    for row, (name, side, css) in enumerate((("suspected", late.touched, "dot hit"), ("others", late.others, "dot"))):
        middle = _STRIP_TOP + (row + 0.5) * _STRIP_ROW
        drawing.add("text", f"{name} ({len(side)})", x=_LEFT + 80, y=middle + 4, css="tick end")
        for n, (src, dst, ratio) in enumerate(side[:: -(-len(side) // _STRIP_MOST)]):
            hint = f"{names.full(src)} → {names.full(dst)}: {significant(ratio)} times as long as its peers"
            py = middle + (n % 5 - 2) * 6
            drawing.add("circle", title=hint, cx=x(float(np.log10(ratio))), cy=py, r=3.2, css=css)
    return drawing.markup()
