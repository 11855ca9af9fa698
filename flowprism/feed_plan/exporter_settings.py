"""Exporter settings of a chosen plan: a file for each switch that exports, and the service's settings."""

from __future__ import annotations

from pathlib import Path

from datamodel.cluster.inventory import Inventory, Switch
from flowprism.exporter_config.generate import GeneratedFile, generate
from flowprism.exporter_config.plan import ExportPlan
from flowprism.feed_plan.observation_points import ExportingSwitches, leaf_names
from flowprism.feed_plan.plan_search import FeedPlan


def exporting_switches(inventory: Inventory, chosen: FeedPlan) -> tuple[Switch, ...]:
    """The switches that export by the plan."""
    leaves = leaf_names(inventory)
    return tuple(s for s in inventory.switches if chosen.points is ExportingSwitches.ALL or s.name in leaves)


def exporter_files(
    inventory: Inventory, inventory_file: Path, plan: ExportPlan, chosen: FeedPlan
) -> list[GeneratedFile]:
    """Write exporter settings with the chosen rates.

    Args:
        inventory: the fabric.
        inventory_file: where the service finds it.
        plan: collectors and configuration languages; its rates are replaced.
        chosen: rates, and which switches export.

    Raises:
        InputError: the export plan lacks a collector or a language, or ports cannot be named.
    """
    plan = plan.model_copy(update={"rates": dict(chosen.rates), "rate": max(chosen.rates.values())})
    fabric = inventory.model_copy(update={"switches": exporting_switches(inventory, chosen)})
    return generate(fabric, inventory_file, plan)
