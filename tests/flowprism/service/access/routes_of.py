"""Every route of the application with what it lets whom do: the authorisation matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

# open: anybody at all; seeing: whoever is known, each what they may see; all: who sees all tenants; operating and
# administering: that role or more; operating all: an operator who sees all tenants.
Right = Literal["open", "seeing", "all", "operating", "operating all", "administering"]


@dataclass(frozen=True)
class Rule:
    """Who may use a route, and a request that then succeeds.

    Attributes:
        right: what one needs.
        owned: it is about one thing of one tenant, which others must not tell from one that there is not.
        request: what makes it succeed, as httpx takes it.
        query: likewise.
    """

    right: Right
    owned: bool = False
    request: dict[str, Any] = field(default_factory=dict)
    query: str = ""


_FORM: dict[str, Any] = {"data": {"text": "why", "reason": "why", "until": "", "hours": "1"}}
_INVENTORY: dict[str, Any] = {"json": {"schema": "flowprism.inventory/v1"}}

MATRIX: dict[tuple[str, str], Rule] = {
    ("GET", "/healthz"): Rule("open"),
    ("GET", "/readyz"): Rule("open"),
    ("GET", "/login"): Rule("open"),
    ("GET", "/static/{path}"): Rule("open"),
    ("POST", "/login"): Rule("open", request={"data": {"name": "vic", "password": "correct horse battery"}}),
    ("POST", "/logout"): Rule("seeing"),
    ("GET", "/metrics"): Rule("all"),
    ("GET", "/api/v1/openapi.json"): Rule("seeing"),
    ("GET", "/api/v1/me"): Rule("seeing"),
    ("GET", "/api/v1/jobs"): Rule("seeing"),
    ("GET", "/api/v1/jobs/{job}"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/layouts"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/patterns"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/iterations"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/trend"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/timeline"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/matrix"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/rates"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/training-time"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/paths"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/paths/plan"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/report"): Rule("seeing", owned=True),
    ("GET", "/api/v1/jobs/{job}/trace"): Rule("seeing", owned=True),
    ("GET", "/api/v1/incidents"): Rule("seeing"),
    ("GET", "/api/v1/incidents/{incident}"): Rule("seeing", owned=True),
    ("GET", "/api/v1/incidents/{incident}/profiles"): Rule("seeing", owned=True),
    ("POST", "/api/v1/incidents/{incident}/acknowledge"): Rule("operating", owned=True),
    ("POST", "/api/v1/incidents/{incident}/accept"): Rule("operating", owned=True),
    ("POST", "/api/v1/incidents/{incident}/mute"): Rule("operating", owned=True, request={"json": {"reason": "why"}}),
    ("POST", "/api/v1/incidents/{incident}/unmute"): Rule("operating", owned=True),
    ("POST", "/api/v1/incidents/{incident}/comment"): Rule("operating", owned=True, request={"json": {"text": "x"}}),
    ("GET", "/api/v1/events"): Rule("seeing"),
    ("GET", "/api/v1/scans"): Rule("seeing"),
    ("GET", "/api/v1/scans/{policy}/{window_start_ns}/{window_end_ns}"): Rule("seeing", owned=True),
    ("POST", "/api/v1/scan-requests"): Rule("operating", owned=True, request={"json": {"jobs": ["JOB"]}}),
    ("GET", "/api/v1/scan-requests"): Rule("seeing"),
    ("GET", "/api/v1/scan-requests/{name}"): Rule("seeing", owned=True),
    ("GET", "/api/v1/feeds"): Rule("all"),
    ("GET", "/api/v1/feeds/plan"): Rule("all"),
    ("POST", "/api/v1/feeds/plan"): Rule("operating all"),
    ("GET", "/api/v1/feeds/plan/files"): Rule("all", query="?collector=10.0.0.5&leaves=hsflowd"),
    ("GET", "/api/v1/components"): Rule("all"),
    ("GET", "/api/v1/traffic"): Rule("all"),
    ("GET", "/api/v1/fabric"): Rule("seeing"),
    ("GET", "/api/v1/paths"): Rule("seeing"),
    ("GET", "/api/v1/repeat-offenders"): Rule("seeing"),
    ("GET", "/api/v1/repeat-offenders/week"): Rule("seeing"),
    ("GET", "/api/v1/training-time"): Rule("seeing"),
    ("GET", "/api/v1/inventory"): Rule("all"),
    ("PUT", "/api/v1/inventory"): Rule("administering", request=_INVENTORY),
    ("POST", "/api/v1/inventory/import"): Rule("administering", request=_INVENTORY),
    ("GET", "/api/v1/stream"): Rule("seeing"),
    ("PUT", "/api/v1/me/password"): Rule("seeing"),
    ("GET", "/api/v1/users"): Rule("administering"),
    ("PUT", "/api/v1/users/{name}"): Rule("administering", request={"json": {"role": "viewer"}}),
    ("DELETE", "/api/v1/users/{name}"): Rule("administering"),
    ("GET", "/api/v1/tokens"): Rule("seeing"),
    ("POST", "/api/v1/tokens"): Rule("seeing", request={"json": {}}),
    ("DELETE", "/api/v1/tokens/{token}"): Rule("seeing", owned=True),
    ("GET", "/api/v1/audit"): Rule("administering"),
    ("GET", "/"): Rule("seeing"),
    ("GET", "/docs"): Rule("seeing"),
    ("GET", "/openapi.json"): Rule("seeing"),
    ("GET", "/jobs/{name}"): Rule("seeing", owned=True),
    ("GET", "/jobs/{name}/timeline"): Rule("seeing", owned=True),
    ("GET", "/jobs/{name}/timeline.spans"): Rule("seeing", owned=True),
    ("GET", "/jobs/{name}/matrix"): Rule("seeing", owned=True),
    ("GET", "/training-time"): Rule("seeing"),
    ("GET", "/fabric"): Rule("seeing"),
    ("GET", "/fabric/traffic"): Rule("seeing"),
    ("GET", "/fabric/paths"): Rule("seeing"),
    ("GET", "/incidents"): Rule("seeing"),
    ("GET", "/incidents/{name}"): Rule("seeing", owned=True),
    ("POST", "/incidents/{name}/acknowledge"): Rule("operating", owned=True, request=_FORM),
    ("POST", "/incidents/{name}/accept"): Rule("operating", owned=True, request=_FORM),
    ("POST", "/incidents/{name}/mute"): Rule("operating", owned=True, request=_FORM),
    ("POST", "/incidents/{name}/unmute"): Rule("operating", owned=True, request=_FORM),
    ("POST", "/incidents/{name}/comment"): Rule("operating", owned=True, request=_FORM),
    ("GET", "/scans"): Rule("seeing"),
    ("GET", "/scans/{policy}/{start_ns}/{end_ns}"): Rule("seeing", owned=True),
    ("POST", "/scans"): Rule("operating", owned=True, request={"data": {"policy": "health", "jobs": "JOB"}}),
    ("GET", "/feeds"): Rule("all"),
    ("GET", "/feeds/plan"): Rule("all"),
    ("POST", "/feeds/plan"): Rule("operating all", request={"data": {}}),
    ("GET", "/settings"): Rule("seeing"),
    ("POST", "/settings/tokens"): Rule("seeing", request={"data": {"scope": "read", "expires_days": "1"}}),
    ("POST", "/settings/tokens/{token}/revoke"): Rule("seeing", owned=True),
    ("POST", "/settings/users"): Rule("administering", request={"data": {"name": "victim", "role": "viewer"}}),
    ("POST", "/settings/users/{name}/remove"): Rule("administering"),
    ("POST", "/settings/inventory"): Rule("administering", request={"data": {"text": "hosts: []"}}),
}  # fmt: skip


def routes_of(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Methods and paths of all routes; HEAD is answered as GET."""
    for route in iter_route_contexts(app.routes):
        for method in set(route.methods or ()) - {"HEAD"}:
            yield method, str(route.path_format)
