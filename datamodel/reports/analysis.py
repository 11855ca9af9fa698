"""All that one analysis hands to the screens: the report, and the tables too long to stand in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from datamodel.frame import Frame, empty
from datamodel.reconstructed.timeline import Timelines
from datamodel.reconstructed.traffic import SERVING_PAIRS, TRAFFIC
from datamodel.reports.path_plan import PathPlan
from datamodel.reports.report import Report
from datamodel.telemetry.exporter_stats import ExporterStats


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report with its timelines and, by job id, what else is too long for it.

    Attributes:
        report, timelines: see there; codes of all tables count the timelines' addresses.
        pairs: pair table of each job (`datamodel.reconstructed.transfers.PAIRS`).
        rates: rates over the mean iteration (`datamodel.reconstructed.endpoint_rates.RATES`) of jobs whose spans are
            not known.
        exporters: what each exporter of export datagrams sent and lost; none for other inputs.
        plan: of paths between switches; None where no record shows them, or none was asked for.
        traffic: bytes of each endpoint, minute and class (`datamodel.reconstructed.traffic.TRAFFIC`).
        serving: pairs of served models (`datamodel.reconstructed.traffic.SERVING_PAIRS`).
        patterns: what each endpoint of a job is like (`datamodel.reconstructed.patterns.PATTERNS`), where that is
            known.
        functions: what it is like in each function (`datamodel.reconstructed.patterns.FUNCTIONS`), likewise.
    """

    report: Report
    timelines: Timelines
    pairs: dict[str, Frame]
    rates: dict[str, Frame] = field(default_factory=dict)
    exporters: tuple[ExporterStats, ...] = ()
    plan: PathPlan | None = None
    traffic: Frame = field(default_factory=lambda: empty(TRAFFIC))
    serving: Frame = field(default_factory=lambda: empty(SERVING_PAIRS))
    patterns: dict[str, Frame] = field(default_factory=dict)
    functions: dict[str, Frame] = field(default_factory=dict)
