"""Settings of authentication and rate limits."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from datamodel.errors import InputError
from datamodel.service.result_rows import Role

Mode = Literal["none", "login", "proxy"]
_HEADER = r"^[A-Za-z][A-Za-z0-9-]*$"


class _Closed(BaseModel):
    """A setting that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Grant(_Closed):
    """What the members of a group may, where the proxy names groups."""

    group: str = Field(min_length=1, description="as the proxy names it")
    role: Role = Field(description="what its members may do")
    tenant: str | None = Field(default=None, description="whose jobs they see; none: all")

    @model_validator(mode="after")
    def _an_admin_sees_all(self) -> Grant:
        if self.role == "admin" and self.tenant is not None:
            raise ValueError(ADMIN_OF_TENANT)
        return self


class AccessSettings(_Closed):
    """The section `access`. Without it every local user of this host's loopback address is an admin."""

    mode: Mode = Field(
        default="none",
        description="`none`: every local user is an admin; `login`: users with passwords; "
        "`proxy`: a reverse proxy authenticates users",
    )
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = Field(
        default=(), description="whose word on client, scheme and user is taken; never an address that clients have"
    )
    user_header: str = Field(
        default="X-Forwarded-User", pattern=_HEADER, description="in which the proxy names the user"
    )
    groups_header: str = Field(
        default="X-Forwarded-Groups", pattern=_HEADER, description="in which it names their groups, comma-separated"
    )
    grants: tuple[Grant, ...] = Field(
        default=(), description="for users who are not in the database: the first whose group is theirs counts"
    )
    session_hours: float = Field(default=12.0, gt=0, le=24 * 31, description="after which one has to log in again")
    requests_per_minute: int = Field(default=1200, ge=1, description="of one user, token or stranger's address")
    login_failures: int = Field(
        default=10, ge=1, description="within a quarter of an hour, of one name or address, before it has to wait"
    )
    most_body_bytes: int = Field(default=64_000_000, ge=1000, description="that one request may bring")
    open_metrics: bool = Field(default=False, description="whether `/metrics` needs no credentials")

    @model_validator(mode="after")
    def _consistent(self) -> AccessSettings:
        for problem in self._contradictions():
            raise ValueError(problem)
        return self

    def _contradictions(self) -> Iterator[str]:
        if self.mode == "proxy" and not self.trusted_proxies:
            yield "mode is proxy: trusted_proxies must say whose word is taken"
        if self.mode != "proxy" and self.grants:
            yield "grants are for mode proxy only"


ADMIN_OF_TENANT = "an admin sees all tenants' jobs: leave the tenant out, or give another role"


def check_listening(access: AccessSettings, address: str, setting: str = "api.host") -> None:
    """Refuse to serve other hosts without authentication.

    Args:
        access: the settings.
        address: IP address or host name that is listened on.
        setting: where it is set, for the error.

    Raises:
        InputError: it may be reached from elsewhere, and there is no authentication.
    """
    if access.mode == "none" and not is_loopback(address):
        raise InputError(
            f"{setting}: {address or 'every address'} can be reached from other machines and access.mode is none: "
            "set access.mode to login or proxy, or listen on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    """Whether an address or host name is this machine's own, whatever its name service says."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)
