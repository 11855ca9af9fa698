"""Restricts all results to what their viewer may see."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TypeVar

from datamodel.document import Document
from datamodel.errors import PermissionDeniedError
from datamodel.service.result_rows import Role
from flowprism.service.viewer import Viewer

Shown = TypeVar("Shown", bound=Document)
_JOB_BY_ID = re.compile(r"\bjob ([0-9a-f]{8})\b")  # as sentences about contention name the jobs that came


def can_see(viewer: Viewer, tenant: str | None) -> bool:
    """Check whether a viewer sees what belongs to a tenant. What has no tenant is for viewers of all."""
    return viewer.tenant is None or viewer.tenant == tenant


def restrict_tenant(viewer: Viewer, wanted: str | None) -> tuple[bool, str | None]:
    """Whether any of what is wanted of a tenant may be seen, and the tenant to ask for; None stands for all."""
    if viewer.tenant is None:
        return True, wanted
    return wanted in {None, viewer.tenant}, viewer.tenant


def require(viewer: Viewer, role: Role) -> None:
    """Refuse viewers with a lesser role.

    Raises:
        PermissionDeniedError: it is so.
    """
    if not viewer.may(role):
        raise PermissionDeniedError(f"this takes the role {role}; {viewer.name} is {viewer.role}")


def require_all_seen(viewer: Viewer) -> None:
    """Refuse viewers of one tenant what concerns all.

    Raises:
        PermissionDeniedError: it is so.
    """
    if viewer.tenant is not None:
        raise PermissionDeniedError(f"this concerns all tenants; {viewer.name} sees {viewer.tenant} only")


def masked(viewer: Viewer, document: Shown, own: Collection[str | None]) -> Shown:
    """Remove the names of jobs other than `own` from a document for a viewer of one tenant."""
    if viewer.tenant is None:
        return document
    text = document.model_dump_json(by_alias=True)
    cut = _JOB_BY_ID.sub(lambda found: found[0] if found[1] in own else "another job", text)
    return document if cut == text else type(document).model_validate_json(cut)
