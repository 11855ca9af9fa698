"""`flowprism plan feeds`, as it is typed: what a fabric needs before anything is collected."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class FeedPlanFormat(StrEnum):
    """How a feed plan is written."""

    TEXT = "text"
    JSON = "json"


def feeds(
    inventory: Annotated[Path, typer.Option(metavar="FILE", help="The fabric: endpoints with switch and speed.")],
    slowdown: Annotated[float, typer.Option(metavar="RATIO", help="Least slowdown to detect; 1.05 is 5 %.")] = 1.05,
    minutes: Annotated[float, typer.Option(metavar="M", help="From its onset to the finding, at most.")] = 10.0,
    cores: Annotated[float | None, typer.Option(metavar="N", help="Most cores for collectors and scans.")] = None,
    disk: Annotated[float | None, typer.Option(metavar="GIB", help="Most disk for flow records.")] = None,
    keep: Annotated[float, typer.Option(metavar="H", help="Hours that flow records are kept.")] = 48.0,
    iteration: Annotated[float, typer.Option(metavar="S", help="Iteration time of the job.")] = 2.0,
    members: Annotated[int, typer.Option(metavar="N", help="NICs of the job's gradient ring.")] = 16,
    busy: Annotated[float, typer.Option(metavar="SHARE", help="Share of the time that NICs send at full rate.")] = 0.2,
    samples: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Own samples, thinned to show what sparser rates would; repeatable."),
    ] = None,
    plan_file: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="An export plan; its rates are replaced.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write exporter settings here.")] = None,
    plan_format: Annotated[FeedPlanFormat, typer.Option("--format", help="Output format.")] = FeedPlanFormat.TEXT,
) -> None:
    """Choose sampling rates, exporters, collectors and windows: the cheapest that reaches the goal, else exit 1."""
    # Here, so that `--help` need not wait for the rest.
    from flowprism.cli.actions.planning.plan_feeds import run_plan_feeds
    from flowprism.feed_plan.goal import FeedGoal  # as above

    goal = FeedGoal(
        slowdown_ratio=slowdown, minutes=minutes, cores=cores, disk_gib=disk, keep_h=keep, iteration_s=iteration,
        members=members, busy_ratio=busy,
    )  # fmt: skip
    if not run_plan_feeds(inventory, goal, samples or (), plan_file, out, plan_format):
        raise typer.Exit(1)
