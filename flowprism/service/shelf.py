"""Where the service finds what is kept."""

from __future__ import annotations

from dataclasses import dataclass

from storage.database.engine import Database


@dataclass(frozen=True, slots=True)
class Shelf:
    """What answers are read from.

    Attributes:
        database: results: jobs, incidents, scans, rollups, parts.
        flows: the lake of flow records, a folder or s3://...; None where there is none.
        analyses: the lake of spans, iterations and patterns; None where there is none.
    """

    database: Database
    flows: str | None = None
    analyses: str | None = None
