"""`/api/v1/me`, `/users`, `/tokens` and `/audit`."""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from datamodel.durations import DAY_NS
from datamodel.errors import InputError
from datamodel.service.result_rows import User
from flowprism.service.access.accounts import access_documents
from flowprism.service.access.accounts.passwords import verify_password
from flowprism.service.access.accounts.tokens import new_token, role_by
from flowprism.service.access.accounts.user_accounts import new_user, set_password
from flowprism.service.access.audit_log import add_detail
from flowprism.service.access.authentication import Authentication
from flowprism.service.access.dependencies import Administering, Seeing
from flowprism.service.http.query_parameters import Name, PageParameters
from flowprism.service.http.responses import cursor, decode_cursor, respond, wrong, wrong_cursor
from flowprism.service.viewer import ROLES, Viewer
from storage.database import access
from storage.database.connection import Database

router = APIRouter(prefix="/api/v1", tags=["access"])


@router.get("/me", response_model=access_documents.Me, summary="The caller")
def me(request: Request, viewer: Seeing) -> Response:
    """Return the caller and its rights: what a token is good for."""
    known: Authentication = request.state.identified
    return respond(
        request, access_documents.Me(name=viewer.name, role=viewer.role, tenant=viewer.tenant, by=known.means)
    )


@router.put("/me/password", status_code=204, summary="Change one's own password")
def change_password(request: Request, viewer: Seeing, given: access_documents.PasswordGiven) -> None:
    """Change it; one is logged out everywhere."""
    user = access.user(_database(request), viewer.name)
    if request.state.identified.means != "session" or user is None:
        raise HTTPException(403, "only a user logged in by password may change it")
    if not verify_password(given.old.get_secret_value(), user.password_hash):
        raise wrong("body", "old", "this is not the password")
    add_detail(request, subject=viewer.name)
    try:
        set_password(_database(request), user, given.new.get_secret_value())
    except InputError as error:
        raise wrong("body", "new", str(error)) from None


@router.get("/users", response_model=access_documents.UserList, summary="All users")
def users(request: Request, _: Administering) -> Response:
    """All users by name."""
    rows = map(access_documents.user_row, access.users(_database(request)))
    return respond(request, access_documents.UserList(items=tuple(rows)))


@router.put("/users/{name}", response_model=access_documents.UserRow, summary="Make or change a user")
def put_user(request: Request, viewer: Administering, name: Name, given: access_documents.UserGiven) -> Response:
    """Create a user, or change role, tenant, password; a new password or disabling logs the user out."""
    if name == viewer.name and (given.role != "admin" or given.disabled):
        raise HTTPException(409, "another admin has to do this: no admin would be left to undo it")
    database, known = _database(request), access.user(_database(request), name)
    try:
        password = given.password.get_secret_value() if given.password is not None else None
        user = new_user(name, given.role, given.tenant, password, known.created_ns if known else time.time_ns())
    except InputError as error:
        raise wrong("body", str(error)) from None
    if known is not None and given.password is None:
        user = dataclasses.replace(user, password_hash=known.password_hash)
    access.save_user(database, dataclasses.replace(user, disabled=given.disabled))
    if given.disabled or given.password is not None:
        access.remove_sessions(database, name)
    add_detail(request, role=given.role, tenant=given.tenant or "", disabled=str(given.disabled).lower())
    add_detail(request, password="changed" if given.password is not None else "kept")
    return respond(request, access_documents.user_row(dataclasses.replace(user, disabled=given.disabled)))


@router.delete("/users/{name}", status_code=204, summary="Remove a user")
def remove_user(request: Request, viewer: Administering, name: Name) -> None:
    """Remove a user with all tokens and log-ins."""
    if name == viewer.name:
        raise HTTPException(409, "another admin has to do this: no admin would be left to undo it")
    if not access.remove_user(_database(request), name):
        raise HTTPException(404, "there is no user of this name")


@router.get("/tokens", response_model=access_documents.TokenList, summary="Tokens")
def tokens(request: Request, viewer: Seeing) -> Response:
    """List the caller's tokens; for an admin, those of all users."""
    kept = access.tokens(_database(request), None if _is_admin(viewer) else viewer.name)
    return respond(request, access_documents.TokenList(items=tuple(map(access_documents.token_row, kept))))


@router.post("/tokens", response_model=access_documents.TokenMade, status_code=201, summary="Make a token")
def make_token(request: Request, viewer: Seeing, asked: access_documents.TokenAsked) -> access_documents.TokenMade:
    """Create a token for the caller or, as an admin, for any user; never with more rights than the caller."""
    owner = _owner(request, viewer, asked)
    now_ns = time.time_ns()
    expires_ns = None if asked.expires_days is None else now_ns + round(asked.expires_days * DAY_NS)
    token, text = new_token(owner.name, asked.scopes, now_ns, expires_ns)
    if not access.save_token(_database(request), token):
        raise HTTPException(404, "there is no user of this name")
    add_detail(request, subject=token.id, user=owner.name, scopes=" ".join(token.scopes))
    return access_documents.TokenMade(token=access_documents.token_row(token), text=text)


@router.delete("/tokens/{token}", status_code=204, summary="Revoke a token")
def revoke_token(request: Request, viewer: Seeing, token: Name) -> None:
    """Revoke a token of the caller or, as an admin, of any user."""
    found = access.token(_database(request), token)
    if found is None or not (_is_admin(viewer) or found[1].name == viewer.name):
        raise HTTPException(404, "there is no token of this id")
    access.revoke_token(_database(request), token, time.time_ns())


@router.get("/audit", response_model=access_documents.AuditPage, summary="The audit log")
def audit(request: Request, _: Administering, asked: Annotated[PageParameters, Query()]) -> Response:
    """The audit log, the newest entry first."""
    after = decode_cursor(asked.cursor)
    if after and not (after.isascii() and after.isdigit() and len(after) < 19):
        raise wrong_cursor()
    entries = access.audit_log(_database(request), int(after) if after else None, asked.limit)
    following = cursor(str(entries[-1][0])) if len(entries) == asked.limit else None
    rows = tuple(access_documents.audit_row(number, entry) for number, entry in entries)
    return respond(request, access_documents.AuditPage(items=rows, next=following))


def _owner(request: Request, viewer: Viewer, asked: access_documents.TokenAsked) -> User:
    """On whose behalf a token is to be made, if the viewer may do that."""
    known: Authentication = request.state.identified
    name = asked.user or viewer.name
    if not _is_admin(viewer) and (name != viewer.name or known.means == "token"):
        raise HTTPException(403, "a token cannot create tokens, and only an admin creates those of other users")
    user = access.user(_database(request), name) if name.isprintable() else None
    if user is None:
        raise HTTPException(404, "there is no user of this name: tokens belong to users")
    granted = role_by(asked.scopes, user.role)
    if granted is not None and ROLES.index(granted) > ROLES.index(viewer.role):
        raise HTTPException(403, "a token may not have more rights than its creator")
    return user


def _is_admin(viewer: Viewer) -> bool:
    return viewer.may("admin") and viewer.tenant is None


def _database(request: Request) -> Database:
    database: Database = request.app.state.stores.database
    return database
