"""Profiles from the command line: read a folder, compare, print."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from rich.console import Console

from datamodel.profiles import ProfileReport
from datamodel.report import Report
from flowprism.cli.output_errors import write_text
from flowprism.document_file import read_document
from flowprism.inventory_file import load_inventory
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.reading import report_profiles
from flowprism.rendering.formats.profile_text import print_profiles
from flowprism.rendering.formats.timelines_file import read_timelines

_PLAIN_COLUMNS = 120


@dataclass(frozen=True, slots=True)
class NetworkFiles:
    """What the network shows of the job: the report, the hosts, the timelines; each may be left out."""

    report: Path | None = None
    inventory: Path | None = None
    timelines: Path | None = None


def read_folder(folder: Path, network: NetworkFiles, out: Path | None, *, as_json: bool) -> None:
    """Read a folder's profiles and write what they show, next to what the network shows.

    Raises:
        FlowprismError: there is no such folder, no trace in it, or the output cannot be written.
    """
    known = None if network.inventory is None else load_inventory(network.inventory)
    findings = None if network.report is None else read_document(network.report, Report, "report").findings
    spans = None if network.timelines is None else read_timelines(network.timelines)
    report = report_profiles(*read_profiles(folder), known, findings, spans)
    text = report.model_dump_json(indent=2) + "\n" if as_json else _text(report)
    write_text(text, out)


def _text(report: ProfileReport) -> str:
    held = StringIO()
    print_profiles(report, Console(file=held, width=_PLAIN_COLUMNS, highlight=False, markup=False))
    return held.getvalue()
