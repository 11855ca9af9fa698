"""A store of a simulated cluster: tens of jobs of many endpoints, some with faults, analysed and scanned."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from datamodel.service.result_rows import FeedStatistics
from flowprism.analysis.scan_verdict import judge_report
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.service.incidents.incident_lifecycle import IncidentOptions
from flowprism.service.incidents.scan_recorder import CompletedScan, record
from flowprism.service.stores import Stores
from simulate.case import simulate_case
from simulate.scenarios.base_job import ScenarioOptions
from simulate.scenarios.cluster import cluster
from storage.analyses import save_analysis
from storage.database.connection import Database, upsert
from storage.database.feed_statistics import save_feed_statistics, save_inventory
from storage.database.tables import ROLLUPS
from storage.lake.lake_writer import LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.flowprism.service.stored import MINUTE_NS, rollups_of

SEED = 1


def stored_cluster(folder: Path, gpus: int) -> Stores:
    """A minute of a cluster of so many GPUs, scanned twice, so that its faults are open incidents."""
    case = simulate_case(cluster(ScenarioOptions(gpus=gpus)), SEED)
    analysis = analyze_reading(case.readings["flows"], ("simulated",), case.inventory, AnalysisOptions())
    report = analysis.report
    database = Database(f"sqlite:///{folder}/results.sqlite")
    save_inventory(database, case.inventory, "tests", report.window.start_ns)
    for policy in ("health", "nightly"):
        made = CompletedScan(policy, report.window.end_ns, report.window.end_ns + 10**9, report, judge_report(report))
        record(database, made, IncidentOptions(confirming_scans=1))
    begin_ns = report.window.start_ns // MINUTE_NS * MINUTE_NS
    agents = [switch.agent for switch in case.inventory.switches if switch.agent]
    heard = [FeedStatistics(f"{agent}:0", begin_ns, MINUTE_NS, 200 + n, 900 + n) for n, agent in enumerate(agents)]
    save_feed_statistics(database, heard)
    rollups = [asdict(rollup) for job in report.jobs for rollup in rollups_of(job, report.findings)]
    with database.writing() as connection:
        upsert(connection, ROLLUPS, rollups)
    lake = folder / "analyses"
    make_folders(lake)
    save_analysis(LakeWriter(lake, Writer("scan", 0), 1), analysis)
    return Stores(database, None, str(lake))
