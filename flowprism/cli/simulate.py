"""`flowprism simulate`, as it is typed; what it does is in `flowprism.cli.simulating`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def simulate(
    scenario: Annotated[str | None, typer.Argument(metavar="SCENARIO", help="Which; see --list.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the case is written.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 1,
    gpus: Annotated[int | None, typer.Option(min=1, help="How many GPUs; default what the scenario has.")] = None,
    iterations: Annotated[int | None, typer.Option(min=1, help="Of each job; default what the scenario has.")] = None,
    feed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[:RATE]",
            help="mirror or exact: what the flow records are; sflow, ipfix, netflow9 or netflow5: what switches "
            "export besides, of 1 packet in RATE. May be repeated; default what the scenario has.",
        ),
    ] = None,
    catalogue: Annotated[bool, typer.Option("--list", help="Name the scenarios and exit.")] = False,
) -> None:
    """Simulate a training cluster: flow records with exact truth."""
    from flowprism.cli import simulating  # here, so that `--help` need not wait for the compiler
    from simulate.base import Wish

    if catalogue:
        simulating.show_catalogue()
        return
    if scenario is None or out is None:
        raise typer.BadParameter("give a scenario and --out, or --list")
    simulating.run(scenario, out, Wish(seed, gpus, iterations), tuple(feed or ()))
