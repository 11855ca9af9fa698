"""Counts of drawn packets that chance alone may have made different."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float
from reconstruct.jit import compiled

# Counts of one volume scatter more than this, in standard errors, by a chance of one in ten thousand.
EQUAL_WITHIN = 3.7


@compiled
def scatter(counts: Float, drawn: Float) -> float:
    """By how many standard errors counts scatter more than chance makes them; 0 for a single one.

    Their chi-squared is nearly normal once its cube root is taken (Wilson and Hilferty, 1931).

    Args:
        counts: (n,) of samples, or means of several.
        drawn: (n,) how many samples each was taken from.
    """
    free = len(counts) - 1
    if free < 1:
        return 0.0
    usual = np.mean(counts)
    ratio = np.mean((counts / usual - 1) ** 2 * drawn) * len(counts) / free
    spread = 2 / (9 * free)
    return float((ratio ** (1 / 3) - 1 + spread) / np.sqrt(spread))


@compiled
def even_counts(counts: Float, drawn: Float) -> Float:
    """(n,) counts, those that may be of one volume replaced by their mean: parted at the widest gaps until they may be.

    Args:
        counts: (n,) of samples, or means of several.
        drawn: (n,) how many samples each was taken from.
    """
    order = np.argsort(counts, kind="mergesort")
    ranked, weight = counts[order], drawn[order]
    even = np.empty(len(counts))
    waiting = [(0, len(counts))]
    while waiting:
        first, last = waiting.pop()
        if last - first == 0:
            continue
        own, of = ranked[first:last], weight[first:last]
        if scatter(own, of) <= EQUAL_WITHIN:
            even[order[first:last]] = np.sum(of) / np.sum(of / own)  # all samples, by all parts that they came from
            continue
        widest, at = -1.0, first + 1
        for k in range(1, len(own)):
            gap = np.log(own[k] / own[k - 1]) / np.sqrt(1 / of[k] + 1 / of[k - 1])
            if gap > widest:
                widest, at = gap, first + k
        waiting.append((first, at))
        waiting.append((at, last))
    return even
