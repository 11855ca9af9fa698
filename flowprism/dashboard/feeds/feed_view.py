"""Rows of the feeds page: exporters with rates, losses and clocks, and components with their heartbeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from capture.sflow.reasons import THINNED_SAMPLES
from datamodel.reports.report import ExporterClock
from datamodel.service.api_models import ComponentStatus, ExporterSampling, FeedRow
from flowprism.rendering.figures.svg import Drawing
from flowprism.rendering.units import count, duration, plural, scaled, significant

SILENT_PART_S = 15.0  # five heartbeats, which components send every three seconds
_WIDTH, _HEIGHT = 132, 30


@dataclass(frozen=True, slots=True)
class Exporter:
    """One exporter in the table.

    Attributes:
        row: what it sent.
        tone, state: its state, as a color class and as a word.
        records_per_s: mean since its first record within the time shown.
        lost_ratio: lost datagrams over sent ones.
        figure: SVG of the records per interval.
        sampling: the sampling rates of its records, as text; "" where unknown.
        doubts: evidence against that rate, one text each.
        clock: its clock offset, and the error of that, as texts; "" where unknown.
    """

    row: FeedRow
    tone: str
    state: str
    records_per_s: float
    lost_ratio: float
    figure: str
    sampling: str = ""
    doubts: tuple[str, ...] = ()
    clock: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Running:
    """One component of the service: its state, and its statistics as text."""

    part: ComponentStatus
    tone: str
    state: str
    figures: tuple[tuple[str, str], ...]


def shown(rows: Sequence[FeedRow]) -> list[Exporter]:
    """Exporters, silent ones first, then those that lose most."""
    found = [_exporter(row) for row in rows]
    return sorted(found, key=lambda one: (not one.row.silent, -one.lost_ratio, one.row.exporter))


def _exporter(row: FeedRow) -> Exporter:
    sent = row.datagrams + row.lost
    lost_ratio = row.lost / sent if sent else 0.0
    whole_s = max(len(row.trend) - first_interval(row), 1) * row.step_ns / 1e9
    doubts = doubted(row.sampling)
    tone, state = ("critical", "silent") if row.silent else ("good", "well")
    if not row.silent and (lost_ratio >= 0.01 or row.rejected or doubts):
        rejected = "thinned" if set(row.rejected) == {THINNED_SAMPLES} else "rejected in part"
        worst = "loses" if lost_ratio >= 0.01 else "sampling rate mismatch" if doubts else rejected
        tone, state = "warning", worst
    return Exporter(
        row, tone, state, row.records / whole_s, lost_ratio, draw_records(row), rates_of(row.sampling), doubts,
        clock_of(row.clock),
    )  # fmt: skip


def clock_of(clock: ExporterClock | None) -> tuple[str, str]:
    """Format a clock's offset; and its standard error, drift and reference, if that is not the collector's clock.

    Where the offset is unknown the second text is the reason.
    """
    if clock is None:
        return "", ""
    if clock.offset_s is None:
        return "unknown", clock.why or ""
    against = {"collector": "", "mirror": "the mirror"}.get(clock.against or "", clock.against)
    more = (
        "" if clock.error_s is None else f"± {duration(clock.error_s)}",
        "" if clock.drift_ppm is None else f"drifts by {significant(clock.drift_ppm)} ppm",
        f"against {against}" if against else "",
    )
    way = "ahead" if clock.offset_s >= 0 else "behind"
    return f"{duration(abs(clock.offset_s))} {way}", ", ".join(filter(None, more))


def rates_of(sampling: ExporterSampling | None) -> str:
    """Format the sampling rates of an exporter's records; "" where none is known."""
    return "" if sampling is None else ", ".join(map(_rate, sampling.rates))


def doubted(sampling: ExporterSampling | None) -> tuple[str, ...]:
    """List the evidence against the sampling rate that an exporter reports: the configured rate, its own counters."""
    if sampling is None:
        return ()
    others = [rate for rate in sampling.rates if rate and rate != sampling.configured]
    set_otherwise = [f"configured: {_rate(sampling.configured)}"] if sampling.configured and others else []
    counted = [f"{d.where}: its {d.counted} says {_rate(d.likely)}, not {_rate(d.told)}" for d in sampling.doubted]
    return (*set_otherwise, *counted)


def _rate(one_in: int) -> str:
    return {0: "unknown", 1: "every packet"}.get(one_in) or f"1:{count(one_in)}"


def first_interval(row: FeedRow) -> int:
    """Return the index of the first interval with records; the ones before it do not count as silence."""
    return next((n for n, records in enumerate(row.trend) if records), len(row.trend))


def draw_records(row: FeedRow) -> str:
    """Draw records per interval as bars; an interval without records is a mark at the baseline."""
    most = max([*row.trend, 1])
    step = duration(row.step_ns / 1e9)
    label = f"records each {step}: {count(row.trend[-1]) if row.trend else 0} in the newest, at most {count(most)}"
    drawing = Drawing(_WIDTH, _HEIGHT, label, "records")
    slot = _WIDTH / max(len(row.trend), 12)
    for n, records in list(enumerate(row.trend))[first_interval(row) :]:
        height = max(records / most * (_HEIGHT - 2), 2.0)
        css = "bar" if records else "bar none"
        left = _WIDTH - (len(row.trend) - n) * slot
        drawing.add("rect", x=left + slot * 0.1, y=_HEIGHT - height, width=slot * 0.8, height=height, css=css)
    return drawing.markup()


def running(parts: Sequence[ComponentStatus], now_ns: int) -> list[Running]:
    """Return the components of the service, silent and unhealthy ones first."""
    found = [_running(part, now_ns) for part in parts]
    return sorted(found, key=lambda one: (one.tone == "good", one.part.kind, one.part.name))


def _running(part: ComponentStatus, now_ns: int) -> Running:
    silent_s = (now_ns - part.seen_ns) / 1e9
    if silent_s > SILENT_PART_S:
        tone, state = "critical", "silent"
    else:
        tone, state = ("good", "well") if part.healthy else ("warning", "not well")
    figures = tuple((_name(name), _value(name, value)) for name, value in sorted(part.figures.items()))
    return Running(part, tone, state, figures)


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
    rate = count(round(records)) if records >= 1000 else significant(records)
    return f"{plural(len(found), 'exporter')}, {rate} records a second, {share}"
