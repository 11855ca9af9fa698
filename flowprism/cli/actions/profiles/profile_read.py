"""Profiles from the command line: read a folder, compare, print, and store the result with an incident."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from datamodel.errors import InputError
from datamodel.findings import Finding
from datamodel.inventory import Inventory
from datamodel.profiles import IncidentProfiles, ProfileReport
from datamodel.report import Report
from datamodel.timeline import Timelines
from flowprism.cli.actions.profiles.results import opened_results
from flowprism.cli.actions.service.user_accounts import system_user
from flowprism.cli.output_errors import write_text
from flowprism.document_file import read_document
from flowprism.inventory_file import load_inventory
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.reading import report_profiles
from flowprism.rendering.formats.profile_text import print_profiles
from flowprism.rendering.formats.timelines_file import read_timelines
from flowprism.service.access.audit_log import audit_command
from storage.database.feed_statistics import inventory
from storage.database.incidents.incident_profiles import save_incident_profiles
from storage.database.incidents.incident_records import incident

_PLAIN_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class NetworkFiles:
    """What the network shows of the job: the report, the hosts, the timelines; each may be left out."""

    report: Path | None = None
    inventory: Path | None = None
    timelines: Path | None = None


@dataclass(frozen=True, slots=True)
class ProfiledIncident:
    """The incident that profiles are stored with, and the results database that holds it."""

    incident: str
    results: str


@dataclass(frozen=True, slots=True)
class _Network:
    """The same as `NetworkFiles`, read."""

    findings: tuple[Finding, ...] | None
    inventory: Inventory | None
    timelines: Timelines | None


def read_folder(
    folder: Path, network: NetworkFiles, out: Path | None, about: ProfiledIncident | None = None, *, as_json: bool
) -> None:
    """Read a folder's profiles and write what they show, next to what the network shows.

    Raises:
        FlowprismError: there is no such folder, no trace in it, no such incident, or the output cannot be written.
    """
    known = _read(network)
    report = _compared(folder, known) if about is None else _stored(folder, known, about)
    text = report.model_dump_json(indent=2) + "\n" if as_json else _text(report)
    write_text(text, out)


def _read(network: NetworkFiles) -> _Network:
    return _Network(
        None if network.report is None else read_document(network.report, Report, "report").findings,
        None if network.inventory is None else load_inventory(network.inventory),
        None if network.timelines is None else read_timelines(network.timelines),
    )


def _compared(folder: Path, known: _Network) -> ProfileReport:
    return report_profiles(*read_profiles(folder), known.inventory, known.findings, known.timelines)


def _stored(folder: Path, known: _Network, about: ProfiledIncident) -> ProfileReport:
    """Compare profiles with the incident, by the inventory that scans use, and keep the result with it.

    What the command line gives stands in place of either. An incident that is over can still be explained.
    """
    with opened_results(about.results) as database:
        found = incident(database, about.incident)
        if found is None:
            raise InputError(f"{about.incident}: there is no incident of this id in {database.name}")
        now_ns = time.time_ns()
        whole = replace(
            known,
            findings=(found.as_finding(now_ns),) if known.findings is None else known.findings,
            inventory=inventory(database) if known.inventory is None else known.inventory,
        )
        report = _compared(folder, whole)
        save_incident_profiles(database, found.id, IncidentProfiles(read_ns=now_ns, report=report))
        audit_command(database, system_user(), "read profiles", found.id, now_ns, folder=str(folder))
    return report


def _text(report: ProfileReport) -> str:
    held = StringIO()
    print_profiles(report, Console(file=held, width=_PLAIN_COLUMNS, highlight=False, markup=False))
    return held.getvalue()
