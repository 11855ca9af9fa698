"""The caller of a request, with rights."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.service.result_rows import Role

# From the least to the most that a role may do: each may do what the ones before it may.
ROLES: tuple[Role, ...] = ("viewer", "operator", "admin")


@dataclass(frozen=True, slots=True)
class Viewer:
    """The caller of a request.

    Attributes:
        name: of the user, for the audit log and as author of what they write.
        role: what they may do.
        tenant: whose jobs they see; None for all, those that no tenant owns among them.
    """

    name: str
    role: Role
    tenant: str | None

    def may(self, role: Role) -> bool:
        """Whether they may do what `role` may."""
        return ROLES.index(self.role) >= ROLES.index(role)
