"""The state that a job is in now, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

JobState = Literal["healthy", "suspected", "slow", "hanging", "ended", "stale", "unknown"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A job's state.

    Attributes:
        state: `suspected` until enough scans have seen a finding; `slow` and `hanging` while an incident is open;
            `ended` where newer windows do not show the job; `stale` where what is known is too old to say anything of
            now; `unknown` where the telemetry cannot show a fault.
        reason: what the state rests on, in a few words; "" for `healthy`.
        as_of_ns: end of the newest data that it rests on, UTC; None before the first scan.
    """

    state: JobState
    reason: str = ""
    as_of_ns: int | None = None
