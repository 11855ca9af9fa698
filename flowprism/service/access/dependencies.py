"""What a route writes to say who may ask: `def jobs(viewer: Seeing) -> ...`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from flowprism.service.viewer import Viewer


def require_viewer(request: Request) -> Viewer:
    """Whoever may see anything.

    Raises:
        HTTPException: 401, nobody is logged in.
    """
    viewer = getattr(request.state, "viewer", None)
    if not isinstance(viewer, Viewer):
        raise HTTPException(401, "log in, or show a token", {"WWW-Authenticate": "Bearer"})
    return viewer


def require_operator(viewer: Annotated[Viewer, Depends(require_viewer)]) -> Viewer:
    """Whoever may change what goes on: incidents, scans.

    Raises:
        HTTPException: 401, nobody is logged in; 403, they may only look.
    """
    if not viewer.may("operator"):
        raise HTTPException(403, f"{viewer.name} is a {viewer.role}: this needs the role operator")
    return viewer


def require_admin(viewer: Annotated[Viewer, Depends(require_viewer)]) -> Viewer:
    """Whoever may change who may do what, and the inventory.

    Raises:
        HTTPException: 401, nobody is logged in; 403, they are no admin.
    """
    if not viewer.may("admin") or viewer.tenant is not None:
        raise HTTPException(403, f"{viewer.name} is a {viewer.role}: this needs the role admin")
    return viewer


Seeing = Annotated[Viewer, Depends(require_viewer)]
Operating = Annotated[Viewer, Depends(require_operator)]
Administering = Annotated[Viewer, Depends(require_admin)]
