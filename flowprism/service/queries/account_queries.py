"""Users, tokens and the audit log for pages, in the API's documents."""

from __future__ import annotations

from flowprism.service.access.accounts.access_documents import (
    AuditRow,
    TokenRow,
    UserRow,
    audit_row,
    token_row,
    user_row,
)
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database import access


def administers(viewer: Viewer) -> bool:
    """Check whether a viewer may manage users."""
    return viewer.may("admin") and viewer.tenant is None


def users(stores: Stores, viewer: Viewer) -> tuple[UserRow, ...]:
    """List all users by name; empty for other viewers than admins of all tenants."""
    return tuple(map(user_row, access.users(stores.database))) if administers(viewer) else ()


def tokens(stores: Stores, viewer: Viewer) -> tuple[TokenRow, ...]:
    """List the viewer's tokens, for an admin those of all users, the newest first."""
    return tuple(map(token_row, access.tokens(stores.database, None if administers(viewer) else viewer.name)))


def audit(stores: Stores, viewer: Viewer, before: int | None, most: int) -> tuple[AuditRow, ...]:
    """List audit entries before number `before`, the newest first; empty for other viewers than admins."""
    if not administers(viewer):
        return ()
    return tuple(audit_row(number, entry) for number, entry in access.audit_log(stores.database, before, most))
