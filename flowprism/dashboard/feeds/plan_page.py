"""`/feeds/plan`: which sampling rates a goal takes, what they cost and show, and the exporters' settings."""

from __future__ import annotations

import time
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError

from datamodel.cluster.inventory import Inventory
from datamodel.errors import InputError
from flowprism.dashboard.feeds.plan_form import GOALS, JOB, PlanWanted
from flowprism.dashboard.feeds.plan_view import VENDOR_NAMES, compared, fault_names, rates_by_speed
from flowprism.dashboard.forms import Form
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.exporter_config.generate import GeneratedFile
from flowprism.feed_plan.exporter_settings import exporting_switches
from flowprism.feed_plan.plan_search import FeedPlan
from flowprism.service.access.dependencies import Operating, Seeing
from flowprism.service.feed_plans.feed_plan_query import plan_files
from flowprism.service.feed_plans.feed_plan_routes import answer_for, start_measuring
from flowprism.service.feed_plans.goal_defaults import present_feed
from flowprism.service.queries.visibility import require_all_seen
from flowprism.service.stores import Stores

_ADDRESS = "/feeds/plan"
_MOST_ALTERNATIVES = 20


def router() -> APIRouter:
    """The page."""
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route(_ADDRESS, page, methods=["GET"], response_class=HTMLResponse)
    routes.add_api_route(_ADDRESS, measure, methods=["POST"], response_model=None)
    return routes


def measure(request: Request, viewer: Operating, form: Form) -> Response:
    """Measure for the goal of the form, and show the page that waits for it."""
    require_all_seen(viewer)
    try:
        wanted = PlanWanted.model_validate({name: form.text(name, 200) for name in PlanWanted.model_fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise HTTPException(400, f"{first['loc'][0]}: {first['msg']}") from None
    start_measuring(request, viewer, wanted.goal)
    query = wanted.query()
    return RedirectResponse(f"{_ADDRESS}?{query}" if query else _ADDRESS, 303)


def page(request: Request, viewer: Seeing, wanted: Annotated[PlanWanted, Query()]) -> HTMLResponse:
    """The form, and the plan as far as it is measured; for viewers of all tenants."""
    require_all_seen(viewer)
    stores, asked = get_stores(request), wanted.goal
    answer, goal, sources = answer_for(request, viewer, asked)
    switches: tuple[str, ...] = ()
    made: tuple[GeneratedFile, ...] = ()
    problem = ""
    if answer.choice is not None and answer.inventory is not None:
        chosen = answer.choice.chosen
        switches = tuple(switch.name for switch in exporting_switches(answer.inventory, chosen))
        made, problem = _files(stores, answer.inventory, chosen, wanted)
    target = wanted.target
    files = {} if target is None else {
        **asked.model_dump(exclude_none=True), "collector": target.collector, "port": target.port,
        "leaves": target.leaves.value, "others": target.others.value,
    }  # fmt: skip
    return render_page(
        request,
        viewer,
        "feed_plan.html",
        wanted=wanted,
        goal=goal,
        sources=sources,
        answer=answer,
        goals=GOALS,
        job=JOB,
        present=present_feed(stores, time.time_ns()),
        compared=compared(answer.choice) if answer.choice is not None else (),
        alternatives=answer.choice.alternatives[:_MOST_ALTERNATIVES] if answer.choice is not None else (),
        switches=switches,
        vendors=VENDOR_NAMES,
        files=made,
        files_problem=problem,
        files_query=urlencode(files),
        rates_by_speed=rates_by_speed,
        fault_names=fault_names,
    )


def _files(
    stores: Stores, inventory: Inventory, chosen: FeedPlan, wanted: PlanWanted
) -> tuple[tuple[GeneratedFile, ...], str]:
    """Files for the target that is asked for, or why there are none."""
    if wanted.target is None:
        return (), ""
    try:
        return tuple(plan_files(stores, inventory, chosen, wanted.target)), ""
    except InputError as error:
        return (), str(error)
