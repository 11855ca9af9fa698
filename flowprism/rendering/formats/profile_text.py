"""What profiles show, as text: verdicts, a table of ranks, and files that could not be used."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from datamodel.telemetry.profiles import ProfileReport
from flowprism.rendering import units
from flowprism.rendering.profile_times import CLASSES, ClassTime, at_fault, class_times, label, where


def print_profiles(report: ProfileReport, console: Console) -> None:
    """Print the verdicts first; a class of a rank that is at fault stands next to its peers' median."""
    console.print(report.summary, soft_wrap=True)
    for verdict in report.verdicts[1:]:
        console.print(verdict.summary, soft_wrap=True)
    for verdict in report.verdicts:
        if verdict.agreement:
            console.print(verdict.agreement, soft_wrap=True)
    if report.ranks:
        _print_ranks(report, console)
    for problem in report.problems:
        console.print(problem, soft_wrap=True)


def _print_ranks(report: ProfileReport, console: Console) -> None:
    table = Table("rank", "host", "peers", "iterations", "iteration", *CLASSES, box=box.SIMPLE_HEAD)
    blamed = {label(one) for one in at_fault(report)}
    for one in report.ranks:
        head = (str(label(one)), where(one), str(one.peers), str(one.iterations), units.duration(one.iteration_s))
        table.add_row(*head, *(_time(time, against_peers=label(one) in blamed) for time in class_times(one)))
    console.print(table)


def _time(time: ClassTime, *, against_peers: bool) -> str:
    own = units.duration(time.seconds)
    return f"{own} ({units.duration(time.peers_seconds)})" if against_peers else own
