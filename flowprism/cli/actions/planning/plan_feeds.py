"""Plans feeds from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from flowprism.cli.output_errors import name_output_errors
from flowprism.exporter_config.plan import load_plan
from flowprism.feed_plan.detectability_by_rate import shown_in_own_samples
from flowprism.feed_plan.exporter_settings import exporter_files
from flowprism.feed_plan.feed_measurements import plan_feed
from flowprism.feed_plan.feed_measuring import measure_feed
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import fabric_ports
from flowprism.feed_plan.plan_search import FeedPlan
from flowprism.feed_plan.plan_text import render_json, render_text
from flowprism.inputs.inventory_file import load_inventory

_FACTORS = (1, 4, 16, 64)
_RENDERERS: dict[str, Callable[..., str]] = {"text": render_text, "json": render_json}


def run_plan_feeds(
    inventory_file: Path, goal: FeedGoal, samples: Sequence[Path], plan_file: Path | None, out: Path | None, form: str
) -> bool:
    """Print a plan and write its exporter settings; whether every goal is reached.

    Raises:
        InputError: a file cannot be used, or exporter settings are wanted without an export plan.
    """
    if out is not None and plan_file is None:
        raise InputError("--out needs --plan: an export plan with collectors and configuration languages")
    inventory = load_inventory(inventory_file)
    ports = fabric_ports(inventory)
    measured = measure_feed(ports, goal)
    choice = plan_feed(ports, goal, measured)
    own = shown_in_own_samples(samples, inventory, _FACTORS) if samples else {}
    if out is not None and plan_file is not None:
        _write_settings(inventory, inventory_file, plan_file, choice.chosen, out)
    sys.stdout.write(_RENDERERS[form](choice, measured.costs, own))
    return not choice.unreachable


def _write_settings(inventory: Inventory, inventory_file: Path, plan_file: Path, chosen: FeedPlan, out: Path) -> None:
    files = exporter_files(inventory, inventory_file, load_plan(plan_file), chosen)
    with name_output_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        for file in files:
            (out / file.name).write_text(file.text, encoding="utf-8")
    typer.echo(f"{out}: {len(files)} files", err=True)
