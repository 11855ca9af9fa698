"""One scan from the command line: analyze the window, judge its jobs, write the verdict."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from datamodel.errors import InputError
from datamodel.reports.findings import Severity
from datamodel.reports.scan import Scan, Verdict
from flowprism import pipeline
from flowprism.analysis.scan_verdict import judge_report
from flowprism.cli.arguments.choices import ScanFormat
from flowprism.cli.arguments.sampling_rates import parse_sampling_rates
from flowprism.cli.output_errors import name_output_errors
from flowprism.inputs.analysis_window import parse_window
from flowprism.inputs.inventory_file import load_inventory
from flowprism.rendering.formats.report_json import render_json
from flowprism.rendering.formats.scan_junit import render_junit
from flowprism.rendering.formats.scan_text import render_incidents, render_scan
from flowprism.service.config.log_setup import configure_logs
from flowprism.service.config.settings import Settings
from flowprism.service.incidents.incident_lifecycle import IncidentOptions
from flowprism.service.incidents.scan_recorder import CompletedScan, record
from flowprism.worker_pool import WorkerPool
from storage.database.connection import Database

EXIT_CODES: dict[Verdict, int] = {"healthy": 0, "findings": 1, "unknown": 2}
RENDERERS: dict[ScanFormat, Callable[[Scan], str]] = {
    ScanFormat.TEXT: render_scan,
    ScanFormat.JSON: render_json,
    ScanFormat.JUNIT: render_junit,
}


@dataclass(frozen=True, slots=True)
class ScanArguments:
    """What is scanned: inputs, the inventory's file (None for none), jobs by name, thresholds, and the tenant."""

    paths: tuple[Path, ...]
    inventory: Path | None
    jobs: tuple[str, ...]
    at_least: Severity
    rates: tuple[str, ...]
    last: str | None
    scheduler: str | None


@dataclass(frozen=True, slots=True)
class ResultTarget:
    """Where scans and their incidents are kept, and under which policy's name."""

    results: str
    policy: str


def scan_once(given: ScanArguments, kept: ResultTarget | None, scan_format: ScanFormat, out: Path | None) -> int:
    """Scan, write the verdict, and return the exit code that says it.

    Raises:
        FlowprismError: an input cannot be used or the verdict cannot be written.
    """
    if out is not None and not out.parent.is_dir():
        raise InputError(f"{out}: cannot be written: {out.parent} is not a directory")
    inventory = None if given.inventory is None else load_inventory(given.inventory)
    database = None if kept is None else Database(kept.results)
    options = pipeline.AnalysisOptions(
        rates=parse_sampling_rates(given.rates),
        period=parse_window(given.last),
        crew=WorkerPool.asked(None, given.scheduler),
        tables=False,
    )
    started_ns = time.time_ns()
    report = pipeline.analyze(given.paths, inventory, options).report
    verdict = judge_report(report, given.jobs, given.at_least)
    text = RENDERERS[scan_format](verdict)
    if database is not None and kept is not None:
        made = CompletedScan(kept.policy, started_ns, time.time_ns(), report, verdict)
        after = record(database, made, IncidentOptions())
        text += render_incidents(after) if scan_format is ScanFormat.TEXT else ""
    if out is None:
        sys.stdout.write(text)
        return EXIT_CODES[verdict.verdict]
    with name_output_errors(out):
        out.write_text(text, encoding="utf-8")
    return EXIT_CODES[verdict.verdict]


def scan_repeatedly(given: ScanArguments, kept: ResultTarget | None, every_s: float) -> None:
    """Scan the newest window of a lake again and again, as the service's scanner does, until SIGTERM or Ctrl-C.

    Raises:
        FlowprismError: it is not one lake, results are not kept, or something cannot be used.
    """
    if kept is None:
        raise InputError("--every: --results is missing: what was scanned must be known the next time")
    if len(given.paths) != 1 or not given.paths[0].is_dir():
        raise InputError("--every: expected one folder that `collect` writes")
    if given.rates:
        raise InputError("--sampling-rate: not with --every: what collectors store has its rate")
    from flowprism.service.components.component_context import ComponentContext, new_instance
    from flowprism.service.components.component_main import listen_for_end, run_in_process

    context = ComponentContext("scanner", _settings(given, kept, every_s), new_instance())
    configure_logs(context.settings.log, "scanner")
    listen_for_end(context)
    run_in_process(context)


def _settings(given: ScanArguments, kept: ResultTarget, every_s: float) -> Settings:
    lake, last_ns = given.paths[0], parse_window(given.last).last_ns
    policy = {"name": kept.policy, "every_s": every_s, "jobs": given.jobs, "at_least": given.at_least}
    if last_ns is not None:
        policy["window_s"] = last_ns / 1e9
    store = {"flows": str(lake), "analyses": str(lake.parent / "analyses"), "results": kept.results}
    scans = {"policies": [policy], "inventory": given.inventory, "scheduler": given.scheduler}
    try:
        return Settings.model_validate({"store": store, "scans": scans})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"--every, --last or --policy: {first['loc'][-1]}: {first['msg']}") from None
