"""The wiring of plans of paths: records -> report and connections -> plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from datamodel.reports.path_plan import PathPlan
from datamodel.telemetry.ingest_result import IngestResult
from diagnose.paths.plan import plan_paths
from flowprism.inputs.feed_files import read_inputs
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.progress import Progress
from reconstruct.paths.connection_table import connections
from reconstruct.sampled.curves.sampled_volumes import sampled_volumes
from reconstruct.streams.observations import select_primary


def plan_inputs(
    paths: Sequence[Path], inventory: Inventory, options: AnalysisOptions, job: str | None, progress: Progress
) -> PathPlan:
    """The plan for the jobs of one window of records.

    Args:
        paths: captures, flow-record files or folders of collected records.
        inventory: endpoints, switches and links.
        options: of the analysis that finds jobs.
        job: id or label of the only one to plan; None for all.
        progress: called with the progress of reading and analyzing.

    Raises:
        InputError: a file cannot be used at all, or there is no such job.
    """
    reading = read_inputs(paths, partial(progress, "reading"), options.rates, options.period)
    return plan_reading(reading, tuple(path.name for path in paths), inventory, options, job, progress)


def plan_reading(
    reading: IngestResult,
    inputs: tuple[str, ...],
    inventory: Inventory,
    options: AnalysisOptions,
    job: str | None = None,
    progress: Progress | None = None,
) -> PathPlan:
    """The plan from records that are in memory already; `inputs` are their names."""
    report = analyze_reading(reading, inputs, inventory, replace(options, paths=False), progress).report
    if job is not None and not any(job in (one.id, one.label) for one in report.jobs):
        names = ", ".join(one.label or one.id for one in report.jobs) or "none"
        raise InputError(f"--job {job}: there is no such job in these records; there are {names}")
    switches = {switch.agent: switch.name for switch in inventory.switches if switch.agent is not None}
    flows = reading.flows
    primary = select_primary(flows)
    volume = sampled_volumes(flows, primary)
    found = connections(flows, primary, switches, inventory.cables(), reading.counters, volume)
    return plan_paths(found, report, inventory, job)
