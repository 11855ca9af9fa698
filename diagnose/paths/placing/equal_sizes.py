"""Bytes of sampled connections that chance alone sets apart -> their mean, so that equal connections count as equal.

Placements spread equal connections exactly; the largest of many noisy sizes would make the best one look slower.
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int

# Standard error of what samples show of one burst, over what lies between two samples: its first and last bytes are
# between two of them, half of which counts.
_BURST_ERROR = 0.7
# Sizes of one class lie within so many standard errors, three on either side of the mean.
_WIDTH_SIGMAS = 6.0


def equalized(sent: Float, main: Int, single: Float, iterations: int) -> Float:
    """(n, phases) bytes of connections, of which those of one main phase and of sizes that chance explains are equal.

    Args:
        sent: (n, phases) mean bytes of an iteration.
        main: (n,) phase in which each sends most for its own job.
        single: (n,) bytes of an iteration that one sample of each stands for; 0 where records are exact.
        iterations: that samples were folded over.
    """
    found = sent.copy()
    size = sent[np.arange(len(main)), main]
    sampled = np.flatnonzero((single > 0) & (size > 0))
    for phase in np.unique(main[sampled]).tolist():
        rows = sampled[main[sampled] == phase]
        rows = rows[np.argsort(-size[rows], kind="stable")]
        least = size[rows] - _WIDTH_SIGMAS * _BURST_ERROR * np.sqrt(iterations) * single[rows]
        first = 0
        while first < len(rows):
            last = first + int(np.count_nonzero(size[rows[first:]] >= least[first]))
            found[rows[first:last]] = sent[rows[first:last]].mean(axis=0)
            first = last
    return found
