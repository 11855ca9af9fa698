"""What profiles show, as text: verdicts, a table of ranks, and files that could not be used."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from datamodel.profiles import ProfiledRank, ProfileReport
from flowprism.rendering import units

# Columns of the table, and the classes that each adds up.
_COLUMNS = {
    "compute": ("compute",), "copies": ("copy",), "host": ("host",), "idle": ("idle",), "wait": ("wait",),
    "transfer": ("transfer", "communication"),
}  # fmt: skip


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
    table = Table("rank", "host", "peers", "iterations", "iteration", *_COLUMNS, box=box.SIMPLE_HEAD)
    blamed = {label for verdict in report.verdicts if len(verdict.ranks) == 1 for label in verdict.ranks}
    for one in report.ranks:
        named = one.file if one.rank is None else str(one.rank)
        where = " ".join(name for name in (one.host, one.endpoint) if name)
        head = (named, where, str(one.peers), str(one.iterations), units.duration(one.iteration_s))
        against_peers = (one.file if one.rank is None else one.rank) in blamed
        table.add_row(*head, *(_times(one, whats, against_peers=against_peers) for whats in _COLUMNS.values()))
    console.print(table)


def _times(one: ProfiledRank, whats: tuple[str, ...], *, against_peers: bool) -> str:
    some = [time for time in one.times if time.what in whats]
    own = units.duration(sum(time.seconds for time in some))
    usual = units.duration(sum(time.peers_seconds or 0.0 for time in some))
    return f"{own} ({usual})" if against_peers else own
