"""Answers what a feed plan for a goal is, as far as it is measured, and which exporter files it makes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from capture.tables.addresses import canonical
from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError, InventoryError
from flowprism.exporter_config.generate import GeneratedFile
from flowprism.exporter_config.model import Vendor
from flowprism.exporter_config.plan import ExportPlan, PlannedCollector
from flowprism.feed_plan.cost_model import Costs
from flowprism.feed_plan.exporter_settings import exporter_files
from flowprism.feed_plan.feed_measurements import FeedMeasurements, plan_feed
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts, fabric_ports, leaf_names
from flowprism.feed_plan.plan_search import FeedPlan, PlanChoice
from flowprism.service.feed_plans.feed_planner import FeedPlanner, Measuring, MeasuringFailed
from flowprism.service.queries.inventory import in_force
from flowprism.service.stores import Stores

PlanState = Literal["impossible", "not started", "measuring", "failed", "ready"]
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the same plan, the same bytes
_INVENTORY_FILE = Path("inventory.yaml")


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """A plan, or why there is none yet.

    Attributes:
        state: how far it is.
        reason: why it is impossible, or failed.
        measuring: steps, while it is measured.
        choice, costs: when it is ready.
        inventory: whose fabric it is for; None where it is impossible.
    """

    state: PlanState
    reason: str = ""
    measuring: Measuring = field(default_factory=Measuring)
    choice: PlanChoice | None = None
    costs: Costs | None = None
    inventory: Inventory | None = None


def planned_fabric(stores: Stores) -> tuple[Inventory, FabricPorts]:
    """The inventory in force and its ports.

    Raises:
        InputError: there is none, or no endpoint has a switch and a speed.
        StorageError: the database cannot be reached.
    """
    try:
        inventory = in_force(stores)
    except InventoryError as error:
        raise InputError(str(error)) from None
    if inventory is None:
        raise InputError("there is no inventory")
    return inventory, fabric_ports(inventory)


def plan_answer(planner: FeedPlanner, inventory: Inventory, ports: FabricPorts, goal: FeedGoal) -> PlanAnswer:
    """The plan for a goal, as far as it is measured; `ports` are those of the inventory."""
    found = planner.state(ports, goal)
    if isinstance(found, FeedMeasurements):
        return PlanAnswer("ready", choice=plan_feed(ports, goal, found), costs=found.costs, inventory=inventory)
    if isinstance(found, Measuring):
        return PlanAnswer("measuring", measuring=found, inventory=inventory)
    if isinstance(found, MeasuringFailed):
        return PlanAnswer("failed", found.reason, inventory=inventory)
    return PlanAnswer("not started", inventory=inventory)


@dataclass(frozen=True, slots=True)
class ExporterTarget:
    """What exporter files need besides a plan.

    Attributes:
        collector: IP address of the collector.
        port: its UDP port of sFlow.
        leaves, others: configuration language of switches that endpoints are plugged into, and of others.
    """

    collector: str
    port: int
    leaves: Vendor
    others: Vendor


def plan_files(stores: Stores, inventory: Inventory, chosen: FeedPlan, target: ExporterTarget) -> list[GeneratedFile]:
    """Exporter files of a plan, and the service's settings.

    Raises:
        InputError: the collector is no address, or ports cannot be named.
    """
    address = canonical(target.collector)
    if address is None:
        raise InputError("the collector is no IP address")
    leaves = leaf_names(inventory)
    vendors = {s.name: target.leaves if s.name in leaves else target.others for s in inventory.switches}
    plan = ExportPlan(collectors=(PlannedCollector(address=address, port=target.port),), vendors=vendors)
    return exporter_files(inventory, stores.settings.scans.inventory or _INVENTORY_FILE, plan, chosen)


def zipped(files: Sequence[GeneratedFile]) -> bytes:
    """Pack files into a ZIP archive; the same files give the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.writestr(zipfile.ZipInfo(file.name, _ZIP_TIME), file.text)
    return packed.getvalue()
