"""`flowprism simulate`, as it is typed; what it does is in `flowprism.cli.actions.evaluation.simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def simulate(
    scenario: Annotated[str | None, typer.Argument(metavar="SCENARIO", help="Scenario name; see --list.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Output folder of the case.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    gpus: Annotated[int | None, typer.Option(min=1, help="Number of GPUs; default: the scenario's.")] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="Iterations of each job; default: the scenario's.")
    ] = None,
    feed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[:RATE]",
            help="Form of the flow records: mirror or exact. In addition, switches export sflow, ipfix, netflow9 or "
            "netflow5, sampling 1 packet in RATE. Repeatable; default: the scenario's.",
        ),
    ] = None,
    source_ports: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Source ports of queue pairs, from `flowprism plan paths --format csv`."),
    ] = None,
    catalogue: Annotated[bool, typer.Option("--list", help="List the scenarios and exit.")] = False,
) -> None:
    """Simulate a training cluster: flow records with exact truth."""
    from flowprism.cli.actions.evaluation.simulate import (  # here, so that `--help` need not wait for the compiler
        print_catalogue,
        simulate_scenario,
    )
    from simulate.scenarios.base_job import ScenarioOptions

    if catalogue:
        print_catalogue()
        return
    if scenario is None or out is None:
        raise typer.BadParameter("give a scenario and --out, or --list")
    simulate_scenario(scenario, out, ScenarioOptions(seed, gpus, iterations), tuple(feed or ()), source_ports)
