"""Which iterations are compared with which, and what is asked of an explanation."""

from __future__ import annotations

from typing import NamedTuple

from datamodel.reconstructed.streams import Int


class ComparedIterations(NamedTuple):
    """Iterations to compare.

    Attributes:
        interval: those to judge.
        baseline: those of the job at its best; empty where streams and cells are compared with their peers.
        iteration_ns: how long one takes in the interval.
        longer_ns: what it became longer by; 0 where that is not known, or explained already.
        least_lost_ns: what a cause must cost an iteration to be reported.
        sure: tempered log-likelihood ratio from which an explanation counts.
        held_up_ns: how long slow streams may have delayed all cells.
    """

    interval: Int
    baseline: Int
    iteration_ns: float
    longer_ns: float
    least_lost_ns: float
    sure: float
    held_up_ns: float = 0.0

    @property
    def to_explain_ns(self) -> float:
        """What an iteration became longer by; where that is not known, what is worth reporting."""
        return max(self.longer_ns, self.least_lost_ns)
