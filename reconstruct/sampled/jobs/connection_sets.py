"""Which connections repeat together: components of shared endpoints, taken apart by their rhythm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.jobs.dwell_spectrum import STEPS_A_CYCLE, pooled, spectrum
from reconstruct.sampled.jobs.fundamental import Fundamental, fundamental

# Connections that move less than this share of the largest one's bytes carry no collective.
SMALLEST_SHARE = 0.0005
# An endpoint whose lesser direction has less than this share of the greater one only gives or only takes.
ONE_SIDED = 0.1
# A connection takes part where its own power at the common peaks exceeds noise by so many standard deviations.
SURE_DEVIATIONS = 4.0
# Connections live together where they overlap for this share of the shorter one's time.
ALIVE = 0.5
# Its own peak may lie so many cycles beside the common one: connections begin and end anywhere in their cycle.
BESIDE_CYCLES = 0.75


@dataclass(frozen=True, slots=True)
class ConnectionSet:
    """Connections of one component with a common rhythm.

    Attributes:
        members: numbers of its connections, ascending.
        fundamental: cycles in the window, and the harmonics that show it.
    """

    members: Int
    fundamental: Fundamental


def parts(progress: ProgressCurves, services: frozenset[int]) -> list[ConnectionSet]:
    """Sets of connections that share endpoints and a rhythm, by first member.

    The strongest rhythm of a component is taken out with the connections that follow it; what is left falls into
    components again, until none has a rhythm: a store that several jobs write to joins them, but follows none of them.
    Components without a rhythm of their own are asked for those that were found elsewhere: another rail of the same job
    shows at known cycles what too few samples hide among all. Endpoints that only give or only take leave a part: data
    loaders and checkpoint stores.
    """
    spectra = [spectrum(progress, n) for n in range(len(progress))]
    pending = _components(progress, _bulk(progress, services))
    found: list[ConnectionSet] = []
    without: list[Int] = []
    while pending:
        component = pending.pop()
        rhythm = fundamental(pooled([spectra[n] for n in component.tolist()])) if len(component) > 1 else None
        if rhythm is None:
            without.append(component)
            continue
        follows = _follow(progress, spectra, component, rhythm.peaks)
        if follows.any():
            found += _sets(progress, component[follows], rhythm)
            pending += _components(progress, component[~follows])
    found += [s for component in without for s in _with_rhythm_of_others(progress, spectra, component, found)]
    return sorted(found, key=lambda p: int(p.members[0]))


def _sets(progress: ProgressCurves, members: Int, rhythm: Fundamental) -> list[ConnectionSet]:
    """What is left of connections with a rhythm without endpoints that only give or take, by component."""
    left = _components(progress, _two_sided(progress, members))
    return [ConnectionSet(some, rhythm) for some in left if len(some) > 1]


def _with_rhythm_of_others(
    progress: ProgressCurves, spectra: list[Float], component: Int, found: list[ConnectionSet]
) -> list[ConnectionSet]:
    """A component under the rhythm of other sets that it follows most surely, as a whole or in part; else nothing."""
    if len(component) < 2 or not found:
        return []
    power = [spectra[n] for n in component.tolist()]
    rhythm = max((one.fundamental for one in found), key=lambda rhythm: _deviations(power, rhythm.peaks))
    if _deviations(power, rhythm.peaks) <= SURE_DEVIATIONS:
        return []
    follows = _follow(progress, spectra, component, rhythm.peaks)
    return _sets(progress, component[follows] if follows.any() else component, rhythm)


def _follow(progress: ProgressCurves, spectra: list[Float], component: Int, peaks: Int) -> Bool:
    """(connections of the component,) those that repeat at the peaks, and those between their endpoints."""
    follows = np.array([_deviations([spectra[n]], peaks) > SURE_DEVIATIONS for n in component.tolist()], np.bool_)
    return follows | _between(progress, component, component[follows])


def _bulk(progress: ProgressCurves, services: frozenset[int]) -> Int:
    volume = progress.volume_bytes()
    outside = np.isin(progress.src, list(services)) | np.isin(progress.dst, list(services))
    return np.flatnonzero((volume >= SMALLEST_SHARE * volume.max(initial=0)) & (volume > 0) & ~outside)


def components(progress: ProgressCurves, connections: Int) -> list[Int]:
    """Places in `connections` by component of shared endpoints, ascending in each."""
    if not len(connections):
        return []
    size = len(progress.addresses)
    ends = progress.src[connections], progress.dst[connections]
    graph = coo_array((np.ones(len(connections)), ends), shape=(size, size))
    label = connected_components(graph, directed=False)[1][ends[0]]
    order = np.argsort(label, kind="stable")
    return [np.asarray(p, np.int64) for p in np.split(order, np.flatnonzero(np.diff(label[order])) + 1)]


def _components(progress: ProgressCurves, connections: Int) -> list[Int]:
    """Connections by component of shared endpoints, those that live at another time apart: a restart makes new ones."""
    found = []
    for own in _lives(progress, connections):
        found += [own[places] for places in components(progress, own)]
    return found


def _lives(progress: ProgressCurves, connections: Int) -> list[Int]:
    """Connections that live for most of the time of the longest one of them, and what is left, likewise."""
    begin, end = (
        progress.time_ns[progress.offsets[connections]],
        progress.time_ns[progress.offsets[connections + 1] - 1],
    )
    found = []
    while len(connections):
        longest = int(np.argmax(end - begin))
        both = np.minimum(end, end[longest]) - np.maximum(begin, begin[longest])
        together = both >= ALIVE * np.minimum(end - begin, end[longest] - begin[longest])
        together[longest] = True
        found.append(connections[together])
        connections, begin, end = connections[~together], begin[~together], end[~together]
    return found


def _deviations(spectra: list[Float], peaks: Int) -> float:
    """By how many standard deviations of noise some connections' own spectra stand out at given peaks.

    The highest of several steps of noise is the maximum of about as many exponentials as cycles they span.
    """
    reach = int(BESIDE_CYCLES * STEPS_A_CYCLE)
    near = np.arange(-reach, reach + 1)
    seen = np.concatenate([power[peaks[peaks + reach < len(power), None] + near].max(axis=1) for power in spectra])
    tried = range(1, round(2 * BESIDE_CYCLES + 1) + 1)
    mean, variance = sum(1 / k for k in tried), sum(1 / k**2 for k in tried)
    return float((seen.sum() - len(seen) * mean) / np.sqrt(len(seen) * variance)) if len(seen) else 0.0


def _between(progress: ProgressCurves, connections: Int, members: Int) -> Bool:
    """(connections,) those between endpoints of members, if these follow a rhythm: few samples may hide their own.

    Whether they keep the beat shows where they rest (`reconstruct.sampled.jobs.iteration_grid`).
    """
    ends = np.union1d(progress.src[members], progress.dst[members])
    return np.isin(progress.src[connections], ends) & np.isin(progress.dst[connections], ends)


def _two_sided(progress: ProgressCurves, members: Int) -> Int:
    """Members without those of endpoints that only give or only take, for as long as there are any."""
    volume = progress.volume_bytes()
    while len(members):
        size = len(progress.addresses)
        sent = np.bincount(progress.src[members], volume[members], size)
        taken = np.bincount(progress.dst[members], volume[members], size)
        lopsided = np.minimum(sent, taken) < ONE_SIDED * np.maximum(sent, taken)
        keep = ~(lopsided[progress.src[members]] | lopsided[progress.dst[members]])
        if keep.all():
            break
        members = members[keep]
    return members
