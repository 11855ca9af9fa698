"""`/settings`: tokens, users, the inventory, alert routes, and the audit log."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import ValidationError

from datamodel.cluster.inventory import Inventory
from datamodel.errors import FlowprismError, InputError, InventoryError
from flowprism.dashboard.forms import Form, LongForm
from flowprism.dashboard.page_route import PageRoute
from flowprism.dashboard.page_templates import get_stores, render_page
from flowprism.inputs.inventory_file import load_inventory
from flowprism.inventory_import.merge import MergedInventory
from flowprism.service.access import access_routes as access
from flowprism.service.access.accounts.access_documents import TokenAsked, TokenMade, UserGiven
from flowprism.service.access.accounts.tokens import SCOPES
from flowprism.service.access.audit_log import add_detail
from flowprism.service.access.dependencies import Administering, Seeing
from flowprism.service.queries.account_queries import administers, audit, tokens, users
from flowprism.service.queries.inventory import inventory, merge_listing, replace_inventory
from flowprism.service.viewer import ROLES, Viewer

MOST_ENTRIES = 50
FORMATS = (("yaml", "YAML or JSON"), ("csv", "CSV"))
_LIFETIMES = ((30, "30 days"), (90, "90 days"), (365, "a year"), (0, "for ever"))


@dataclass(frozen=True, slots=True)
class InventoryFacts:
    """The inventory in force in numbers."""

    hosts: int
    endpoints: int
    switches: dict[str, int]
    links: int
    tenants: int
    jobs: int


def router() -> APIRouter:
    """The page, and what its forms do."""
    routes = APIRouter(include_in_schema=False, route_class=PageRoute)
    routes.add_api_route("/settings", page, methods=["GET"], response_class=HTMLResponse)
    routes.add_api_route("/settings/tokens", make_token, methods=["POST"], response_class=HTMLResponse)
    routes.add_api_route("/settings/tokens/{token}/revoke", revoke_token, methods=["POST"], response_model=None)
    routes.add_api_route("/settings/users", put_user, methods=["POST"], response_model=None)
    routes.add_api_route("/settings/users/{name:path}/remove", remove_user, methods=["POST"], response_model=None)
    routes.add_api_route("/settings/inventory", put_inventory, methods=["POST"], response_model=None)
    return routes


def page(request: Request, viewer: Seeing, before: int | None = None, done: str = "") -> HTMLResponse:
    """The page; each sees of it what concerns them."""
    return _page(request, viewer, before=before, done=done)


def make_token(request: Request, viewer: Seeing, form: Form) -> HTMLResponse:
    """Make a token; the page that follows shows its text, this once."""
    days = form.text("days")
    asked = {"user": form.text("user") or None, "scopes": form.every("scope"), "expires_days": days or None}
    try:
        wanted = TokenAsked.model_validate(asked | ({"expires_days": None} if days == "0" else {}))
    except ValidationError as error:
        raise _wrong(error) from None
    return _page(request, viewer, made=access.make_token(request, viewer, wanted))


def revoke_token(request: Request, viewer: Seeing, token: str) -> RedirectResponse:
    """Make a token void."""
    access.revoke_token(request, viewer, token)
    return _back("tokens", "revoked")


def put_user(request: Request, viewer: Administering, form: Form) -> RedirectResponse:
    """Make or change a user."""
    given = {
        "role": form.text("role"),
        "tenant": form.text("tenant") or None,
        "password": form.raw("password") or None,
        "disabled": form.text("disabled") == "1",
    }
    if not form.text("name"):
        raise HTTPException(400, "a user needs a name")
    try:
        access.put_user(request, viewer, form.text("name"), UserGiven.model_validate(given))
    except ValidationError as error:
        raise _wrong(error) from None
    return _back("users", "user")


def remove_user(request: Request, viewer: Administering, name: str) -> RedirectResponse:
    """Remove a user."""
    access.remove_user(request, viewer, name)
    return _back("users", "removed")


def put_inventory(request: Request, viewer: Administering, form: LongForm) -> Response:
    """Put an inventory in force, or merge a listing into the one that is; the page that follows shows the result."""
    text, table = form.raw("text"), form.text("format") == "csv"
    if not text.strip():
        raise HTTPException(400, "the inventory is empty")
    if form.text("how") == "merge":
        return _merge(request, viewer, text, table=table)
    new = _read(text, "csv" if table else "yaml")
    changed = replace_inventory(get_stores(request), viewer, time.time_ns(), new)
    add_detail(request, subject="inventory", hosts=str(len(new.hosts)), changed=str(changed).lower())
    return _back("inventory", "inventory" if changed else "same")


def _merge(request: Request, viewer: Viewer, text: str, *, table: bool) -> HTMLResponse:
    suffix = ".csv" if table else ".json" if text.lstrip().startswith(("{", "[")) else ".yaml"
    try:
        made, changed = merge_listing(get_stores(request), viewer, time.time_ns(), text.encode(), suffix)
    except (InputError, InventoryError) as error:
        raise HTTPException(400, str(error)) from None
    add_detail(request, subject="inventory", hosts=str(len(made.inventory.hosts)), changed=str(changed).lower())
    return _page(request, viewer, merged=made, done="inventory" if changed else "same")


def _read(text: str, suffix: str) -> Inventory:
    """The inventory of a text, as if it stood in a file.

    Raises:
        HTTPException: 400, it is none; with the line where it goes wrong.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"inventory.{suffix}"
        path.write_text(text, encoding="utf-8")
        try:
            return load_inventory(path)
        except FlowprismError as error:
            raise HTTPException(400, str(error).replace(f"{folder}/", "")) from None


def _back(section: str, done: str) -> RedirectResponse:
    return RedirectResponse(f"/settings?done={done}#{section}", 303)


def _wrong(error: ValidationError) -> HTTPException:
    one = error.errors()[0]
    return HTTPException(400, f"{'.'.join(map(str, one['loc']))}: {one['msg']}")


def _page(
    request: Request,
    viewer: Viewer,
    *,
    before: int | None = None,
    done: str = "",
    made: TokenMade | None = None,
    merged: MergedInventory | None = None,
) -> HTMLResponse:
    now_ns, stores = time.time_ns(), get_stores(request)
    entries = audit(stores, viewer, before, MOST_ENTRIES)
    sees_all = viewer.tenant is None
    return render_page(
        request,
        viewer,
        "settings.html",
        now_ns=now_ns,
        me=viewer,
        means=request.state.identified.means,
        mode=request.app.state.access.mode,
        administers=administers(viewer),
        tokens=tokens(stores, viewer),
        made=made,
        scopes=SCOPES,
        lifetimes=_LIFETIMES,
        users=users(stores, viewer),
        roles=ROLES,
        sees_all=sees_all,
        inventory=_facts(inventory(stores, viewer)) if sees_all else None,
        merged=merged,
        formats=FORMATS,
        alerts=request.app.state.settings.alerts if sees_all else None,
        entries=entries,
        older=entries[-1].number if len(entries) == MOST_ENTRIES else None,
        before=before,
        done=done,
    )


def _facts(known: Inventory | None) -> InventoryFacts | None:
    if known is None:
        return None
    roles = Counter(switch.role or "switch" for switch in known.switches)
    endpoints = sum(len(host.endpoints) for host in known.hosts)
    return InventoryFacts(
        len(known.hosts), endpoints, dict(sorted(roles.items())), len(known.links), len(known.tenants), len(known.jobs)
    )
