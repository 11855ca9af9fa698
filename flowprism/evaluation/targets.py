"""What the suite must show, in one table; a scoreboard that falls short says where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that must not be worse than a value.

    Attributes:
        figure: its name in the scoreboard.
        value: at most so much where less is better, at least so much otherwise.
        bound: held is the upper end of the interval, not the figure itself.
        meaning: in words.
    """

    figure: str
    value: float
    meaning: str
    bound: bool = False


TARGETS = (
    Target("jobs_exact", 0.99, "cases whose jobs are found with exactly their endpoints"),
    Target("layout_exact", 0.98, "answered layouts that are right in every size"),
    Target("layout_open", 0.05, "layouts left open in some size"),
    Target("timeline_error", 0.003, "mean relative error of the iteration time, unsampled"),
    Target("faults", 0.975, "faults rightly named and located"),
    Target("false_per_10k", 1.0, "false findings in 10,000 clean iterations, upper 95 % bound", bound=True),
)
