"""What a feed has to show, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.errors import InputError

MOST_ITERATIONS = 30  # more show no less, and take longer to analyze
FEWEST_ITERATIONS = 6  # fewer have nothing to be compared with (`reconstruct.sampled.detectability`)
LONGEST_WINDOW_S = 3600.0


@dataclass(frozen=True, slots=True)
class FeedGoal:
    """The goal, and the job that it is about.

    Attributes:
        slowdown_ratio: the least slowdown of an iteration to detect: 1.05 is 5 %.
        minutes: from its onset to the finding, at most.
        cores: processor cores for collectors and scans together; None: no limit.
        disk_gib: of flow records kept; None: no limit.
        keep_h: hours that flow records are kept.
        iteration_s: iteration time of the job.
        members: NICs of its gradient ring.
        busy_ratio: share of the time that its NICs send at full rate.
        packet_bytes: of a packet on the wire.
    """

    slowdown_ratio: float = 1.05
    minutes: float = 10.0
    cores: float | None = None
    disk_gib: float | None = None
    keep_h: float = 48.0
    iteration_s: float = 2.0
    members: int = 16
    busy_ratio: float = 0.2
    packet_bytes: int = 4200

    def __post_init__(self) -> None:
        """Check ranges.

        Raises:
            InputError: a value has no meaning.
        """
        if self.slowdown_ratio <= 1:
            raise InputError(f"a slowdown of {self.slowdown_ratio:g} is none; 1.05 is 5 %")
        if not 0 < self.busy_ratio <= 1:
            raise InputError(f"NICs cannot send for {self.busy_ratio:g} of the time")
        if min(self.minutes, self.keep_h, self.iteration_s) <= 0 or self.members < 2:
            raise InputError("times must be positive, and a ring has two members at least")
        if FEWEST_ITERATIONS * self.iteration_s > LONGEST_WINDOW_S:
            raise InputError(
                f"no window holds {FEWEST_ITERATIONS} iterations of {self.iteration_s:g} s: the longest is "
                f"{LONGEST_WINDOW_S:g} s"
            )

    def iterations(self, window_s: float) -> int:
        """Iterations that a window is judged by."""
        return min(MOST_ITERATIONS, int(window_s / self.iteration_s))
