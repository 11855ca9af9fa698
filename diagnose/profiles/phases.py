"""Communication phases: when a rank's, and an endpoint's, collectives of an iteration begin and end.

A profile knows each of its collectives; the network sees bursts, which may hold several. What both have is the begin of
the first and the end of the last of an iteration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from datamodel.telemetry.profiles import Profile
from diagnose.profiles.intervals import Ints

Floats = npt.NDArray[np.float64]
COLLECTIVE_KINDS = ("dp", "ep", "cp")
# What a communicator is for: how many ranks it has (0: not listed), and how many as large as it have more collectives.
Role = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CommunicationPhases:
    """One row a profile or an endpoint, one column an iteration.

    Attributes:
        row: indices of the profiles, or codes of the endpoints.
        group: number of each row's process group.
        members: ranks or endpoints of each row's group; 0 unknown.
        begin_ns, end_ns: of an iteration's collectives, counted from `base_ns`; nan: none.
        base_ns: what times are counted from.
    """

    row: Ints
    group: Ints
    members: Ints
    begin_ns: Floats
    end_ns: Floats
    base_ns: int


def profile_phases(profiles: Sequence[Profile]) -> Iterator[CommunicationPhases]:
    """Phases of each sort of communicator that most profiles have: of one of them the network sees."""
    roles = [_roles(profile) for profile in profiles]
    count = Counter(role for own in roles for role in own)
    for role in sorted(count):
        if count[role] == max(count.values()):
            rows = [n for n, own in enumerate(roles) if role in own]
            first, last = _numbers([profiles[n] for n in rows])
            if last - first < sum(len(profiles[n].steps) for n in rows):  # else they were recorded one after the other
                yield _of_role(profiles, rows, [roles[n][role] for n in rows], (first, last))


def _numbers(profiles: Sequence[Profile]) -> tuple[int, int]:
    """The first and the last iteration that was recorded."""
    numbers = np.concatenate([profile.steps["number"] for profile in profiles])
    return int(numbers.min()), int(numbers.max())


def _roles(profile: Profile) -> dict[Role, int]:
    """The group of each role. Stages differ in how many collectives they have, not in which groups have more."""
    numbers = np.bincount(profile.collectives["group"], minlength=len(profile.groups)).tolist()
    sizes = [len(group) if isinstance(group, tuple) else 0 for group in profile.groups]
    seen: Counter[int] = Counter()
    found: dict[Role, int] = {}
    for code in sorted(range(len(sizes)), key=lambda code: (-numbers[code], str(profile.groups[code]))):
        found[sizes[code], seen[sizes[code]]] = code
        seen[sizes[code]] += 1
    return found


def _of_role(
    profiles: Sequence[Profile], rows: Sequence[int], codes: Sequence[int], span: tuple[int, int]
) -> CommunicationPhases:
    first, last = span
    names = [profiles[n].groups[code] for n, code in zip(rows, codes, strict=True)]
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    base_ns = min(int(profiles[n].steps["start_ns"].min()) for n in rows)
    begin, end = (np.full((len(rows), last - first + 1), np.nan) for _ in range(2))
    for k, (n, code) in enumerate(zip(rows, codes, strict=True)):
        own = profiles[n].collectives.take(profiles[n].collectives["group"] == code)
        steps = profiles[n].steps
        step = np.searchsorted(steps["start_ns"], own["start_ns"], side="right") - 1
        inside = (step >= 0) & (own["start_ns"] < steps["end_ns"][np.maximum(step, 0)])
        own, column = own.take(inside), steps["number"][step[inside]] - first
        np.fmin.at(begin[k], column, (own["start_ns"] - base_ns).astype(np.float64))
        np.fmax.at(end[k], column, (own["end_ns"] - base_ns).astype(np.float64))
    group = np.array([numbers[name] for name in names])
    members = np.array([len(name) if isinstance(name, tuple) else 0 for name in names])
    return CommunicationPhases(np.array(rows), group, members, begin, end, base_ns)


def endpoint_phases(timelines: Timelines) -> Iterator[CommunicationPhases]:
    """Phases of each job, and of each kind of collective that the network shows."""
    spans = timelines.spans
    kinds = np.array([*(name.partition(" ")[0] for name in timelines.groups), ""])
    members = np.array([*(name.count(",") + 1 for name in timelines.groups), 0])
    names = ("wait", *(f"{kind}_comm" for kind in COLLECTIVE_KINDS))
    moves = np.isin(spans["span"], [SPAN_NAMES.index(name) for name in names])
    for code in range(len(timelines.jobs)):
        of_job = moves & (spans["job"] == code) & (spans["group"] >= 0) & (spans["iteration"] >= 0)
        for kind in COLLECTIVE_KINDS:
            rows = np.flatnonzero(of_job & (kinds[spans["group"]] == kind))
            if len(rows):
                yield _of_kind(timelines, rows, members)


def _of_kind(timelines: Timelines, rows: Ints, members: Ints) -> CommunicationPhases:
    own = timelines.spans.take(rows)
    pairs, row = np.unique(np.stack([own["endpoint"], own["group"]]), axis=1, return_inverse=True)
    first, base_ns = int(own["iteration"].min()), int(own["start_ns"].min())
    shape = pairs.shape[1], int(own["iteration"].max()) - first + 1
    begin, end = np.full(shape, np.nan), np.full(shape, np.nan)
    at = row.reshape(-1), own["iteration"] - first
    np.fmin.at(begin, at, (own["start_ns"] - base_ns).astype(np.float64))
    np.fmax.at(end, at, (own["end_ns"] - base_ns).astype(np.float64))
    return CommunicationPhases(pairs[0], pairs[1], members[pairs[1]], begin, end, base_ns)
