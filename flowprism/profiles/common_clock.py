"""Profiles on one clock: each host's own counts differently, and so do exporters'.

What members of a collective end together says how far their clocks are apart, to a microsecond. Where collectives give
a profile's endpoint, they say how far the flows' clock is ahead, as exactly as the timelines are. The first is better,
so that all profiles that collectives link are moved by the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from datamodel.telemetry.profiles import Profile, ProfiledRank


@dataclass(frozen=True, slots=True)
class CommonClock:
    """One clock for profiles and, if some are placed, for flows.

    Attributes:
        shifts_ns: what is added to each profile's times; None: nothing says it.
        of_flows: whether it is the flows' clock, by collectives.
        utc: whether it counts from 1970, as flows do.
        problems: profiles that are not on it, one line each.
    """

    shifts_ns: tuple[int | None, ...]
    of_flows: bool
    utc: bool
    problems: tuple[str, ...]


def common_clock(profiles: Sequence[Profile], ranks: Sequence[ProfiledRank]) -> CommonClock:
    """The flows' clock where a profile is placed at an endpoint by its collectives, else the first profile's.

    Args:
        profiles: of one job.
        ranks: what the report says of each.
    """
    aheads = [
        one.flows_ahead_ns + one.clock_offset_ns
        for one in ranks
        if one.flows_ahead_ns is not None and one.clock_offset_ns is not None
    ]
    of_flows = any(one.flows_ahead_ns is not None for one in ranks)
    # By which this clock is ahead of the first profile's; nothing is, where only profiles that it is not linked to are
    # placed.
    ahead_ns = median_low(aheads) if aheads else None if of_flows else 0
    utc = of_flows or (len(profiles) > 0 and profiles[0].utc)
    shifts: list[int | None] = []
    problems = []
    for profile, one in zip(profiles, ranks, strict=True):
        if ahead_ns is not None and one.clock_offset_ns is not None:
            shifts.append(ahead_ns - one.clock_offset_ns)
        elif one.flows_ahead_ns is not None:
            shifts.append(one.flows_ahead_ns)
        else:
            known = utc and profile.utc
            shifts.append(0 if known else None)
            what = "the trace shows it by its own" if known else "the trace leaves it out"
            problems.append(f"{profile.name}: no collective compares its clock with the others', {what}")
    return CommonClock(tuple(shifts), of_flows, utc, tuple(problems))
