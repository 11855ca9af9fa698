"""Patterns of behavior: what each endpoint was like in one window, of a size that does not depend on its traffic."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.frame import Column, Frame, Schema

PATTERNS = Schema(
    "behavior",
    (
        Column("endpoint", "i4", "code", "whose behavior"),
        Column("role", "i2", "", "endpoints of one role do the same work: number within the job and window"),
        Column("late_ratio", "f4", "", "time that it computes over the median of its role, less 1"),
    ),
)

# Of each job the newest window of every such stretch of time is stored.
PATTERN_STRETCH_NS = 6 * 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class StoredPatterns:
    """The patterns of one job in one window.

    Attributes:
        job: its id.
        end_ns: end of the window, UTC.
        endpoints: address of each code of `rows`.
        rows: as `PATTERNS`.
    """

    job: str
    end_ns: int
    endpoints: tuple[str, ...]
    rows: Frame

    @property
    def start_ns(self) -> int:
        """Begin of the stretch that the window ends in, UTC."""
        return (self.end_ns - 1) // PATTERN_STRETCH_NS * PATTERN_STRETCH_NS
