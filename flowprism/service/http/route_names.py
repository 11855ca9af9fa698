"""The name of the route that answered: what metrics, logs and the audit log count by, and never the path itself."""

from __future__ import annotations

from starlette.types import Scope

NO_ROUTE = "none"


def route_of(scope: Scope) -> str:
    """Its path with names for what varies, such as `/api/v1/jobs/{name}`; "none" where none fitted."""
    # A router that is included keeps its routes as they are; their prefix is given separately.
    placed = scope.get("fastapi", {}).get("effective_route_context")
    path = getattr(placed or scope.get("route"), "path_format", None)
    if isinstance(path, str):
        return path
    return str(scope.get("root_path") or NO_ROUTE) if "endpoint" in scope else NO_ROUTE
