"""What a sampling rate shows of a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownByRate:
    """What samples at one rate show.

    Attributes:
        rate: N of 1 in N.
        timeline_error_ratio: mean error of iteration times; None: no job, or unknown.
        smallest_slowdown_ratio: that is detected; None: none is.
        named: of a straggler and a slow NIC, which are found and located; None: not asked for.
    """

    rate: int
    timeline_error_ratio: float | None
    smallest_slowdown_ratio: float | None
    named: tuple[str, ...] | None = None

    def shows(self, slowdown_ratio: float) -> bool:
        """Whether a slowdown of this size is detected."""
        return self.smallest_slowdown_ratio is not None and self.smallest_slowdown_ratio <= slowdown_ratio
