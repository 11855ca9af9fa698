"""Plans feeds from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import typer

from datamodel.errors import InputError
from datamodel.inventory import Inventory
from flowprism.cli.output_errors import name_output_errors
from flowprism.exporter_config.generate import generate
from flowprism.exporter_config.plan import load_plan
from flowprism.feed_plan.cost_measurement import measure_costs
from flowprism.feed_plan.cost_model import SFLOW
from flowprism.feed_plan.detectability_by_rate import ShownByRate, shown_in_own_samples, shown_in_simulation
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import ExportingSwitches, fabric_ports
from flowprism.feed_plan.plan_search import FeedPlan, ShownAt, search
from flowprism.feed_plan.plan_text import render_json, render_text
from flowprism.inventory_file import load_inventory

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
    costs = measure_costs((SFLOW,))
    choice = search(ports, goal, costs, shown_by_simulation(goal))
    own = shown_in_own_samples(samples, inventory, _FACTORS) if samples else {}
    if out is not None and plan_file is not None:
        _write_settings(inventory, inventory_file, plan_file, choice.chosen, out)
    sys.stdout.write(_RENDERERS[form](choice, costs, own))
    return not choice.unreachable


def shown_by_simulation(goal: FeedGoal) -> ShownAt:
    """What rates show, each simulated once for as many iterations as matter."""

    @cache
    def simulated(gbps: int, rate: int, iterations: int) -> ShownByRate:
        return shown_in_simulation(goal, gbps, rate, iterations)

    return lambda gbps, rate, window_s: simulated(gbps, rate, goal.iterations(window_s))


def _write_settings(inventory: Inventory, inventory_file: Path, plan_file: Path, chosen: FeedPlan, out: Path) -> None:
    leaves = {a.switch for host in inventory.hosts for endpoint in host.endpoints for a in endpoint.attachments}
    switches = tuple(s for s in inventory.switches if chosen.points is ExportingSwitches.ALL or s.name in leaves)
    plan = load_plan(plan_file).model_copy(update={"rates": dict(chosen.rates), "rate": max(chosen.rates.values())})
    files = generate(inventory.model_copy(update={"switches": switches}), inventory_file, plan)
    with name_output_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        for file in files:
            (out / file.name).write_text(file.text, encoding="utf-8")
    typer.echo(f"{out}: {len(files)} files", err=True)
