"""Profiles that do not say whose they are -> endpoints, by when their collectives begin and end.

The clocks of hosts and of exporters are not compared: each profile's offset is what its collectives' ends differ by.

1. Recorded iterations are those of the flows at one shift, the same for all profiles. It counts where it fits better
   than any other by more than chance gives, as if all profiles were one: they share the job's rhythm.
2. At the right endpoint ends agree, and begins too: bytes leave when a rank arrives or, where a receiver posts its
   buffers only then, when the next rank does. Which one is next is not known, so two orders of a group may fit alike.
3. Of all assignments, one to one and group by group, the likeliest is taken, and of each profile's endpoint only what
   no other assignment comes near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.timeline import Timelines
from datamodel.telemetry.profiles import Profile
from diagnose.profiles.group_assignment import NEVER
from diagnose.profiles.intervals import Ints
from diagnose.profiles.options import PlacementOptions
from diagnose.profiles.phase_fit import PhaseComparison, fit_phases
from diagnose.profiles.phases import Floats, endpoint_phases, profile_phases

_OPTIONS = PlacementOptions()


@dataclass(frozen=True, slots=True)
class ProfilePlacement:
    """Where a profile was recorded.

    Attributes:
        endpoint: its address; None: several fit, or it may be at one that was not seen.
        fitting: addresses that fit, likeliest first.
        probability: of the first.
        ahead_ns: by which the flows' clock is ahead of the profile's, at the first.
    """

    endpoint: str | None
    fitting: tuple[str, ...]
    probability: float
    ahead_ns: int


def place_profiles(
    profiles: Sequence[Profile],
    timelines: Timelines,
    allowed: Sequence[frozenset[str] | None],
    options: PlacementOptions = _OPTIONS,
) -> list[ProfilePlacement | None]:
    """The endpoints of profiles; None where none fits.

    Args:
        profiles: of one job.
        timelines: of one job or several, of a window that holds the recording.
        allowed: addresses that each profile may have, as its host tells; None: any.
        options: when a fit counts.
    """
    addresses = np.array(timelines.addresses)
    compared = (
        PhaseComparison(mine, theirs, _forbidden(mine.row, addresses[theirs.row], allowed), options)
        for theirs in endpoint_phases(timelines)
        for mine in profile_phases(profiles)
    )
    fits = [fit for one in compared if (fit := fit_phases(one)) is not None]
    found: list[ProfilePlacement | None] = [None] * len(profiles)
    if fits:
        fit = min(fits, key=lambda one: one.rough_cost)
        mine, theirs = fit.compared.mine, fit.compared.theirs
        for k, n in enumerate(mine.row.tolist()):
            rows, probability = fit.alternatives(k)
            if rows:
                names = tuple(addresses[theirs.row[rows]].tolist())
                sure = len(names) == 1 and probability > 1 - 1 / options.odds
                found[n] = ProfilePlacement(names[0] if sure else None, names, probability, fit.ahead_ns(k, rows[0]))
    return found


def _forbidden(rows: Ints, addresses: np.ndarray, allowed: Sequence[frozenset[str] | None]) -> Floats:
    """(profiles, endpoints) what a place costs that a profile cannot have."""
    sets = [allowed[n] for n in rows.tolist()]
    return np.array([[0.0 if one is None or at in one else NEVER for at in addresses.tolist()] for one in sets])
