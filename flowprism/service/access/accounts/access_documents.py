"""API documents of users, tokens and the audit log, without passwords, secrets or hashes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from datamodel.document import Document
from datamodel.service.result_rows import AuditEntry, Role, Token, User
from flowprism.service.access.accounts.passwords import LONGEST
from flowprism.service.access.accounts.tokens import Scope
from flowprism.service.http.query_parameters import Text

LONGEST_LIFE_DAYS = 3650


class Me(Document):
    """The caller."""

    name: str
    role: Role
    tenant: str | None = Field(description="whose jobs they see; null: all")
    by: Literal["local", "token", "session", "proxy"] = Field(description="means of authentication")


class UserRow(Document):
    """A user."""

    name: str
    role: Role
    tenant: str | None
    created_ns: int
    disabled: bool
    has_password: bool


class UserList(Document):
    """All users."""

    items: tuple[UserRow, ...]


class UserGiven(Document):
    """What a user is to be."""

    role: Role
    tenant: Text | None = Field(default=None, description="whose jobs they see; null: all")
    password: SecretStr | None = Field(
        default=None, max_length=LONGEST, description="a new one; null: as it was, and none for a new user"
    )
    disabled: bool = False


class PasswordGiven(Document):
    """One's own new password."""

    old: SecretStr = Field(max_length=LONGEST)
    new: SecretStr = Field(max_length=LONGEST)


class TokenRow(Document):
    """A token, without its secret."""

    id: str
    user: str
    scopes: tuple[str, ...]
    created_ns: int
    expires_ns: int | None = Field(description="null: never")
    revoked_ns: int | None = Field(description="null: it was not")


class TokenList(Document):
    """Tokens, the newest first."""

    items: tuple[TokenRow, ...]


class TokenAsked(Document):
    """A token to be made."""

    user: Text | None = Field(default=None, description="on whose behalf; null: one's own")
    scopes: tuple[Scope, ...] = Field(default=("read",), min_length=1, max_length=4)
    expires_days: float | None = Field(default=90.0, gt=0, le=LONGEST_LIFE_DAYS, description="null: never")


class TokenMade(Document):
    """A new token; its text is shown this once."""

    token: TokenRow
    text: str = Field(description="what a program shows: `Authorization: Bearer TEXT`")


class AuditRow(Document):
    """An audit entry."""

    number: int
    time_ns: int
    actor: str
    action: str
    subject: str
    detail: dict[str, str]


class AuditPage(Document):
    """Entries of the audit log, the newest first."""

    items: tuple[AuditRow, ...]
    next: str | None = Field(default=None, description="the cursor of the next page; null on the last one")


def user_row(user: User) -> UserRow:
    """Convert a user to its API document, without the password hash."""
    return UserRow(
        name=user.name,
        role=user.role,
        tenant=user.tenant,
        created_ns=user.created_ns,
        disabled=user.disabled,
        has_password=bool(user.password_hash),
    )


def token_row(token: Token) -> TokenRow:
    """Convert a token to its API document."""
    return TokenRow(
        id=token.id,
        user=token.user,
        scopes=token.scopes,
        created_ns=token.created_ns,
        expires_ns=token.expires_ns,
        revoked_ns=token.revoked_ns,
    )


def audit_row(number: int, entry: AuditEntry) -> AuditRow:
    """Convert an audit entry to its API document."""
    return AuditRow(
        number=number,
        time_ns=entry.time_ns,
        actor=entry.actor,
        action=entry.action,
        subject=entry.subject,
        detail=dict(entry.detail),
    )
