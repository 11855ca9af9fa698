"""Plans of recordings from the command line, and running them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import typer

from datamodel.errors import InputError
from datamodel.reports.findings import Finding
from datamodel.reports.layout import Groups
from datamodel.reports.report import Report
from datamodel.service.incidents import Incident
from flowprism.cli.actions.profiles.results import opened_results
from flowprism.cli.actions.service.user_accounts import system_user
from flowprism.inputs.document_file import read_document
from flowprism.inputs.inventory_file import load_inventory
from flowprism.profiles.recording import record
from flowprism.profiles.recording_plan import RecordingPlan, plan_recording
from flowprism.service.access.audit_log import audit_command
from storage.database.incidents.incident_records import incident
from storage.database.scans.scan_records import job, newest_groups


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """What is to be recorded, as it was typed.

    Attributes:
        wrong: id of a finding of the report, or of an open incident.
        inventory: file that names the hosts.
        report: file of `analyze --format json`; None: the incident is in the results.
        results: address of the results database.
        folder: on the hosts.
        iterations: to be recorded.
        port: of dynolog.
        slurm_job: whose processes are recorded.
    """

    wrong: str
    inventory: Path
    report: Path | None
    results: str | None
    folder: str
    iterations: int
    port: int | None
    slurm_job: int | None


def print_plan(request: RecordingRequest) -> None:
    """Print the commands; nothing is run.

    Raises:
        FlowprismError: there is no such finding or incident, or the inventory names none of its hosts.
    """
    typer.echo(_plan(request).text(), nl=False)


def run_plan(request: RecordingRequest) -> int:
    """Run the commands, write down who did, and print what became of each; 1 where a host is not recorded.

    Raises:
        FlowprismError: as for `print_plan`; or there is no results database, whose audit log says who recorded what.
    """
    if request.results is None:
        raise InputError("--results: needed to run a plan, for its audit log")
    with opened_results(request.results) as database:
        plan = _plan(request)
        hosts = ", ".join(plan.commands())
        audit_command(database, system_user(), "record profiles", request.wrong, time.time_ns(), hosts=hosts)
        results = record(plan)
    for one in results:
        typer.echo(f"{one.host}: {one.problem or f'recording {one.processes} processes'}")
    return int(any(one.problem for one in results))


def _plan(request: RecordingRequest) -> RecordingPlan:
    wrong, endpoints, groups = _from_results(request) if request.report is None else _from_report(request)
    return plan_recording(
        wrong,
        endpoints,
        groups,
        load_inventory(request.inventory),
        folder=request.folder,
        iterations=request.iterations,
        port=request.port,
        slurm_job=request.slurm_job,
    )


def _from_report(request: RecordingRequest) -> tuple[Finding, tuple[str, ...], Groups]:
    report = read_document(request.report, Report, "report") if request.report else Report.model_construct()
    found = next((one for one in report.findings if one.id == request.wrong), None)
    if found is None:
        raise InputError(f"{request.report}: has no finding {request.wrong}")
    own = next((one for one in report.jobs if one.id == found.job), None)
    return found, own.endpoints if own else (), own.groups if own else Groups()


def _from_results(request: RecordingRequest) -> tuple[Incident, tuple[str, ...], Groups]:
    if request.results is None:
        raise InputError("profile: give --report FILE or --results URL")
    with opened_results(request.results) as database:
        found = incident(database, request.wrong)
        own = None if found is None or found.job is None else job(database, found.job)
        if found is None or found.resolved_ns is not None:
            raise InputError(f"{request.wrong}: there is no open incident of this id in {database.name}")
        groups = {} if own is None else newest_groups(database, [own.id])
        return found, tuple(own.endpoints) if own else (), groups.get(own.id, Groups()) if own else Groups()
