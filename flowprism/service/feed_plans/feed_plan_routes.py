"""`/feeds/plan`: which sampling rates, exporters and windows a goal takes, and the exporters' settings."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field

from datamodel.cluster.inventory import Inventory
from datamodel.document import Document
from datamodel.errors import InputError
from flowprism.exporter_config.model import Vendor
from flowprism.feed_plan.goal import FeedGoal
from flowprism.feed_plan.observation_points import FabricPorts
from flowprism.feed_plan.plan_document import PlanChoiceDocument, choice_document
from flowprism.service.access.dependencies import Operating, Seeing
from flowprism.service.feed_plans.feed_plan_query import (
    ExporterTarget,
    PlanAnswer,
    PlanState,
    plan_answer,
    plan_files,
    planned_fabric,
    zipped,
)
from flowprism.service.feed_plans.feed_planner import FeedPlanner, PlannerBusyError
from flowprism.service.feed_plans.goal_defaults import LONGEST_ITERATION_S, MOST_MEMBERS, GoalDefaults, goal_defaults
from flowprism.service.http.query_parameters import Parameters
from flowprism.service.http.responses import respond, respond_with_etag, wrong
from flowprism.service.queries.visibility import require_all_seen
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer

router = APIRouter(tags=["feeds"])
ZIP = "application/zip"
BUSY_RETRY_S = 30
_NO_PLAN = "there is no plan for this goal: POST /feeds/plan measures one"


class GoalParameters(Parameters):
    """A goal; what is left out is taken from the service's jobs, traffic and settings."""

    slowdown_ratio: float | None = Field(default=None, gt=1, le=10, description="least slowdown to detect: 1.05 is 5 %")
    minutes: float | None = Field(default=None, gt=0, le=1440, description="from its onset to the finding, at most")
    cores: float | None = Field(default=None, gt=0, le=10_000, description="most cores for collectors and scans")
    disk_gib: float | None = Field(default=None, gt=0, le=1e9, description="most disk for flow records")
    keep_h: float | None = Field(default=None, gt=0, le=100_000, description="hours that flow records are kept")
    iteration_s: float | None = Field(
        default=None, ge=0.05, le=LONGEST_ITERATION_S, description="iteration time of the job"
    )
    members: int | None = Field(default=None, ge=2, le=MOST_MEMBERS, description="NICs of its gradient ring")
    busy_ratio: float | None = Field(
        default=None, ge=0.001, le=1, description="share of the time that its NICs send at full rate"
    )

    def goal(self, usual: FeedGoal) -> FeedGoal:
        """The goal, with what is left out as usual."""
        given = {name: value for name in GoalParameters.model_fields if (value := getattr(self, name)) is not None}
        return replace(usual, **given)


class FileParameters(GoalParameters):
    """A goal, the collector, and what the switches speak."""

    collector: str = Field(max_length=45, description="IP address of the collector")
    port: int = Field(default=6343, ge=1, le=65535, description="its UDP port of sFlow")
    leaves: Vendor = Field(description="configuration language of switches that endpoints are plugged into")
    others: Vendor | None = Field(default=None, description="of other switches; without one that of leaves")

    @property
    def target(self) -> ExporterTarget:
        """What exporter files need."""
        return ExporterTarget(self.collector, self.port, self.leaves, self.others or self.leaves)


class FeedPlanView(Document):
    """A plan, or how far it is."""

    state: PlanState = Field(description="`not started` until it is asked for by POST, `impossible` without inventory")
    reason: str = Field(default="", description="why it is impossible, or failed")
    done: int = Field(default=0, description="steps measured")
    total: int = Field(default=0, description="steps in all; 0 while others are measured first")
    goal: dict[str, int | float | None] = Field(default={}, description="the goal, with what was left out")
    sources: dict[str, str] = Field(default={}, description="where values come from that were left out")
    choice: PlanChoiceDocument | None = Field(default=None, description="`flowprism.feed_plan/v1`, when it is ready")


@router.get("/feeds/plan", response_model=FeedPlanView, summary="A feed plan for a goal")
def feed_plan(request: Request, viewer: Seeing, asked: Annotated[GoalParameters, Query()]) -> Response:
    """The cheapest sampling rates, exporters, workers and windows that reach a goal, as `flowprism plan feeds`.

    Nothing is measured before it is asked for by POST. For users of all tenants.
    """
    require_all_seen(viewer)
    return respond(request, _view(request, viewer, asked))


@router.post("/feeds/plan", response_model=FeedPlanView, status_code=202, summary="Measure for a feed plan")
def measure(request: Request, viewer: Operating, asked: Annotated[GoalParameters, Query()]) -> Response:
    """Measure costs and simulate the job, a minute or two in the background; GET of the same query has the plan then.

    For operators of all tenants.
    """
    require_all_seen(viewer)
    start_measuring(request, viewer, asked)
    answer = respond(request, _view(request, viewer, asked))
    answer.status_code = 202
    return answer


@router.get(
    "/feeds/plan/files",
    response_class=Response,
    responses={200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}},
    summary="Exporter settings of a feed plan",
)
def files(request: Request, viewer: Seeing, asked: Annotated[FileParameters, Query()]) -> Response:
    """A ZIP archive: what to type on each switch of the plan, and `flowprism.yaml`. For users of all tenants."""
    require_all_seen(viewer)
    stores: Stores = request.app.state.stores
    try:
        inventory, ports, usual = _known(stores, viewer)
        choice = plan_answer(planner_of(request), inventory, ports, asked.goal(usual.goal)).choice
        if choice is None:
            raise HTTPException(404, _NO_PLAN)
        made = zipped(plan_files(stores, inventory, choice.chosen, asked.target))
    except InputError as error:
        raise wrong("query", str(error)) from None
    return respond_with_etag(request, made, ZIP, {"Content-Disposition": 'attachment; filename="exporters.zip"'})


def _known(stores: Stores, viewer: Viewer) -> tuple[Inventory, FabricPorts, GoalDefaults]:
    """The inventory in force, its ports, and the goal that the service's jobs, traffic and settings make.

    Raises:
        InputError: there is no inventory, or no endpoint has a switch and a speed.
    """
    inventory, ports = planned_fabric(stores)
    return inventory, ports, goal_defaults(stores, viewer, inventory, time.time_ns())


def planner_of(request: Request) -> FeedPlanner:
    """The application's planner."""
    planner: FeedPlanner = request.app.state.planner
    return planner


def start_measuring(request: Request, viewer: Viewer, asked: GoalParameters) -> None:
    """Measure for a goal in the background; does nothing where no plan is possible.

    Raises:
        HTTPException: 429, too many others are waiting.
    """
    try:
        _, ports, usual = _known(request.app.state.stores, viewer)
        planner_of(request).start(ports, asked.goal(usual.goal))
    except InputError:
        return
    except PlannerBusyError as error:
        raise HTTPException(429, str(error), {"Retry-After": str(BUSY_RETRY_S)}) from None


def answer_for(
    request: Request, viewer: Viewer, asked: GoalParameters
) -> tuple[PlanAnswer, FeedGoal, Mapping[str, str]]:
    """The plan, its goal, and where values come from that were left out."""
    usual = GoalDefaults(FeedGoal(), {})
    try:
        inventory, ports, usual = _known(request.app.state.stores, viewer)
        goal = asked.goal(usual.goal)
        answer = plan_answer(planner_of(request), inventory, ports, goal)
    except InputError as error:
        return PlanAnswer("impossible", str(error)), usual.goal, {}
    given = asked.model_dump(exclude_none=True)
    return answer, goal, {name: source for name, source in usual.sources.items() if name not in given}


def _view(request: Request, viewer: Viewer, asked: GoalParameters) -> FeedPlanView:
    answer, goal, sources = answer_for(request, viewer, asked)
    return FeedPlanView(
        state=answer.state,
        reason=answer.reason,
        done=answer.measuring.done,
        total=answer.measuring.total,
        goal={name: getattr(goal, name) for name in GoalParameters.model_fields},
        sources=dict(sources),
        choice=choice_document(answer.choice, answer.costs, {}) if answer.choice and answer.costs else None,
    )
