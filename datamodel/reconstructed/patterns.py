"""Patterns of behavior: what each endpoint was like in one window, of a size that does not depend on its traffic."""

from __future__ import annotations

from dataclasses import dataclass, field

from datamodel.frame import Column, Frame, Schema, empty

PATTERNS = Schema(
    "behavior",
    (
        Column("endpoint", "i4", "code", "whose behavior"),
        Column("role", "i2", "", "endpoints of one role do the same work: number within the job and window"),
        Column("late_ratio", "f4", "", "time that it computes over the median of its role, less 1"),
    ),
)

# `forward` is compute that ends with a message to a later stage, `backward` all other compute of an iteration: without
# a pipeline both passes. `outside` is the time after an endpoint's last operation of an iteration.
FUNCTION_NAMES = ("forward", "backward", "pp", "dp", "ep", "cp", "outside")

FUNCTIONS = Schema(
    "functions",
    (
        Column("endpoint", "i4", "code", "whose behavior"),
        Column("function", "i1", "code", "what it did, an index into FUNCTION_NAMES"),
        Column("stage", "i2", "", "pipeline stage of the endpoint: those of one stage are peers"),
        Column("critical_share", "f4", "", "share of the critical path's time that it took"),
        Column("duration_s", "f4", "s", "time in an iteration, overlaps counted once"),
        Column("rate_bps", "f4", "bit/s", "mean sending rate in the shortest span with 80 % of the bytes; nan unknown"),
        Column("rate_spread_bps", "f4", "bit/s", "standard deviation of the rate in that span; nan unknown"),
        Column("duty", "f4", "", "duration over the time from its begin to its end in an iteration"),
        Column("late_s", "f4", "s", "begin in an iteration, after the median of its stage"),
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
        endpoints: address of each code of `rows` and `functions`.
        rows: as `PATTERNS`.
        functions: as `FUNCTIONS`.
    """

    job: str
    end_ns: int
    endpoints: tuple[str, ...]
    rows: Frame
    functions: Frame = field(default_factory=lambda: empty(FUNCTIONS))

    @property
    def start_ns(self) -> int:
        """Begin of the stretch that the window ends in, UTC."""
        return (self.end_ns - 1) // PATTERN_STRETCH_NS * PATTERN_STRETCH_NS
