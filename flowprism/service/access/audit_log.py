"""The audit log: user, change, address and result, including refused attempts."""

from __future__ import annotations

import uuid
from typing import Any

import structlog
from starlette.requests import Request

from datamodel.errors import StorageError
from datamodel.service.result_rows import AuditEntry
from flowprism.service.access.authentication import Authentication
from flowprism.service.http.route_names import route_of
from storage.database.access import audit
from storage.database.connection import Database

_LOG = structlog.get_logger(__name__)
_LONGEST = 500


def add_detail(request: Request, subject: str | None = None, **detail: str) -> None:
    """Let a route add to its entry: what was changed, where the path does not say it, and what is worth knowing.

    Never a password, a token's secret, or anything else that the log's readers may not use.
    """
    if subject is not None:
        request.state.audit_subject = subject
    said: dict[str, str] = getattr(request.state, "audit_detail", {})
    request.state.audit_detail = {**said, **detail}


def audit_request(database: Database, request: Request, status: int, now_ns: int) -> None:
    """Write one entry. Where the database cannot be reached it goes to the service's own log, as an error."""
    entry = _entry(request, status, now_ns)
    try:
        audit(database, entry)
    except StorageError as error:
        fields = {"actor": entry.actor, "action": entry.action, "subject": entry.subject, "detail": dict(entry.detail)}
        _LOG.error("not in the audit log", cause=str(error), **fields)


def audit_command(database: Database, actor: str, action: str, subject: str, now_ns: int, **detail: str) -> None:
    """Write down what was done at the command line.

    Raises:
        StorageError: the database cannot be reached.
    """
    audit(database, AuditEntry(uuid.uuid4().hex, now_ns, actor, action, subject, detail))


def _entry(request: Request, status: int, now_ns: int) -> AuditEntry:
    state: Any = request.state
    who: Authentication = state.identified
    named = "/".join(str(value) for value in request.path_params.values())
    detail = {
        **getattr(state, "audit_detail", {}),
        "status": str(status),
        "address": state.peer.address,
        "by": f"token {who.token}" if who.token else who.means,
    }
    return AuditEntry(
        request=getattr(state, "request_id", None) or uuid.uuid4().hex,
        time_ns=now_ns,
        actor=who.viewer.name,
        action=f"{request.method} {route_of(request.scope)}",
        subject=_plain(getattr(state, "audit_subject", named)),
        detail={name: _plain(value) for name, value in detail.items()},
    )


def _plain(text: str) -> str:
    """Text that every database keeps and every page shows, whatever a stranger sent."""
    return text if text.isprintable() and len(text) <= _LONGEST else ascii(text)[:_LONGEST]
