"""Metrics from heartbeats of the service's components: name, type and meaning of each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from datamodel.service.api_models import ComponentStatus

ANY = "any"  # a figure that components of every kind report


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a kind of component reports.

    Attributes:
        kind: of the component, or `ANY`.
        name: as the component reports it.
        metric: as Prometheus knows it; a counter ends in `_total`.
        help: what it means.
        unit: value of the label `unit`, where several figures are one metric; "" where there is no such label.
    """

    kind: str
    name: str
    metric: str
    help: str
    unit: str = ""


def _figures(kind: str, meanings: dict[str, str]) -> tuple[Figure, ...]:
    """Figures whose metrics are named after them."""
    return tuple(Figure(kind, name, f"flowprism_{kind}_{name}", text) for name, text in meanings.items())


_LOST = "Units that exporters sent and that did not arrive, by sequence numbers."
FIGURES = (
    Figure(
        ANY, "restarts_total", "flowprism_component_restarts_total", "How often a component died and was started again."
    ),
    *_figures(
        "collector",
        {
            "received_total": "Datagrams and messages taken in.",
            "durable_total": "Of these, contained in committed segments or set aside.",
            "records_total": "Flow records in committed segments.",
            "packets_total": "Mirrored packets in committed records.",
            "packets_lost_here_total": "Mirrored packets that died with a process.",
            "kernel_drops_total": "Datagrams and packets that the kernel had no room for.",
            "refused_total": "Datagrams and sessions of sources that are not allowed.",
            "set_aside_total": "Datagrams that cannot be decoded.",
            "thinned_total": "Flow samples left out under overload; rates of the others make up for them.",
            "thinning": "Flow samples that one stands for, of the worker that thins most; 1: all are kept.",
            "worker_deaths_total": "Receiving and decoding processes that died.",
            "exporters": "Exporters known.",
            "waiting_datagrams": "Datagrams received and not yet decoded.",
            "workers": "Workers that share the exporters.",
        },
    ),
    *(
        Figure("collector", f"lost_{unit}_total", "flowprism_collector_lost_total", _LOST, unit)
        for unit in ("datagrams", "records", "packets")
    ),
    *_figures(
        "compactor",
        {
            "rounds_total": "Rounds over the lakes.",
            "packed_rows_total": "Rows packed into larger segments.",
            "packed_segments_total": "Segments that were packed.",
            "expired_rows_total": "Rows removed for their age or the room they took.",
            "removed_files_total": "Files removed from the lakes.",
            "forgotten_rows_total": "Rows removed from the results database.",
        },
    ),
    *_figures(
        "scanner",
        {
            "scans_total": "Windows scanned.",
            "scans_failed_total": "Windows that could not be scanned.",
            "windows_doubted_total": "Windows that are not trusted, of some jobs at least, since their feed has holes.",
            "windows_skipped_total": "Windows missed and not caught up.",
            "findings_total": "Findings of all scans.",
            "scan_seconds_total": "Time that scans took.",
            "behind_seconds": "From the end of the newest window to the end of its scan.",
            "policies_waiting": "Policies with a window that is due.",
            "watch_ticks_total": "How often the last byte of every job was looked at.",
            "watch_looks_total": "Silent jobs that were analyzed at once.",
            "watch_cpu_seconds_total": "Processor time that looking at last bytes took.",
            "hosts_asked_total": "Incidents for which a Prometheus was asked what their hosts export.",
            "hosts_failed_total": "Of these, questions that were not answered.",
            "hosts_explained_total": "Of these, answers with a cause.",
            "hosts_seconds_total": "Time that asking took.",
        },
    ),
    *_figures(
        "alerter", {"leads": "Whether this replica delivers: 1 or 0.", "receivers": "Receivers in the settings."}
    ),
    Figure("alerter", "failures", "flowprism_alerter_failures_total", "Messages that a receiver did not accept."),
)
# Reported better by the database, for all replicas at once: see `stored_metrics`.
TOLD_ELSEWHERE = {("alerter", name) for name in ("waiting", "oldest_waiting_s", "sent", "given_up", "withheld")}
_KNOWN = {(figure.kind, figure.name): figure for figure in FIGURES}


def component_metrics(components: Sequence[ComponentStatus]) -> Iterator[Metric]:
    """All figures of all components, by component; unknown ones share a common name."""
    families: dict[str, Metric] = {figure.metric: _family(figure) for figure in FIGURES}
    other = GaugeMetricFamily(
        "flowprism_component_figure",
        "A figure of a component that has no metric of its own.",
        labels=("component", "kind", "figure"),
    )
    for component in components:
        for name, value in sorted(component.figures.items()):
            figure = _KNOWN.get((component.kind, name)) or _KNOWN.get((ANY, name))
            if figure is not None:
                labels = {"component": component.name} | ({"unit": figure.unit} if figure.unit else {})
                families[figure.metric].add_sample(figure.metric, labels, value)
            elif (component.kind, name) not in TOLD_ELSEWHERE:
                other.add_metric((component.name, component.kind, name), value)
    yield from families.values()
    yield other


def _family(figure: Figure) -> Metric:
    if figure.metric.endswith("_total"):
        return CounterMetricFamily(figure.metric.removesuffix("_total"), figure.help)
    return GaugeMetricFamily(figure.metric, figure.help)
