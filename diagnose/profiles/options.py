"""Constants of the comparison of profiles, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """When a rank's profile differs from its peers'.

    Attributes:
        peers: fewer profiles of the same role have no median that one bad rank would leave alone.
        excess_ratio: of an iteration, that a rank's own time must exceed its peers' by: what costs less is no finding
            of the network either.
        deviations: of the peers' spread and of the rank's own over iterations, that the excess must exceed.
        cause_share: of the excess, that one class must explain to be named.
        factor_tolerance: of the excess of computing, that may be left when every family is slowed by one factor, or
            one family alone: the noise of kernels, and families that memory bounds.
        part_ratio: of an iteration: a family that takes less says nothing about a factor.
        loop_ratio: of an iteration, from which on a function is the training loop or a step of it: whatever is slow,
            is slow inside of it.
        network_ratio: of an iteration, that the transfers of one group must exceed those of groups alike by.
    """

    peers: int = 2
    excess_ratio: float = 0.05
    deviations: float = 4.0
    cause_share: float = 0.8
    factor_tolerance: float = 0.3
    part_ratio: float = 0.01
    loop_ratio: float = 0.5
    network_ratio: float = 0.05


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """When a profile's endpoint is known by its collectives.

    Attributes:
        iterations: fewer have no variation that chance would not give another endpoint, too.
        odds: of the best time against the second best, and of an endpoint against the next, with what follows from it
            for all other profiles: a wrong name is worse than none.
        alternatives: more endpoints that fit a profile alike are not listed.
        resolution_ns: profiles count in whole microseconds.
        shifts: whose ends fit best; of the others begins are not compared, which takes most of the time.
        rounds: of assignment and of how far times are off, in turns; they settle in two or three.
    """

    iterations: int = 4
    odds: float = 1000.0
    alternatives: int = 3
    resolution_ns: float = 1000.0
    shifts: int = 32
    rounds: int = 4
