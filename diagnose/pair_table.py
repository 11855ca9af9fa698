"""Operations -> who sends to whom: volume, rate and lateness of each directed pair."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import PAIRS
from diagnose.job_view import JobView
from diagnose.measures.stream_rates import rates
from reconstruct.numeric.factorize import factorize_rows


def pair_table(job: JobView) -> Frame:
    """One row a directed pair and role, by source, destination and role (`datamodel.reconstructed.transfers.PAIRS`)."""
    rows = job.operations.take((job.operations["iteration"] >= 0) & (job.operations["iteration"] < job.iterations))
    names = [rows[name] for name in ("endpoint", "peer", "role")]
    first, which = factorize_rows(*names)
    unique = np.stack([name[first] for name in names], axis=1).astype(np.int64)
    speed = rates(job.operations, job.iterations)
    rate = _median_by(speed.delivered_bps, np.stack([speed.src, speed.dst, speed.role], axis=1), unique)
    late = np.full(len(unique), np.nan)
    for role in np.unique(unique[:, 2]):
        same = unique[:, 2] == role
        if np.isfinite(rate[same]).any():
            late[same] = np.nanmedian(rate[same]) / rate[same]
    return Frame(
        PAIRS,
        {
            "src": unique[:, 0],
            "dst": unique[:, 1],
            "role": unique[:, 2],
            "bytes": np.bincount(which, rows["bytes"], len(unique)).astype(np.int64),
            "transfers": np.bincount(which, minlength=len(unique)),
            "rate_bps": rate,
            "late_ratio": late,
        },
    )


def _median_by(values: Float, keys: Int, unique: Int) -> Float:
    """Median over streams and iterations of each key's values; nan where there are none.

    Args:
        values: (s, iterations).
        keys: (s, k) key of each row.
        unique: (u, k) keys to answer for, all of them among `keys` or without values.
    """
    numbers = {tuple(key): number for number, key in enumerate(unique.tolist())}
    of = np.array([numbers.get(tuple(key), -1) for key in keys.tolist()], np.int64)
    cells, group = values.ravel(), np.repeat(of, values.shape[1])
    seen = ~np.isnan(cells) & (group >= 0)
    cells, group = cells[seen], group[seen]
    known = np.flatnonzero(np.bincount(group, np.isfinite(cells), len(unique)))
    count = np.bincount(group, minlength=len(unique))
    first = (np.cumsum(count) - count)[known]
    ranked, count = cells[np.lexsort([cells, group])], count[known]
    out = np.full(len(unique), np.nan)
    out[known] = (ranked[first + (count - 1) // 2] + ranked[first + count // 2]) / 2
    return out
