"""Collectives of several profiles -> of each, how long a rank waited for the last one, and how long the transfer took.

All members of a collective end together, and the last to arrive waits for none: its duration is the transfer's, and
what others take longer is waiting. That needs no common clock. Where a member was not profiled, nothing is split.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.telemetry.profiles import Profile
from diagnose.profiles.intervals import Ints
from reconstruct.numeric.robust_statistics import median

Group = tuple[int, ...] | str
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class MatchedGroup:
    """The collectives that all members of a group have in common, in order.

    Attributes:
        group: its ranks, or its name.
        profiles: indices of the profiles of its members.
        rows: of each profile's collectives, one column a collective.
        whole: whether all of its members were profiled.
    """

    group: Group
    profiles: tuple[int, ...]
    rows: tuple[Ints, ...]
    whole: bool


def match_groups(profiles: Sequence[Profile]) -> list[MatchedGroup]:
    """The groups of which two members or more were profiled."""
    members: defaultdict[Group, list[tuple[int, Ints]]] = defaultdict(list)
    for n, profile in enumerate(profiles):
        for code, group in enumerate(profile.groups):
            members[group].append((n, np.flatnonzero(profile.collectives["group"] == code)))
    found = []
    for group, some in sorted(members.items(), key=lambda item: str(item[0])):
        rows = _aligned([profiles[n] for n, _ in some], [rows for _, rows in some])
        if len(some) > 1 and rows is not None:
            size = len(group) if isinstance(group, tuple) else _size(profiles, [n for n, _ in some])
            found.append(MatchedGroup(group, tuple(n for n, _ in some), tuple(rows), len(some) == size))
    return found


def _size(profiles: Sequence[Profile], some: Sequence[int]) -> int:
    """Of a group whose members are not listed: the job's, where that is known and there is no other group."""
    alone = all(len(profiles[n].groups) == 1 for n in some)
    sizes = {profiles[n].world_size or 0 for n in some}
    return max(sizes) if alone and len(sizes) == 1 else 0


def _aligned(profiles: Sequence[Profile], rows: Sequence[Ints]) -> list[Ints] | None:
    """The same collectives of each profile; None where they do not fit one another.

    Recordings that began apart are shifted until what is exchanged agrees and ends differ by one time throughout.
    """
    shortest = min(range(len(rows)), key=lambda n: len(rows[n]))
    count = len(rows[shortest])
    if not count:
        return None
    found = []
    for profile, mine in zip(profiles, rows, strict=True):
        fits = [
            (_scatter(profile, mine[shift : shift + count], profiles[shortest], rows[shortest]), shift)
            for shift in range(len(mine) - count + 1)
            if _same(profile, mine[shift : shift + count], profiles[shortest], rows[shortest])
        ]
        if not fits:
            return None
        shift = min(fits)[1]
        found.append(mine[shift : shift + count])
    return found


def _same(one: Profile, rows: Ints, other: Profile, other_rows: Ints) -> bool:
    return bool((one.collectives["elements"][rows] == other.collectives["elements"][other_rows]).all())


def _scatter(one: Profile, rows: Ints, other: Profile, other_rows: Ints) -> float:
    apart = one.collectives["end_ns"][rows] - other.collectives["end_ns"][other_rows]
    return float(np.median(np.abs(apart - np.median(apart))))


def split_waits(profiles: Sequence[Profile], groups: Sequence[MatchedGroup]) -> list[Ints]:
    """Per profile and collective, the ns that it waited; `UNKNOWN` where a member is missing."""
    waits = [np.full(len(profile.collectives), UNKNOWN, np.int64) for profile in profiles]
    for group in groups:
        if group.whole:
            durations = _durations(profiles, group)
            transfer = durations.min(axis=0)
            for n, rows, lasting in zip(group.profiles, group.rows, durations, strict=True):
                waits[n][rows] = lasting - transfer
    return waits


def _durations(profiles: Sequence[Profile], group: MatchedGroup) -> Ints:
    return np.stack(
        [
            (profiles[n].collectives["end_ns"] - profiles[n].collectives["start_ns"])[rows]
            for n, rows in zip(group.profiles, group.rows, strict=True)
        ]
    )


def clock_offsets(profiles: Sequence[Profile], groups: Sequence[MatchedGroup]) -> list[int | None]:
    """By how many ns each clock is ahead of the first profile's; None where no group links them.

    Members of a collective end it together: the median of their ends' differences, along the groups with the most.
    """
    offsets: list[int | None] = [0, *([None] * (len(profiles) - 1))] if profiles else []
    ordered = sorted(groups, key=lambda group: -len(group.rows[0]))
    progress = True
    while progress:
        progress = False
        for group in ordered:
            known = [n for n in group.profiles if offsets[n] is not None]
            if known and len(known) < len(group.profiles):
                ends = dict(zip(group.profiles, _ends(profiles, group), strict=True))
                base = known[0]
                for n in group.profiles:
                    if offsets[n] is None:
                        offsets[n] = (offsets[base] or 0) + round(median((ends[n] - ends[base]).astype(np.float64)))
                progress = True
    return offsets


def _ends(profiles: Sequence[Profile], group: MatchedGroup) -> list[npt.NDArray[np.int64]]:
    return [profiles[n].collectives["end_ns"][rows] for n, rows in zip(group.profiles, group.rows, strict=True)]
