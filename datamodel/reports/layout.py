"""A job's layout: its size in each dimension of parallelism, and the process groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from datamodel.document import Document

Sharding = Literal["none", "zero", "fsdp"]
GROUP_KINDS = ("dp", "pp", "tp", "ep", "cp")  # fields of `Groups`, in order of display


class Sizes(Document):
    """Sizes of the parallel dimensions; an unknown one is null, never a guess."""

    tp: int | None = None
    cp: int | None = None
    ep: int | None = None
    dp: int | None = None
    pp: int | None = None


class Alternative(Document):
    """Sizes that the traffic may have, too."""

    sizes: Sizes
    probability: float = Field(ge=0, le=1, description="posterior probability")


class Layout(Sizes):
    """Sizes with what they rest on."""

    sharding: Sharding | None = Field(
        default=None, description="how optimizer state and parameters are sharded over dp"
    )
    confidence: float = Field(default=0.0, ge=0, le=1, description="probability that all sizes given are right")
    assumed: tuple[str, ...] = Field(default=(), description="what rests on a convention and not on traffic")
    alternatives: tuple[Alternative, ...] = Field(
        default=(),
        description="sizes that may be, likeliest first, up to 99 % of the probability; empty where one is left",
    )

    @property
    def answer(self) -> tuple[int | str | None, ...]:
        """Sizes and sharding, without how sure they are, which differs from window to window."""
        return self.tp, self.cp, self.ep, self.dp, self.pp, self.sharding


# Layouts of jobs, by the addresses of all their endpoints.
FormerLayouts = Mapping[frozenset[str], Layout]


class Groups(Document):
    """Process groups by kind, as endpoint addresses; pp chains in stage order."""

    dp: tuple[tuple[str, ...], ...] = ()
    tp: tuple[tuple[str, ...], ...] = ()
    pp: tuple[tuple[str, ...], ...] = ()
    ep: tuple[tuple[str, ...], ...] = ()
    cp: tuple[tuple[str, ...], ...] = ()

    @property
    def members(self) -> frozenset[str]:
        """Return the members of all groups of any kind."""
        return frozenset(one for kind in GROUP_KINDS for group in getattr(self, kind) for one in group)
