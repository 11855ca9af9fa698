"""Routes of applications that tests make by the hundred: made once, because that takes longer than most answers."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.routing import APIRouter

from flowprism.service.access.dependencies import require_viewer
from flowprism.service.viewer import Viewer

# What an answer depends on it finds through its request, which knows the application that was asked.
_AS_GUARDED: list[APIRouter] = []
_AS_ANYONE: list[APIRouter] = []


def share_routes(app: FastAPI) -> FastAPI:
    """The application with the routes of the first one that came here; no test may add routes to it."""
    return _shared(app, _AS_GUARDED)


def answer_as(app: FastAPI, viewer: Viewer) -> FastAPI:
    """The same, of an application that takes whoever asks for `viewer`."""
    app.state.asking = viewer
    app.dependency_overrides[require_viewer] = _asking
    return _shared(app, _AS_ANYONE)


def _shared(app: FastAPI, first: list[APIRouter]) -> FastAPI:
    if not first:
        first.append(app.router)
    (app.router,) = first
    return app


def _asking(request: Request) -> Viewer:
    viewer: Viewer = request.app.state.asking
    return viewer
