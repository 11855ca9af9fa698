"""Bursts of counted samples -> the volumes that come back: parts between long pauses that are equal but for chance.

Of n drawn packets chance makes the root of n more or less, so that bytes do not come back as they do where all are
counted. What a connection sends from one long pause to the next does: where all such parts hold as many samples as
chance allows, they are of one volume. Which pauses count as long follows from that: the shortest that part it so.
Connections of one collective carry equal volumes too (Patarasuk and Yuan, 2009).
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.jit import compiled
from reconstruct.sampled.caches.cached_bursts import CachedBursts, EvenBursts
from reconstruct.sampled.caches.equal_counts import EQUAL_WITHIN, even_counts, scatter

# Of parts of fewer samples in the mean halves may pass for wholes: half of 25 is 2.5 standard errors less.
FEWEST_SAMPLES = 25.0
FEWEST_PARTS = 3
# Parts that scatter by so many standard errors more than those between other pauses are as equal.
AS_EQUAL = 1.5
# Of bursts of fewer in the mean none may be drawn at times: of eight by a chance of e^-8.
FAINTEST = 8.0
# Kinds of pauses differ by so much at least.
KINDS = 1.1
# So many bursts are of one volume as often as not, where their numbers of samples fall into classes at all.
BURSTS_A_CLASS = 8


def even_bursts(found: CachedBursts) -> tuple[EvenBursts, Bool]:
    """Bursts of all connections as they would be counted without chance, and (n,) which are too faint for that.

    Where some bursts of a part hold too few samples to be seen every time, the part is one burst; of connections
    without equal parts they stay as they were counted.
    """
    part, usual = np.arange(len(found.samples)), np.zeros(len(found))
    _part_each(found.offsets, found.start_ns, found.end_ns, found.samples, part, usual)
    known = np.flatnonzero(usual > 0)
    weight = np.add.reduceat(found.samples, found.offsets[:-1])[known]
    usual[known] = even_counts(usual[known], weight)
    samples, begins = found.samples.copy(), np.ones(len(part), np.bool_)
    faint = usual == 0
    _even_each(found.offsets, part, usual, samples, begins, faint)
    first = np.flatnonzero(begins)
    even = EvenBursts(
        like=first,
        start_ns=found.start_ns[first],
        end_ns=np.maximum.reduceat(found.end_ns, first),
        samples=np.add.reduceat(samples, first),
        seen=np.ones(len(first), np.bool_),
    )
    return even, faint


@compiled
def _part_each(offsets: Int, start_ns: Int, end_ns: Int, samples: Float, part: Int, usual: Float) -> None:
    """Write the number of each burst's part, and how many samples the parts of each connection usually hold."""
    for n in range(len(usual)):
        own = slice(offsets[n], offsets[n + 1])
        usual[n] = _parts(start_ns[own], end_ns[own], samples[own], part[own])


@compiled
def _parts(start_ns: Int, end_ns: Int, samples: Float, part: Int) -> float:
    """The same of one connection; 0 where no pauses part it equally."""
    count = len(samples)
    if count < FEWEST_PARTS + 2:
        return 0.0
    pause = np.empty(count - 1)
    for k in range(count - 1):
        pause[k] = max(start_ns[k + 1] - end_ns[k], 1)
    ranked = np.sort(pause)[: count - FEWEST_PARTS - 1]
    found = np.full(len(ranked), np.inf)
    for k in range(len(ranked)):
        if k == 0 or ranked[k] >= KINDS * ranked[k - 1]:
            found[k] = _parted(pause, ranked[k], samples, part)[1]
    within = min(max(np.min(found) + AS_EQUAL, 0.0), EQUAL_WITHIN)
    for k in range(len(ranked)):
        if found[k] <= within:
            return float(_parted(pause, ranked[k], samples, part)[0])
    return 0.0


@compiled
def _parted(pause: Float, least: float, samples: Float, part: Int) -> tuple[float, float]:
    """Write parts between pauses of at least so much; how many samples they hold, and how much more these scatter."""
    part[0] = 0
    for n in range(1, len(part)):
        part[n] = part[n - 1] + (pause[n - 1] >= least)
    whole = np.zeros(part[-1] + 1)
    for n in range(len(part)):
        whole[part[n]] += samples[n]
    inner = whole[1:-1]  # what the window cuts off at its ends is no whole part
    usual = float(np.mean(inner))
    return usual, scatter(inner, inner) if usual >= FEWEST_SAMPLES else np.inf


@compiled
def _even_each(offsets: Int, part: Int, usual: Float, samples: Float, begins: Bool, faint: Bool) -> None:
    """Scale samples so that parts are equal, and bursts of one kind nearly so; those of faint ones begin with parts."""
    for n in range(len(usual)):
        if usual[n] == 0:
            continue
        own = slice(offsets[n], offsets[n + 1])
        even, least = _even_kinds(samples[own])
        faint[n] = least < FAINTEST
        _scale(even, samples[own], part[own], usual[n])
        samples[own] = even
        for k in range(offsets[n] + 1, offsets[n + 1]):
            begins[k] = not faint[n] or part[k] != part[k - 1]


@compiled
def _even_kinds(samples: Float) -> tuple[Float, float]:
    """(samples of bursts, equal in each kind where kinds show; how many the faintest kind has)."""
    even = even_counts(samples, samples)
    least, kinds, ranked = np.min(even), 1, np.sort(even)
    for k in range(1, len(ranked)):
        kinds += ranked[k] != ranked[k - 1]
    return (even if BURSTS_A_CLASS * kinds <= len(even) else samples.copy()), least


@compiled
def _scale(even: Float, samples: Float, part: Int, usual: float) -> None:
    """Scale the bursts of each part to the usual volume; first and last one too, if they are not cut off."""
    parts = part[-1] + 1
    whole, counted = np.zeros(parts), np.zeros(parts)
    for k in range(len(part)):
        whole[part[k]] += even[k]
        counted[part[k]] += samples[k]
    scale = usual / whole
    inner = np.median(scale[1:-1])
    for end in (0, parts - 1):
        if abs(counted[end] - usual) > EQUAL_WITHIN * np.sqrt(usual):
            scale[end] = inner
    for k in range(len(part)):
        even[k] *= scale[part[k]]
