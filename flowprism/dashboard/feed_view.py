"""What the feeds page tells of exporters and of the parts of the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from datamodel.answers import FeedRow, Part
from flowprism.rendering.figures.svg import Drawing
from flowprism.rendering.units import count, duration, plural, scaled, significant

SILENT_PART_S = 15.0  # parts tell how they go every few seconds
_WIDTH, _HEIGHT = 132, 30


@dataclass(frozen=True, slots=True)
class Exporter:
    """One exporter in the table.

    Attributes:
        row: what it sent.
        tone, state: how it is, as a mark and in a word.
        records_per_s: mean since it was first heard in the time that is told.
        lost_ratio: of its datagrams.
        figure: records in each stretch.
    """

    row: FeedRow
    tone: str
    state: str
    records_per_s: float
    lost_ratio: float
    figure: str


@dataclass(frozen=True, slots=True)
class Running:
    """One part of the service: how it is, and its figures in words."""

    part: Part
    tone: str
    state: str
    figures: tuple[tuple[str, str], ...]


def exporters(rows: Sequence[FeedRow]) -> list[Exporter]:
    """Exporters, silent ones first, then those that lose most."""
    found = [_exporter(row) for row in rows]
    return sorted(found, key=lambda one: (not one.row.silent, -one.lost_ratio, one.row.exporter))


def _exporter(row: FeedRow) -> Exporter:
    sent = row.datagrams + row.lost
    lost_ratio = row.lost / sent if sent else 0.0
    whole_s = max(len(row.trend) - heard_from(row), 1) * row.step_ns / 1e9
    tone, state = ("critical", "silent") if row.silent else ("good", "well")
    if not row.silent and (lost_ratio >= 0.01 or row.rejected):
        tone, state = "warning", "loses" if lost_ratio >= 0.01 else "rejected in part"
    return Exporter(row, tone, state, row.records / whole_s, lost_ratio, draw_records(row))


def heard_from(row: FeedRow) -> int:
    """The first stretch that brought any records: what lies before it is no silence."""
    return next((n for n, records in enumerate(row.trend) if records), len(row.trend))


def draw_records(row: FeedRow) -> str:
    """The figure: a bar a stretch, as high as it brought records; a stretch of silence is a mark at the foot."""
    most = max([*row.trend, 1])
    step = duration(row.step_ns / 1e9)
    label = f"records each {step}: {count(row.trend[-1]) if row.trend else 0} in the newest, at most {count(most)}"
    drawing = Drawing(_WIDTH, _HEIGHT, label, "records")
    slot = _WIDTH / max(len(row.trend), 12)
    for n, records in list(enumerate(row.trend))[heard_from(row) :]:
        height = max(records / most * (_HEIGHT - 2), 2.0)
        css = "bar" if records else "bar none"
        left = _WIDTH - (len(row.trend) - n) * slot
        drawing.add("rect", x=left + slot * 0.1, y=_HEIGHT - height, width=slot * 0.8, height=height, css=css)
    return drawing.markup()


def running(parts: Sequence[Part], now_ns: int) -> list[Running]:
    """Parts of the service: what is not well or silent first."""
    found = [_running(part, now_ns) for part in parts]
    return sorted(found, key=lambda one: (one.tone == "good", one.part.kind, one.part.name))


def _running(part: Part, now_ns: int) -> Running:
    silent_s = (now_ns - part.seen_ns) / 1e9
    if silent_s > SILENT_PART_S:
        tone, state = "critical", "silent"
    else:
        tone, state = ("good", "well") if part.healthy else ("warning", "not well")
    told = tuple((_name(name), _value(name, value)) for name, value in sorted(part.figures.items()))
    return Running(part, tone, state, told)


def _name(figure: str) -> str:
    return figure.removesuffix("_total").removesuffix("_seconds").removesuffix("_bytes").replace("_", " ")


def _value(figure: str, value: float) -> str:
    """A figure with the unit that its name ends with."""
    plain = figure.removesuffix("_total")
    if plain.endswith("_seconds"):
        return duration(value)
    if plain.endswith("_bytes"):
        return scaled(value, "B")
    return count(int(value)) if value == int(value) else significant(value)


def summary(found: Sequence[Exporter]) -> str:
    """All exporters in one sentence."""
    records = sum(one.records_per_s for one in found)
    lost, sent = sum(one.row.lost for one in found), sum(one.row.datagrams for one in found)
    share = f"{significant(100 * lost / (lost + sent))} % of datagrams lost" if lost else "nothing lost"
    return f"{plural(len(found), 'exporter')}, {significant(records)} records a second, {share}"
