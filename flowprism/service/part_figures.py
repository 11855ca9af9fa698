"""What parts of the service tell of themselves, as metrics: a name, a type and a meaning for each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from datamodel.answers import Part


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a kind of part tells; in `metric` a counter ends in `_total`."""

    kind: str
    name: str
    metric: str
    help: str


FIGURES = (
    Figure("scanner", "scans_total", "flowprism_scanner_scans_total", "Windows scanned."),
    Figure("scanner", "scans_failed_total", "flowprism_scanner_scans_failed_total", "Windows that could not be."),
    Figure("scanner", "windows_skipped_total", "flowprism_scanner_windows_skipped_total", "Windows missed for good."),
    Figure("scanner", "findings_total", "flowprism_scanner_findings_total", "Findings of all scans."),
    Figure("scanner", "scan_seconds_total", "flowprism_scanner_scan_seconds_total", "Time that scans took."),
    Figure("scanner", "behind_seconds", "flowprism_scanner_behind_seconds", "From a window's end to its scan's."),
    Figure("scanner", "policies_waiting", "flowprism_scanner_policies_waiting", "Policies with a window that is due."),
    Figure("alerter", "leads", "flowprism_alerter_leads", "Whether this replica delivers: 1 or 0."),
    Figure("alerter", "receivers", "flowprism_alerter_receivers", "Receivers in the settings."),
    Figure("alerter", "failures", "flowprism_alerter_failures_total", "Messages that a receiver did not accept."),
)
# Told better by the database, for all replicas at once: see `stored_metrics`.
TOLD_ELSEWHERE = {("alerter", name) for name in ("waiting", "oldest_waiting_s", "sent", "given_up", "withheld")}
_KNOWN = {(figure.kind, figure.name): figure for figure in FIGURES}


def part_metrics(parts: Sequence[Part]) -> Iterator[Metric]:
    """All figures of all parts, by part; one that is not known here is told under a common name."""
    families: dict[str, Metric] = {figure.metric: _family(figure) for figure in FIGURES}
    other = GaugeMetricFamily(
        "flowprism_part_figure", "A figure of a part that has no metric of its own.", labels=("part", "kind", "figure")
    )
    for part in parts:
        for name, value in sorted(part.figures.items()):
            figure = _KNOWN.get((part.kind, name))
            if figure is not None:
                families[figure.metric].add_sample(figure.metric, {"part": part.name}, value)
            elif (part.kind, name) not in TOLD_ELSEWHERE:
                other.add_metric((part.name, part.kind, name), value)
    yield from families.values()
    yield other


def _family(figure: Figure) -> Metric:
    if figure.metric.endswith("_total"):
        return CounterMetricFamily(figure.metric.removesuffix("_total"), figure.help, labels=("part",))
    return GaugeMetricFamily(figure.metric, figure.help, labels=("part",))
