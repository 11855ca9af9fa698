"""`flowprism plan paths`, as it is typed; what it does is in `flowprism.cli.actions.planning.plan_paths`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowprism.cli.arguments.choices import PlanFormat, SamplingRates


def paths(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Captures, flow records or collected folders of one window.")
    ],
    inventory: Annotated[Path, typer.Option(metavar="FILE", help="Hosts, switches and links, as YAML or CSV.")],
    job: Annotated[str | None, typer.Option(metavar="JOB", help="Only this job, by id or label.")] = None,
    sampling_rate: SamplingRates = None,
    plan_format: Annotated[PlanFormat, typer.Option("--format", help="Format of the plan.")] = PlanFormat.TEXT,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the plan here, not to stdout.")] = None,
    applied: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An earlier plan as JSON: say what became of it.")
    ] = None,
) -> None:
    """Show which cables long connections share, and the source ports that spread them.

    Without interfaces in the records, speeds of links, or fixed paths there is no plan, and a line says why.
    """
    # Here, so that `--help` need not wait for the decoders.
    from flowprism.cli.actions.planning.plan_paths import plan_files

    plan_files(tuple(inputs), inventory, tuple(sampling_rate or ()), job, plan_format, out, applied)
