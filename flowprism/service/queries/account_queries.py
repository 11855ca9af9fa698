"""Who may come in by which means, and who changed what: for pages; the API's routes tell the same documents."""

from __future__ import annotations

from flowprism.service.access.access_documents import AuditRow, TokenRow, UserRow, audit_row, token_row, user_row
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database import access


def administers(viewer: Viewer) -> bool:
    """Whether a viewer may change who may do what."""
    return viewer.may("admin") and viewer.tenant is None


def users(shelf: Stores, viewer: Viewer) -> tuple[UserRow, ...]:
    """All users by name; none for who is no admin of all tenants."""
    return tuple(map(user_row, access.users(shelf.database))) if administers(viewer) else ()


def tokens(shelf: Stores, viewer: Viewer) -> tuple[TokenRow, ...]:
    """The viewer's own tokens; an admin's are everybody's. The newest come first."""
    return tuple(map(token_row, access.tokens(shelf.database, None if administers(viewer) else viewer.name)))


def audit(shelf: Stores, viewer: Viewer, before: int | None, most: int) -> tuple[AuditRow, ...]:
    """Entries of the audit log, the newest first, those behind number `before`; none for who is no admin."""
    if not administers(viewer):
        return ()
    return tuple(audit_row(number, entry) for number, entry in access.audit_log(shelf.database, before, most))
