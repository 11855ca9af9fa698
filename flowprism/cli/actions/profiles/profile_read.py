"""Profiles from the command line: read a folder, compare, print, and store the result with an incident."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from datamodel.reconstructed.timeline import Timelines
from datamodel.reports.findings import Finding
from datamodel.reports.report import Report
from datamodel.service.incidents import Incident
from datamodel.telemetry.profiles import IncidentProfiles, Profile, ProfileReport
from flowprism.cli.actions.profiles.results import opened_results
from flowprism.cli.actions.service.user_accounts import system_user
from flowprism.cli.output_errors import check_output, name_output_errors, write_text
from flowprism.inputs.document_file import read_document
from flowprism.inputs.inventory_file import load_inventory
from flowprism.profiles.folder import Recordings, read_recordings
from flowprism.profiles.kept_network import kept_network
from flowprism.profiles.reading import report_profiles
from flowprism.rendering.formats.profile_text import print_profiles
from flowprism.rendering.formats.timelines_file import read_timelines
from flowprism.rendering.names import names_of
from flowprism.service.access.audit_log import audit_command
from flowprism.service.stores import Stores
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
    """The incident that profiles are stored with.

    Attributes:
        incident: its id.
        results: address of the results database that holds it.
        lake: of analyses, with the spans of its job; None: they are in the network's files, or not known.
    """

    incident: str
    results: str
    lake: str | None = None


@dataclass(frozen=True, slots=True)
class _Network:
    """The same as `NetworkFiles`, read; and the findings that profiles are compared with."""

    report: Report | None
    findings: tuple[Finding, ...] | None
    inventory: Inventory | None
    timelines: Timelines | None


@dataclass(frozen=True, slots=True)
class ReadOutputs:
    """Where results go: what profiles show (stdout where None), and a Perfetto trace (none where None)."""

    answer: Path | None = None
    perfetto: Path | None = None


def read_folder(
    folder: Path, network: NetworkFiles, outputs: ReadOutputs, about: ProfiledIncident | None = None, *, as_json: bool
) -> None:
    """Read a folder's profiles and write what they show, next to what the network shows.

    Raises:
        FlowprismError: there is no such folder, no trace in it, no such incident, or an output cannot be written.
    """
    for path in (outputs.answer, outputs.perfetto):
        check_output(path)
    known = _read(network)
    if about is None:
        recorded = read_recordings(folder, with_activities=outputs.perfetto is not None)
        report = _report(recorded, known)
    else:
        recorded, report, known = _stored(folder, known, about, with_activities=outputs.perfetto is not None)
    if outputs.perfetto is not None:
        report = _with_trace(recorded.profiles, report, known, outputs.perfetto)
    text = report.model_dump_json(indent=2) + "\n" if as_json else _text(report)
    write_text(text, outputs.answer)


def _read(network: NetworkFiles) -> _Network:
    report = None if network.report is None else read_document(network.report, Report, "report")
    return _Network(
        report,
        None if report is None else report.findings,
        None if network.inventory is None else load_inventory(network.inventory),
        None if network.timelines is None else read_timelines(network.timelines),
    )


def _stored(
    folder: Path, known: _Network, about: ProfiledIncident, *, with_activities: bool
) -> tuple[Recordings, ProfileReport, _Network]:
    """Compare profiles with an incident, keep the report with it, and write down who read which folder.

    An incident that is over can still be explained.
    """
    with opened_results(about.results) as database:
        found = incident(database, about.incident)
        if found is None:
            raise InputError(f"{about.incident}: there is no incident of this id in {database.name}")
        recorded = read_recordings(folder, with_activities=with_activities)
        known, problem = _with_incident(known, Stores(database, analyses=about.lake), found, recorded.profiles)
        report = _report(recorded, known, *([problem] if problem else []))
        now_ns = time.time_ns()
        save_incident_profiles(database, found.id, IncidentProfiles(read_ns=now_ns, report=report))
        audit_command(database, system_user(), "read profiles", found.id, now_ns, folder=str(folder))
    return recorded, report, known


def _with_incident(
    known: _Network, stores: Stores, found: Incident, profiles: Sequence[Profile]
) -> tuple[_Network, str]:
    """The network by what the service stored, unless the command line gives another; and what it lacks."""
    kept, problem = None, ""
    if stores.analyses is not None and known.timelines is None and found.job is not None:
        kept, problem = kept_network(stores, found.job, profiles)
    return replace(
        known,
        report=kept.report if known.report is None and kept is not None else known.report,
        findings=(found.as_finding(time.time_ns()),) if known.findings is None else known.findings,
        inventory=inventory(stores.database) if known.inventory is None else known.inventory,
        timelines=kept.timelines if kept is not None else known.timelines,
    ), problem


def _report(recorded: Recordings, known: _Network, *problems: str) -> ProfileReport:
    return report_profiles(
        recorded.profiles,
        [*recorded.problems, *problems],
        known.inventory,
        known.findings,
        known.timelines,
        recorded.works,
    )


def _with_trace(profiles: list[Profile], report: ProfileReport, known: _Network, path: Path) -> ProfileReport:
    """Write the trace; the report with what the trace lacks."""
    # Imported here, because Perfetto's messages take a tenth of a second.
    from flowprism.profiles.profiled_trace import write_profiled_trace

    with name_output_errors(path):
        lines = write_profiled_trace(
            profiles, report.ranks, known.timelines, known.report, names_of(known.inventory), path
        )
    return report.model_copy(update={"problems": (*report.problems, *lines)})


def _text(report: ProfileReport) -> str:
    held = StringIO()
    print_profiles(report, Console(file=held, width=_PLAIN_COLUMNS, highlight=False, markup=False))
    return held.getvalue()
