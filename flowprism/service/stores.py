"""Where the service finds what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from flowprism.service.config.settings import Settings
from storage.database.connection import Database

Made = TypeVar("Made")

_MANY = 4  # of each kind: pages of a few jobs, or of a few people


class ResultCache:
    """Caches expensive results: the newest few of each kind.

    Several threads may ask at once: at worst each makes its own.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[tuple[tuple[object, ...], object], ...]] = {}

    def once(self, kind: str, of: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """Return the immutable result of `make`, which depends on `of` alone; recomputed where `of` differs."""
        known = self._made.get(kind, ())
        for one, value in known:
            if one == of:
                return cast("Made", value)
        value = make()
        self._made[kind] = ((of, value), *known[: _MANY - 1])
        return value


@dataclass(frozen=True, slots=True)
class Stores:
    """What answers are read from.

    Attributes:
        database: results: jobs, incidents, scans, rollups, parts.
        flows: the lake of flow records, a folder or s3://...; None where there is none.
        analyses: the lake of spans, iterations, patterns and rates; None where there is none.
        settings: of the service: how old a judgement may be, and whose inventory counts.
        at_hand: what was made of them.
    """

    database: Database
    flows: str | None = None
    analyses: str | None = None
    settings: Settings = field(default_factory=Settings, compare=False, repr=False)
    at_hand: ResultCache = field(default_factory=ResultCache, compare=False, repr=False)
