"""All pages of the dashboard, over the same functions as the public API."""

from __future__ import annotations

from fastapi import FastAPI

from flowprism.dashboard import api_page, login_page, overview_page, scans_page, settings_page, static_files
from flowprism.dashboard.fabric import fabric_page, paths_page, traffic_page
from flowprism.dashboard.feeds import feeds_page, plan_page
from flowprism.dashboard.incidents import incident_page, incidents_page
from flowprism.dashboard.jobs import job_page, matrix_page, timeline_page, training_time_page


def add_pages(app: FastAPI) -> None:
    """Add what browsers are shown."""
    for page in (
        timeline_page, matrix_page, fabric_page, paths_page, traffic_page, feeds_page, plan_page, settings_page,
    ):  # fmt: skip
        app.include_router(page.router(), include_in_schema=False)
    # A job's own page comes behind its timeline and matrix: names may have slashes, so it would take theirs for one.
    own = (
        static_files, login_page, api_page, overview_page, training_time_page, job_page, incidents_page, incident_page,
        scans_page,
    )  # fmt: skip
    for one in own:
        app.include_router(one.router, include_in_schema=False)
