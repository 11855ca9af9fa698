"""Logging in; what is sent is taken by `flowprism.service.access.login`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import render_page
from flowprism.service.access.denied_responses import local_path

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class CameFrom(BaseModel):
    """Where to go on to, and what went wrong before."""

    next: str = Field(default="/", max_length=2000)
    problem: str = Field(default="", max_length=20)
    seconds: int = Field(default=0, ge=0, le=100_000)


@router.get("/login", response_model=None)
def login(request: Request, came: Annotated[CameFrom, Query()]) -> Response:
    """The page."""
    wait = f"Too many attempts failed. Try again in {came.seconds} s."
    problem = {"wrong": "Name and password do not fit.", "wait": wait}.get(came.problem, "")
    mode = request.app.state.access.mode
    following = local_path(came.next)
    return render_page(request, None, "login.html", alone=True, following=following, problem=problem, mode=mode)
