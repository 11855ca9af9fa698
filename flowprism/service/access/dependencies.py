"""What a route writes to say who may ask: `def jobs(viewer: Seeing) -> ...`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from flowprism.service.viewer import Viewer


def seeing(request: Request) -> Viewer:
    """Whoever may see anything.

    Raises:
        HTTPException: 401, nobody is logged in.
    """
    viewer = getattr(request.state, "viewer", None)
    if not isinstance(viewer, Viewer):
        raise HTTPException(401, "log in, or show a token", {"WWW-Authenticate": "Bearer"})
    return viewer


def operating(viewer: Annotated[Viewer, Depends(seeing)]) -> Viewer:
    """Whoever may change what goes on: incidents, scans.

    Raises:
        HTTPException: 401, nobody is logged in; 403, they may only look.
    """
    if not viewer.may("operator"):
        raise HTTPException(403, f"{viewer.name} is a {viewer.role}: this needs the role operator")
    return viewer


def administering(viewer: Annotated[Viewer, Depends(seeing)]) -> Viewer:
    """Whoever may change who may do what, and the inventory.

    Raises:
        HTTPException: 401, nobody is logged in; 403, they are no admin.
    """
    if not viewer.may("admin") or viewer.tenant is not None:
        raise HTTPException(403, f"{viewer.name} is a {viewer.role}: this needs the role admin")
    return viewer


Seeing = Annotated[Viewer, Depends(seeing)]
Operating = Annotated[Viewer, Depends(operating)]
Administering = Annotated[Viewer, Depends(administering)]
