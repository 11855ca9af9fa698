"""Pages made of templates: what all of them share, and how each becomes an answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment

from flowprism import __version__
from flowprism.dashboard.clock import clock_of
from flowprism.dashboard.feeds.feed_health import feed_health
from flowprism.dashboard.static_files import address
from flowprism.rendering import phrases, units
from flowprism.rendering.templating import templates_of
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer


@dataclass(frozen=True, slots=True)
class NavItem:
    """An entry of the navigation."""

    path: str
    name: str


PLACES = (
    NavItem("/", "Overview"),
    NavItem("/incidents", "Incidents"),
    NavItem("/fabric", "Fabric"),
    NavItem("/scans", "Scans"),
    NavItem("/feeds", "Feeds"),
    NavItem("/settings", "Settings"),
)


def get_stores(request: Request) -> Stores:
    """Where a page reads its answers from."""
    stores: Stores = request.app.state.stores
    return stores


def render_page(
    request: Request,
    viewer: Viewer | None,
    template: str,
    *,
    status: int = 200,
    now_ns: int | None = None,
    alone: bool = False,
    **values: Any,  # noqa: ANN401 - whatever the template names
) -> HTMLResponse:
    """A page.

    Templates extend `base.html` and see, besides `values`: `viewer`, `clock` (times in the viewer's zone), `health`
    (of feeds), `here` (the path), `static(path)`, `units` and `wording`.

    Args:
        request: whose path and zone count.
        viewer: who sees it; None on the page to log in.
        template: its file's name.
        status: of the answer.
        now_ns: the clock, UTC; None for this moment's.
        alone: the page must do without the database, so the bar says nothing of feeds.
        values: what the template names besides.

    Raises:
        StorageError: the database cannot be reached, and the page is not `alone`.
    """
    clock = clock_of(request, time.time_ns() if now_ns is None else now_ns)
    health = None if alone or viewer is None else feed_health(get_stores(request), viewer, clock.now_ns)
    shared = {"viewer": viewer, "clock": clock, "here": request.url.path, "health": health}
    text = environment().get_template(template).render(**shared, leaving=_leaving(request), **values)
    return HTMLResponse(text, status, {"Cache-Control": "private, no-cache"})


@cache
def environment() -> Environment:
    """The templates of all pages."""
    return templates_of(
        "flowprism.dashboard", units=units, wording=phrases, static=address, places=PLACES, version=__version__
    )


def _leaving(request: Request) -> bool:
    """Whether there is a log-in to end."""
    return getattr(getattr(request.state, "identified", None), "means", "") == "session"
