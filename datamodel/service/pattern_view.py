"""What the endpoints of a job are like in each function, as the API shows it."""

from __future__ import annotations

from pydantic import Field

from datamodel.document import Document


class FunctionPattern(Document):
    """One endpoint in one function; values are medians over iterations."""

    endpoint: str
    function: str = Field(description="forward, backward, pp, dp, ep, cp or outside")
    stage: int = Field(description="pipeline stage")
    critical_share: float = Field(description="of the critical path's time")
    duration_s: float = Field(description="in an iteration")
    rate_bps: float | None = Field(description="mean sending rate in the busiest span")
    rate_spread_bps: float | None = Field(description="standard deviation of the rate in it")
    duty: float = Field(description="duration over the time from begin to end in an iteration")
    late_s: float = Field(description="begin in an iteration, after the median of the stage")
    distance: float = Field(description="robust deviations from its stage, and from its own past: unusual, not proven")


class PatternView(Document):
    """The newest patterns of a job, those first that are least like their peers."""

    end_ns: int | None = Field(default=None, description="end of the window, UTC; null: there are none")
    of: int = 0
    items: tuple[FunctionPattern, ...] = ()
