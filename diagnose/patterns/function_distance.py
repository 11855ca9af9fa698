"""How unlike its peers, and its own past, an endpoint is in each function: evidence, never a finding."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.patterns import FUNCTION_NAMES
from datamodel.reconstructed.streams import Float, Int
from diagnose.patterns.repeat_offenders import TOLERATED_RATIO
from reconstruct.numeric.medians import MAD_TO_SIGMA, medians_of_own_group


def function_distances(functions: Frame, before: Frame | None = None) -> Float:
    """(rows,) robust standard deviations by which each pattern is longer, or slower, than those of its stage.

    Of duration and rate the one that is further away counts. Where the pattern of an earlier window is known, that
    counts by how much it changed against its stage too, whichever is less: what was always so is a property of the
    place. The spread is that of all stages of a function, and at least the ratio by which healthy GPUs differ. O(n log
    n).

    Args:
        functions: rows of `datamodel.reconstructed.patterns.FUNCTIONS` of one job.
        before: the same of an earlier window, with the same codes of endpoints.
    """
    kind = functions["function"].astype(np.int64)
    peers = functions["stage"].astype(np.int64) * len(FUNCTION_NAMES) + kind
    earlier = None if before is None else _places(functions, before)
    found = np.zeros(len(functions))
    for name, sign in (("duration_s", 1.0), ("rate_bps", -1.0)):
        value = sign * _logarithm(functions[name])
        distance = _robust(value, peers, kind)
        if before is not None and earlier is not None:
            past = np.append(sign * _logarithm(before[name]), np.nan)[earlier]
            distance = np.where(np.isfinite(past), np.minimum(distance, _robust(value - past, peers, kind)), distance)
        found = np.maximum(found, distance)
    return found


def _logarithm(values: Int) -> Float:
    """Logarithms; nan where nothing is known."""
    numbers = values.astype(np.float64)
    return np.log(numbers, out=np.full(len(numbers), np.nan), where=numbers > 0)


def _places(functions: Frame, before: Frame) -> Int:
    """(rows,) row of the same endpoint and function before; -1 where there is none."""
    own, old = (one["endpoint"].astype(np.int64) * len(FUNCTION_NAMES) + one["function"] for one in (functions, before))
    order = np.argsort(old)
    place = np.minimum(np.searchsorted(old, own, sorter=order), max(len(old) - 1, 0))
    return np.where(old[order[place]] == own, order[place], -1) if len(old) else np.full(len(own), -1)


def _robust(value: Float, peers: Int, kind: Int) -> Float:
    """(n,) by how many deviations each value is above the median of its peers; 0 where it is not known or below."""
    above = value - medians_of_own_group(value, peers)
    spread = np.fmax(MAD_TO_SIGMA * medians_of_own_group(np.abs(above), kind), TOLERATED_RATIO)
    return np.maximum(np.nan_to_num(above / spread), 0)
