"""What counts as long, as a collision, and as worth a finding."""

from __future__ import annotations

from dataclasses import dataclass

COLLISION = "ecmp_collision"


@dataclass(frozen=True, slots=True)
class PathOptions:
    """Thresholds of plans of paths.

    Attributes:
        long_share: a connection is long if it carries this share of what a cable has of its job where the switch
            spreads it evenly. Of 400 equal ones, chance puts 5 % more or fewer on a cable, as little as a finding
            takes: the rest may fall as it will.
        collides_ratio: a cable this much slower than the slowest of the best placement holds its phase up.
        gain_ratio: share of the iteration time that a plan has to save to be worth a finding.
        close_ratio: a placement that is this close to the planned one is left as it is.
        counted_ratio: interface counters and records that differ by more contradict each other. Headers and
            acknowledgments make up to an eighth of packets of 1,024 bytes.
    """

    long_share: float = 1 / 400
    collides_ratio: float = 1.10
    gain_ratio: float = 0.05
    close_ratio: float = 1.01
    counted_ratio: float = 0.15


PATHS = PathOptions()
