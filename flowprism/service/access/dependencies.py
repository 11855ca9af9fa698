"""Route dependencies that require rights: `def jobs(viewer: Seeing) -> ...`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from flowprism.service.viewer import Viewer


def require_viewer(request: Request) -> Viewer:
    """Require a viewer.

    Raises:
        HTTPException: 401, not logged in.
    """
    viewer = getattr(request.state, "viewer", None)
    if not isinstance(viewer, Viewer):
        raise HTTPException(401, "log in, or show a token", {"WWW-Authenticate": "Bearer"})
    return viewer


def require_operator(viewer: Annotated[Viewer, Depends(require_viewer)]) -> Viewer:
    """Require the right to change incidents and scans.

    Raises:
        HTTPException: 401, not logged in; 403, a viewer only.
    """
    if not viewer.may("operator"):
        raise HTTPException(403, f"{viewer.name} is a {viewer.role}: this needs the role operator")
    return viewer


def require_admin(viewer: Annotated[Viewer, Depends(require_viewer)]) -> Viewer:
    """Require the right to change users and the inventory.

    Raises:
        HTTPException: 401, not logged in; 403, no admin.
    """
    if not viewer.may("admin") or viewer.tenant is not None:
        raise HTTPException(403, f"{viewer.name} is a {viewer.role}: this needs the role admin")
    return viewer


Seeing = Annotated[Viewer, Depends(require_viewer)]
Operating = Annotated[Viewer, Depends(require_operator)]
Administering = Annotated[Viewer, Depends(require_admin)]
