"""The wiring of plans of paths: records -> report and connections -> plan, and what became of an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from datamodel.errors import InputError
from datamodel.ingest_result import IngestResult
from datamodel.inventory import Inventory
from datamodel.path_plan import Applied, PathPlan, PlannedConnection
from diagnose.paths.plan import plan_paths
from flowprism.inputs import read_inputs
from flowprism.pipeline import AnalysisOptions, analyze_reading
from flowprism.progress import Progress
from reconstruct.paths.connection_table import connections
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
    return plan_paths(connections(flows, select_primary(flows), switches, inventory.links), report, inventory, job)


def follow_up(earlier: PathPlan, now: PathPlan) -> PathPlan:
    """The plan with what became of an earlier one, by the doors at which its connections are seen now."""
    seen = {_key(one, one.src_port): one for one in now.connections}
    counts: Counter[Applied] = Counter()
    for one in earlier.connections:
        if one.action == "set":
            counts[_applied(one, seen.get(_key(one, one.new_src_port)), _key(one, one.src_port) in seen)] += 1
    order: tuple[Applied, ...] = ("kept", "drifted", "not applied", "not seen")
    return now.model_copy(update={"applied": {name: counts[name] for name in order}})


def _key(one: PlannedConnection, port: int | None) -> tuple[str, str, int | None]:
    return one.src_addr, one.dst_addr, port


def _applied(planned: PlannedConnection, found: PlannedConnection | None, old_port: bool) -> Applied:
    if found is None:
        return "not applied" if old_port else "not seen"
    if found.now is None:
        return "not seen"
    return "kept" if found.now == planned.planned else "drifted"
