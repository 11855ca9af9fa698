"""What captures of export datagrams hold, as text for a terminal: a line an exporter, then what is wrong."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from datamodel.telemetry.exporter_stats import ExporterStats
from flowprism.inputs.feed_survey import InterfaceRateMismatch, Survey
from flowprism.rendering import units

_COLUMNS = ("exporter", "domain", "protocol", "datagrams", "records", "records/s", "sampling", "templates", "lost")


def print_survey(survey: Survey, console: Console) -> None:
    """Print the survey. No line ends in spaces."""
    with console.capture() as captured:
        _headline(survey, console)
        _exporters(survey.exporters, console)
        _transports(survey, console)
        _troubles(survey, console)
        _counts("Left out", dict(survey.notes.rejected), console)
        _lines("Warnings", survey.notes.warnings, console)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _headline(survey: Survey, console: Console) -> None:
    exporters = survey.exporters
    seconds = _seconds(min(e.first_ns for e in exporters), max(e.last_ns for e in exporters)) if exporters else 0.0
    parts = (
        f"{units.count(survey.datagrams)} datagrams",
        f"{units.count(sum(e.records for e in exporters))} records",
        units.plural(len(exporters), "exporter"),
        f"over {units.duration(seconds)}",
    )
    console.print(Text(", ".join(parts), "bold"))


def _exporters(exporters: tuple[ExporterStats, ...], console: Console) -> None:
    if not exporters:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in _COLUMNS[:1] + _COLUMNS[2:3] else "right", no_wrap=True)
    for e in exporters:
        table.add_row(
            _agent(e), str(e.domain), e.protocol, units.count(e.datagrams), units.count(e.records), _rate(e),
            _sampling(e.sampling_rates), str(e.templates) if e.templates else "-", _lost(e),
        )  # fmt: skip
    console.print()
    console.print(table)


def _transports(survey: Survey, console: Console) -> None:
    lines = [f"{units.volume(volume)}  {name}" for name, volume in survey.transports.items()]
    if survey.trimmed_packets:
        lines.append(f"{units.count(survey.trimmed_packets)} trimmed packets: switches were congested")
    _lines("Transports", lines, console)


def _rate(exporter: ExporterStats) -> str:
    seconds = _seconds(exporter.first_ns, exporter.last_ns)
    return f"{exporter.records / seconds:,.0f}" if seconds > 0 else "-"


def _sampling(rates: tuple[int, ...]) -> str:
    return ", ".join(f"1:{rate}" if rate else "unknown" for rate in rates) or "-"


def _lost(exporter: ExporterStats) -> str:
    if not exporter.lost:
        return "0"
    return f"{units.count(exporter.lost)} {exporter.lost_unit} ({units.share(exporter.loss_ratio)})"


def _troubles(survey: Survey, console: Console) -> None:
    lines = [f"{_name(e)}: {', '.join(parts)}" for e in survey.exporters if (parts := _trouble(e))]
    lines += [_doubtful_rate(doubt) for doubt in survey.doubtful_rates]
    _lines("Doubts", lines, console)


def _doubtful_rate(doubt: InterfaceRateMismatch) -> str:
    return (
        f"{doubt.exporter} interface {doubt.interface}: {doubt.samples} samples at 1:{doubt.exported_rate:,.0f} make"
        f" {units.volume(doubt.estimated_bytes)} {doubt.direction}, its counter says"
        f" {units.volume(doubt.counted_bytes)}: the rate is rather 1:{doubt.likely_rate:,.0f}"
    )


def _trouble(exporter: ExporterStats) -> list[str]:
    counts = (
        (exporter.restarts, "restarts"),
        (exporter.duplicates, "duplicate datagrams"),
        (exporter.late, "datagrams out of order"),
    )
    return [f"{count} {what}" for count, what in counts if count]


def _name(exporter: ExporterStats) -> str:
    return f"{exporter.protocol} {_agent(exporter)} domain {exporter.domain}"


def _agent(exporter: ExporterStats) -> str:
    """Return the exporter's address; bare datagrams of NetFlow and IPFIX have none."""
    return "(unknown)" if exporter.agent == "::" else exporter.agent


def _counts(heading: str, counts: dict[str, int], console: Console) -> None:
    _lines(heading, [f"{units.count(count)}  {reason}" for reason, count in counts.items()], console)


def _lines(heading: str, lines: list[str] | tuple[str, ...], console: Console) -> None:
    if not lines:
        return
    console.print()
    console.print(Text(heading, "bold"))
    for line in lines:
        console.print(Text(f"  {line}"))


def _seconds(first_ns: int, last_ns: int) -> float:
    return (last_ns - first_ns) / 1e9
