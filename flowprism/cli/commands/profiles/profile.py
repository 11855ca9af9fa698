"""`flowprism profile`, as it is typed; what it does is in `flowprism.cli.actions.profiles`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from datamodel.errors import InputError

app = typer.Typer(help="Profiles of suspects: the GPU at fault, and its slow function.", no_args_is_help=True)


class ProfileFormat(StrEnum):
    """Format of what profiles show."""

    TEXT = "text"
    JSON = "json"


Wrong = Annotated[str, typer.Argument(metavar="ID", help="An open incident, or a finding of --report.")]
Hosts = Annotated[Path, typer.Option("--inventory", metavar="FILE", help="Hosts that may be recorded.")]
ReportFile = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Report of `analyze --format json`, with the finding.")
]
Results = Annotated[
    str | None, typer.Option("--results", metavar="URL", help="Results database: the incident, and the audit log.")
]
Folder = Annotated[str, typer.Option("--folder", metavar="DIR", help="Where the hosts write traces.")]
Iterations = Annotated[int, typer.Option("--iterations", metavar="N", min=1, max=50, help="Iterations to record.")]
Port = Annotated[int | None, typer.Option("--port", metavar="PORT", help="Port of dynolog, if not its default.")]
SlurmJob = Annotated[int | None, typer.Option("--job-id", metavar="N", help="Record processes of this Slurm job only.")]


@app.callback()
def profile() -> None:
    """Record and read profiles of a few ranks, where the network does not show why one is slow."""


@app.command()
def read(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Traces of PyTorch's profiler, one a rank.")],
    profile_format: Annotated[
        ProfileFormat, typer.Option("--format", help="Format of the answer.")
    ] = ProfileFormat.TEXT,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Report of `analyze --format json`, to compare verdicts with.")
    ] = None,
    inventory: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hosts, with the GPU of each endpoint.")
    ] = None,
    timelines: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Spans of `analyze --timelines`; they say whose a profile is.")
    ] = None,
    incident: Annotated[
        str | None, typer.Option(metavar="ID", help="Store the answer with this incident of --results.")
    ] = None,
    results: Annotated[str | None, typer.Option(metavar="URL", help="Results database with the incident.")] = None,
    lake: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder `analyses` of the service, in place of --timelines.")
    ] = None,
    perfetto: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write profiles and --timelines as a Perfetto trace.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the answer here, not to stdout.")] = None,
) -> None:
    """Compare profiles of ranks with those of their peers, however they were recorded.

    Traces are Kineto's, JSON, plain or compressed. A file that cannot be used is a line; the others are read.
    """
    # Imported here, for a quick `--help`.
    from flowprism.cli.actions.profiles.profile_read import (
        NetworkFiles,
        ProfiledIncident,
        ReadOutputs,
        read_folder,
    )

    if (incident is None) != (results is None):
        raise InputError("--incident ID and --results URL are given together: the incident is in the results")
    if lake is not None and incident is None:
        raise InputError("--lake requires --incident ID: whose spans are read")
    if lake is not None and timelines is not None:
        raise InputError("--lake and --timelines both name spans: give one of them")
    about = None if incident is None or results is None else ProfiledIncident(incident, results, lake)
    network = NetworkFiles(report, inventory, timelines)
    read_folder(folder, network, ReadOutputs(out, perfetto), about, as_json=profile_format is ProfileFormat.JSON)


@app.command()
def plan(
    wrong: Wrong,
    inventory: Hosts,
    report: ReportFile = None,
    results: Results = None,
    folder: Folder = "/tmp",  # noqa: S108 - on the hosts, as dynolog's own examples
    iterations: Iterations = 8,
    port: Port = None,
    job_id: SlurmJob = None,
) -> None:
    """Print the dynolog commands that record the suspects and two peers each.

    Nothing is run. Hosts are those of the inventory, twelve at most.
    """
    from flowprism.cli.actions.profiles.profile_plan import RecordingRequest, print_plan  # here, for a quick `--help`

    print_plan(RecordingRequest(wrong, inventory, report, results, folder, iterations, port, job_id))


@app.command()
def run(
    wrong: Wrong,
    inventory: Hosts,
    report: ReportFile = None,
    results: Results = None,
    folder: Folder = "/tmp",  # noqa: S108 - as above
    iterations: Iterations = 8,
    port: Port = None,
    job_id: SlurmJob = None,
) -> None:
    """Run the commands that `plan` prints, with dynolog's client on this machine.

    Who recorded what goes to the audit log of --results. Exits 1 where a host
    is not recorded.
    """
    from flowprism.cli.actions.profiles.profile_plan import RecordingRequest, run_plan  # here, for a quick `--help`

    request = RecordingRequest(wrong, inventory, report, results, folder, iterations, port, job_id)
    raise typer.Exit(run_plan(request))
