"""Profiles from the command line: read a folder, compare, print."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from datamodel.profiles import ProfileReport
from datamodel.report import Report
from flowprism.cli.documents import read_document, write_text
from flowprism.inventory_file import load_inventory
from flowprism.profiles.folder import read_profiles
from flowprism.profiles.reading import report_profiles
from flowprism.rendering.formats.profile_text import print_profiles

_PLAIN_COLUMNS = 120


def read_folder(folder: Path, out: Path | None, network: Path | None, inventory: Path | None, *, as_json: bool) -> None:
    """Read a folder's profiles and write what they show, next to the network's report if there is one.

    Raises:
        FlowprismError: there is no such folder, no trace in it, or the output cannot be written.
    """
    known = None if inventory is None else load_inventory(inventory)
    findings = None if network is None else read_document(network, Report, "report").findings
    report = report_profiles(*read_profiles(folder), known, findings)
    text = report.model_dump_json(indent=2) + "\n" if as_json else _text(report)
    write_text(text, out)


def _text(report: ProfileReport) -> str:
    held = StringIO()
    print_profiles(report, Console(file=held, width=_PLAIN_COLUMNS, highlight=False, markup=False))
    return held.getvalue()
