"""A job whose long connections collide, scanned as the service does; then again after its plan was applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from capture.reader import merged
from datamodel.cluster.inventory import JobLabel
from datamodel.reports.analysis import Analysis
from datamodel.reports.path_plan import PathPlan
from datamodel.telemetry.flows import Flows
from datamodel.telemetry.ingest_result import IngestResult
from flowprism.analysis.scan_verdict import judge_report
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.rendering.formats.path_plan_files import path_plan_csv
from flowprism.service.incidents.incident_lifecycle import IncidentOptions
from flowprism.service.incidents.scan_recorder import CompletedScan, record
from flowprism.service.scans.window_analysis import WindowResult
from flowprism.service.scans.window_continuity import link_to_history
from flowprism.service.stores import Stores
from simulate.case import Case, simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.catalogue import scenario
from simulate.scenarios.source_ports import with_source_ports
from storage.database.connection import Database
from storage.database.feed_statistics import save_inventory

TENANT = "research"
LATER_NS = 3_600_000_000_000
_TIMES = ("time_flow_start_ns", "time_flow_end_ns", "time_received_ns")


@cache
def case() -> Case:
    """Two queue pairs a connection under four leaves of eight spines; the job has a name and a tenant."""
    found = simulate_case(scenario("collisions", ScenarioOptions(iterations=10)), 1)
    label = JobLabel(name="llama-paths", tenant=TENANT, hosts=tuple(host.name for host in found.inventory.hosts))
    return replace(found, inventory=found.inventory.model_copy(update={"jobs": (label,)}))


def applied(folder: Path, plan: PathPlan, left_out: int = 0) -> Case:
    """The same job with the source ports of a plan, but for some connections that it moves."""
    given = [one for one in plan.connections if one.action == "set"][left_out:]
    file = folder / "plan.csv"
    file.write_text(path_plan_csv(plan.model_copy(update={"connections": tuple(given)})))
    made = scenario("collisions", ScenarioOptions(iterations=10))
    return replace(simulate_case(with_source_ports(made, file), 1), inventory=case().inventory)


@dataclass
class PathScans:
    """A service's stores, and scans of one window after the other.

    Attributes:
        stores: what scans leave.
        lake: of analyses.
        windows: scanned so far.
    """

    stores: Stores
    lake: Path
    windows: int = 0

    @classmethod
    def begin(cls, folder: Path) -> PathScans:
        """Nothing is scanned yet."""
        folder.mkdir(exist_ok=True)
        database = Database(f"sqlite:///{folder}/results.sqlite")
        save_inventory(database, case().inventory, "tests", 1)
        return cls(Stores(database, None, str(folder / "analyses")), folder / "analyses")

    def scan(self, seen: Case, doors: Mapping[int, int] | None = None) -> Analysis:
        """Scan a further window, an hour later; `doors` gives interfaces that records show in place of some."""
        readings = [_later(seen.readings[name], self.windows, doors or {}) for name in ("flows", "ipfix")]
        analysis = analyze_reading(merged(readings), ("a lake",), seen.inventory, AnalysisOptions())
        past = link_to_history(self.stores.database, str(self.lake), WindowResult(analysis, analysis.report))
        end_ns = past.report.window.end_ns
        made = CompletedScan(
            "health", end_ns, end_ns + 1, past.report, judge_report(past.report), rollups=past.rollups,
            events=past.events, baselines=past.baselines, over=past.over, paths=past.paths,
        )  # fmt: skip
        record(self.stores.database, made, IncidentOptions(confirming_scans=1))
        self.windows += 1
        return analysis


def _later(reading: IngestResult, windows: int, doors: Mapping[int, int]) -> IngestResult:
    frame = reading.flows.frame
    moved = {name: frame[name] + windows * LATER_NS for name in _TIMES}
    out = frame["out_if"]
    changed = np.array([doors.get(n, n) for n in range(int(out.max(initial=0)) + 1)], out.dtype)[out]
    return replace(reading, flows=Flows(frame.replace(**moved, out_if=changed), reading.flows.addresses))
