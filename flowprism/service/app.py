"""The web application: API, access and dashboard on one store. Nothing is started here."""

from __future__ import annotations

from dataclasses import replace

from fastapi import FastAPI

from flowprism import __version__
from flowprism.dashboard.page_route import add_problem_page
from flowprism.dashboard.pages import add_pages
from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.api.api_routes import add_api_routes
from flowprism.service.api.description import describe
from flowprism.service.api.event_stream import EventBroadcaster
from flowprism.service.config.settings import Settings
from flowprism.service.feed_plans.feed_planner import FeedPlanner
from flowprism.service.http.problem_details import PREFIX, add_problem_handlers
from flowprism.service.middleware import add_middleware
from flowprism.service.stores import Stores


def application(stores: Stores, settings: Settings, access: AccessSettings) -> FastAPI:
    """The application of one store.

    Args:
        stores: where answers are read from.
        settings: of the whole service; answers follow from them.
        access: settings of access control.
    """
    app = FastAPI(
        title="flowprism",
        version=__version__,
        summary="Black-box performance diagnosis for LLM training clusters",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # their pages load scripts from elsewhere
        redoc_url=None,
    )
    stores = replace(stores, settings=settings)
    app.state.stores, app.state.settings, app.state.access = stores, settings, access
    app.state.station, app.state.planner = EventBroadcaster(stores), FeedPlanner()
    add_problem_handlers(app)
    add_api_routes(app)
    add_pages(app)
    add_problem_page(app, PREFIX)
    add_middleware(app, stores, settings, access)
    describe(app)
    return app
